"""The embedded pictures: captioned shapes, drawn by us, that can be read back from their pixels.

"a small red circle above a large blue square"  ──draw──▶  32 × 32 pixels  ──read──▶  the same, or what is wrong with it

`scene` has the words, `drawing` the pixels, `reading` the judge: it tells from a picture alone what is drawn, so that
a model's pictures are scored by measuring and not by eye.

**The splits share no combination.** One thing, or two in either order, belong by their kinds (colour and shape) to one
split. Of what is tested each part was seen in training, and so was every kind, but never together. The split *unseen*
goes further, as the armchair in the shape of an avocado did (Ramesh et al. 2021): every caption of it has a kind, such
as the red circle, that no other split shows, not even alone. There were red things, and there were circles.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from itertools import combinations_with_replacement
from random import Random

import numpy as np

from regard.data.pictures import Pictures
from regard.data.shapes.drawing import draw
from regard.data.shapes.reading import Verdict, drawn_right, judge, read
from regard.data.shapes.scene import COLOURS, RELATIONS, SHAPES, SIZES, Kind, Scene, Thing, parse
from regard.errors import DataError

__all__ = ["HELD_OUT", "SPLITS", "Verdict", "alone", "drawn_right", "judge", "parse", "pictures", "read"]

SPLITS = ("train", "valid", "test", "unseen")
HELD_OUT = frozenset(Kind(colour, SHAPES[i % len(SHAPES)]) for i, colour in enumerate(COLOURS))  # every colour has one
ALONE = 1 / 4  # of the pictures show one thing
UNSAID = 1 / 4  # of the sizes are left unsaid


def pictures(split: str, count: int, seed: int = 0) -> Pictures:
    """`count` pictures of a split with their captions; the same seed gives the same ones."""
    if split not in SPLITS:
        raise DataError(f"split={split!r}: the shapes have {', '.join(SPLITS)}")
    random = Random(f"{split} {seed}")
    drawn, captions = zip(*(example(split, random) for _ in range(count)), strict=True)
    return Pictures(np.stack(drawn), captions=captions)


def alone(split: str, count: int, seed: int = 0) -> Pictures:
    """`count` pictures of a split that have one thing on them."""
    drawn = pictures(split, 6 * count, seed)
    taken = [place for place, caption in enumerate(drawn.captions) if not parse(caption).relation]
    return drawn.at(np.array(taken[:count]))


def example(split: str, random: Random) -> tuple[np.ndarray, str]:
    """A picture (32, 32, 3) and its caption."""
    kinds = random.choice(dealt(1 if random.random() < ALONE else 2)[split])
    things = [Thing(random.choice(list(SIZES)), *kind) for kind in random.sample(kinds, len(kinds))]
    if len(set(things)) < len(things):  # alike in all: let them differ in size
        things = [things[0]._replace(size=size) for size in random.sample(list(SIZES), len(SIZES))]
    relation = random.choice(list(RELATIONS)) if len(things) == 2 else ""
    said = (thing._replace(size="") if random.random() < UNSAID else thing for thing in things)
    return draw(Scene(tuple(things), relation), random), str(Scene(tuple(said), relation))


@cache
def dealt(count: int) -> dict[str, list[Sequence[Kind]]]:
    """Every `count` kinds that may stand together, by their split."""
    kinds = [Kind(colour, shape) for colour in COLOURS for shape in SHAPES]
    found: dict[str, list[Sequence[Kind]]] = {split: [] for split in SPLITS}
    for together in combinations_with_replacement(kinds, count):
        found[split_of(together)].append(together)
    return found


def split_of(kinds: Sequence[Kind]) -> str:
    """The one split that kinds together belong to; of those not held out, 10 in 100 to valid and as many to test."""
    if not HELD_OUT.isdisjoint(kinds):
        return "unseen"
    words = " ".join(" ".join(kind) for kind in sorted(kinds))
    digest = int.from_bytes(blake2b(words.encode(), digest_size=8).digest(), "big")  # unlike hash(), always the same
    return ("valid", "test", "train")[min(digest % 100 // 10, 2)]
