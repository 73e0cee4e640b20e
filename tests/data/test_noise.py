"""The five kinds of noise, each by what it may change and what it may not."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from statistics import mean, variance

from hypothesis import given
from hypothesis import strategies as st

from regard.data.noise import damage, delete, hide, infill, passages, permute, poisson, rotate

MASK = 1
IDS = st.lists(st.integers(10, 1000), max_size=40, unique=True)
SENTENCES = st.lists(st.lists(st.integers(10, 1000), min_size=1, max_size=7), max_size=8)
SHARES, SEEDS = st.floats(0.01, 0.99), st.integers()


@given(IDS, SHARES, SEEDS)
def test_masking_hides_a_share_of_the_tokens_in_their_places(ids, share, seed):
    hidden = hide(ids, share, MASK, random.Random(seed))
    assert len(hidden) == len(ids)
    assert hidden.count(MASK) == round(share * len(ids))
    assert all(one in (MASK, other) for one, other in zip(hidden, ids, strict=True))


@given(IDS, SHARES, SEEDS)
def test_deletion_leaves_the_rest_in_its_order(ids, share, seed):
    left = delete(ids, share, random.Random(seed))
    assert len(left) == len(ids) - round(share * len(ids))
    assert left == [id for id in ids if id in set(left)]


@given(IDS, SHARES, SEEDS)
def test_infilling_hides_stretches_behind_one_mask_each(ids, share, seed):
    damaged = infill(ids, share, MASK, random.Random(seed))
    kept = [id for id in damaged if id != MASK]
    assert kept == [id for id in ids if id in set(kept)], "what stays keeps its order"
    assert len(kept) == len(ids) - round(share * len(ids))
    assert all((one, other) != (MASK, MASK) for one, other in itertools.pairwise(damaged))
    position = {id: place for place, id in enumerate(ids)}
    for before, after in itertools.pairwise(damaged):
        if MASK not in (before, after):
            assert position[after] == position[before] + 1, "where there is no mask, nothing is missing"


def test_infilling_hides_three_tokens_in_a_row_on_average_and_sometimes_none():
    ids, gaps = list(range(10, 2010)), Counter[int]()
    for seed in range(10):
        damaged = infill(ids, 0.3, MASK, random.Random(seed))
        assert sum(id != MASK for id in damaged) == 1400, "30 in 100 are hidden"
        around = [9, *damaged, 2010]
        gaps.update(around[i + 1] - around[i - 1] - 1 for i in range(1, len(around) - 1) if around[i] == MASK)
    average = sum(length * count for length, count in gaps.items()) / gaps.total()
    assert abs(average - 3) < 0.15
    assert abs(gaps[0] / gaps.total() - 0.0498) < 0.02, "e⁻³ of Poisson's numbers are 0"


@given(SENTENCES, SEEDS)
def test_permutation_keeps_every_sentence_whole(sentences, seed):
    assert sorted(map(list, permute(sentences, random.Random(seed)))) == sorted(map(list, sentences))


@given(IDS, SEEDS)
def test_rotation_begins_elsewhere_and_goes_round(ids, seed):
    turned = rotate(ids, random.Random(seed))
    at = turned.index(ids[0]) if ids else 0
    assert turned[at:] + turned[:at] == ids


def test_every_order_and_every_beginning_comes_up():
    orders = {tuple(map(tuple, permute([[1], [2], [3]], random.Random(seed)))) for seed in range(100)}
    assert len(orders) == 6
    assert {rotate([5, 6, 7], random.Random(seed))[0] for seed in range(40)} == {5, 6, 7}


@given(SENTENCES, st.sets(st.sampled_from(["mask", "delete", "infill", "permute", "rotate"])), SHARES, SEEDS)
def test_damage_is_a_pure_function_that_invents_no_token(sentences, kinds, share, seed):
    once, again = (damage(sentences, sorted(kinds), share, MASK, random.Random(seed)) for _ in range(2))
    assert once == again
    flat = [id for sentence in sentences for id in sentence]
    assert not Counter(id for id in once if id != MASK) - Counter(flat)
    if not kinds:
        assert once == flat
    if not kinds & {"mask", "infill"}:
        assert MASK not in once


def test_poisson_has_its_mean_and_variance():
    drawn = [poisson(3.0, random.Random(seed)) for seed in range(4000)]
    assert abs(mean(drawn) - 3) < 0.1
    assert abs(variance(drawn) - 3) < 0.3


@given(SENTENCES, st.integers(2, 12))
def test_passages_fit_and_lose_nothing(sentences, room):
    found = passages(sentences, room)
    assert all(1 < passage.size <= room for passage in found)
    assert [id for passage in found for id in passage.ids] == [id for sentence in sentences for id in sentence]
    if max(map(len, sentences), default=0) < room:
        assert [part for passage in found for part in passage.sentences] == sentences, "no sentence is cut that fits"
        for one, other in itertools.pairwise(found):
            assert one.size + len(other.sentences[0]) > room, "each takes as many as it can"
