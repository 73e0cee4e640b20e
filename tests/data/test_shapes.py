"""The shapes: what is drawn is read back from its pixels, what is wrong is told, and what is unseen stays so."""

from __future__ import annotations

import re
from itertools import chain, cycle, product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import shapes
from regard.data.shapes import HELD_OUT, SPLITS, drawn_right, judge, parse, pictures, read
from regard.data.shapes.drawing import SIDE, draw
from regard.data.shapes.scene import COLOURS, RELATIONS, SHAPES, SIZES, Kind, Scene, Thing
from regard.errors import DataError

THINGS = [Thing(*words) for words in product(SIZES, COLOURS, SHAPES)]


def scenes() -> st.SearchStrategy[Scene]:
    thing = st.sampled_from(THINGS)
    alone = st.tuples(thing).map(Scene)
    return alone | st.builds(lambda *things, relation: Scene(things, relation), thing, thing, relation=relations())


def relations() -> st.SearchStrategy[str]:
    return st.sampled_from(list(RELATIONS))


def blank() -> np.ndarray:
    return np.full((SIDE, SIDE, 3), 255, np.uint8)


# ---------------------------------------------------------------------------------------------------------- reading


def test_every_thing_is_read_wherever_it_lies():
    random = Random(1)
    for thing in THINGS:
        assert [seen.thing for _ in range(4) for seen in read(draw(Scene((thing,)), random))] == [thing] * 4


def test_every_two_shapes_and_sizes_are_read_in_every_relation():
    random, colours = Random(2), cycle(product(COLOURS, COLOURS))
    forms = list(product(SIZES, SHAPES))
    for (a, b), relation in product(product(forms, forms), RELATIONS):
        first, second = next(colours)
        told = Scene((Thing(a[0], first, a[1]), Thing(b[0], second, b[1])), relation)
        assert drawn_right(str(told), draw(told, random)), told


@settings(max_examples=60)
@given(scenes(), st.integers(0, 99), st.floats(0, 20), st.booleans())
def test_noise_and_blur_are_borne(told: Scene, seed: int, noise: float, blurred: bool):
    picture = draw(told, Random(seed)).astype(float)
    if blurred:  # 1 : 2 : 1 down and across
        for _ in range(2):
            padded = np.pad(picture, ((1, 1), (0, 0), (0, 0)), mode="edge")
            picture = ((padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4).swapaxes(0, 1)
    picture += np.random.default_rng(seed).normal(0, noise, picture.shape)
    assert drawn_right(str(told), picture.clip(0, 255).astype(np.uint8))


WORDS = {"sizes": SIZES, "colours": COLOURS, "shapes": SHAPES}


@pytest.mark.parametrize("attribute", WORDS)
@settings(max_examples=25)
@given(told=scenes(), seed=st.integers(0, 99), data=st.data())
def test_one_wrong_word_is_found(attribute: str, told: Scene, seed: int, data: st.DataObject):
    first, field = told.things[0], attribute.removesuffix("s")
    others = [word for word in WORDS[attribute] if word != getattr(first, field)]
    wrong = first._replace(**{field: data.draw(st.sampled_from(others))})
    verdict = judge(str(told._replace(things=(wrong, *told.things[1:]))), draw(told, Random(seed)))
    assert verdict.count
    assert not verdict.right
    if len(told.things) == 1:
        assert [name for name, right in vars(verdict).items() if not right] == [attribute]


def test_a_relation_may_be_told_from_either_side():
    first, second = Thing("small", "red", "ring"), Thing("large", "blue", "cross")
    for relation, opposite in {"above": "below", "left of": "right of"}.items():
        picture = draw(Scene((first, second), relation), Random(3))
        assert drawn_right(f"{first} {relation} {second}", picture)
        assert drawn_right(f"{second} {opposite} {first}", picture)
        assert judge(f"{first} {opposite} {second}", picture).relation is False


def test_a_size_that_is_not_said_may_be_either():
    for size in SIZES:
        picture = draw(Scene((Thing(size, "orange", "ring"),)), Random(4))
        assert drawn_right("an orange ring", picture)
        assert [drawn_right(f"a {said} orange ring", picture) for said in SIZES] == [size == said for said in SIZES]


def test_what_is_too_few_or_too_many_is_wrong():
    one = draw(Scene((Thing("small", "red", "ring"),)), Random(5))
    two = draw(Scene((Thing("small", "red", "ring"), Thing("small", "blue", "cross")), "above"), Random(5))
    assert read(blank()) == ()
    assert not judge("a red ring", blank()).count
    assert not drawn_right("a red ring", two)
    assert not drawn_right("a red ring above a blue cross", one)


def test_a_speck_is_overlooked_and_a_blob_is_not():
    picture = draw(Scene((Thing("large", "green", "square"),)), Random(6))
    corner = next((y, x) for y in (0, SIDE - 6) for x in (0, SIDE - 6) if (picture[y : y + 6, x : x + 6] == 255).all())
    for side, right in {2: True, 5: False}.items():
        spoiled = picture.copy()
        spoiled[corner[0] : corner[0] + side, corner[1] : corner[1] + side] = 0
        assert drawn_right("a large green square", spoiled) is right


def test_a_blob_of_no_shape_shows_none():
    picture = blank()
    picture[10:12, 4:28] = COLOURS["blue"]  # a bar
    (seen,) = read(picture)
    assert seen.thing == Thing("", "blue", "")
    assert not any(drawn_right(f"a blue {shape}", picture) for shape in SHAPES)


def test_a_thing_of_two_colours_is_no_thing_of_either():
    picture = blank()
    picture[8:22, 8:15], picture[8:22, 15:22] = COLOURS["blue"], COLOURS["red"]
    assert not any(drawn_right(f"a {colour} square", picture) for colour in COLOURS)


# --------------------------------------------------------------------------------------------------------- captions


@given(scenes())
def test_a_caption_says_its_scene(told: Scene):
    assert parse(str(told)) == told
    unsaid = told._replace(things=tuple(thing._replace(size="") for thing in told.things))
    assert parse(str(unsaid)) == unsaid


def test_captions_as_people_write_them():
    assert str(Scene((Thing("", "orange", "ring"),))) == "an orange ring"
    assert parse(" A small  red circle ABOVE a large blue square. ") == Scene(
        (Thing("small", "red", "circle"), Thing("large", "blue", "square")), "above"
    )


@pytest.mark.parametrize("caption", ["", "circle", "a red", "a red circle above", "a red circle near a blue ring"])
def test_what_is_no_caption_is_told(caption: str):
    message = f"{caption!r} is no caption of the shapes: write one like 'a red circle' or 'a small red circle above a "
    with pytest.raises(DataError, match=re.escape(message)):
        drawn_right(caption, blank())


# ----------------------------------------------------------------------------------------------------------- splits


def together(split: str) -> set[tuple[Kind, ...]]:
    told = map(parse, pictures(split, 1500).captions)
    return {tuple(sorted(thing.kind for thing in scene.things)) for scene in told}


def test_no_two_splits_share_a_combination():
    found = {split: together(split) for split in SPLITS}
    for a, b in product(SPLITS, SPLITS):
        assert a == b or not found[a] & found[b]


def test_unseen_kinds_are_unseen_but_their_parts_are_not():
    train = set(chain(*together("train")))
    assert not train & HELD_OUT
    assert {kind.colour for kind in HELD_OUT} == set(COLOURS) == {kind.colour for kind in train}
    assert {kind.shape for kind in HELD_OUT} == set(SHAPES) == {kind.shape for kind in train}
    assert not any(HELD_OUT.isdisjoint(kinds) for kinds in together("unseen"))
    for split in ("valid", "test"):
        assert set(chain(*together(split))) <= train, "only together are they new"


@pytest.mark.parametrize("split", SPLITS)
def test_a_seed_gives_the_same_pictures_and_they_show_their_captions(split: str):
    one, same, other = pictures(split, 40, seed=7), pictures(split, 40, seed=7), pictures(split, 40, seed=8)
    assert one.captions == same.captions != other.captions
    np.testing.assert_array_equal(one.pixels, same.pixels)
    assert one.pixels.shape == (40, 32, 32, 3)
    assert one.pixels.dtype == np.uint8
    assert all(map(drawn_right, one.captions, one.pixels))


def test_every_word_of_the_captions_is_often_seen():
    words = " ".join(pictures("train", 2000).captions).split()
    said = {word: words.count(word) for word in set(words)}
    assert len(said) == 23
    assert min(said.values()) > 50


def test_an_unknown_split_is_told():
    with pytest.raises(DataError, match=re.escape("split='dev': the shapes have train, valid, test, unseen")):
        shapes.pictures("dev", 3)
