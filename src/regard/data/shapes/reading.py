"""Pixels → what is drawn, by measuring alone: the judge of a model that paints.

What differs from the paper is cut into connected parts. A part's colour is the nearest of the palette; its shape and
size are those of the best-fitting template, by the overlap Σ min(a, b) / Σ max(a, b) of inks a and b; how two lie
to each other is told by their middles. It bears noise and blur, and says nothing of what fits no template.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import permutations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from regard.data.shapes.drawing import PAPER, ink
from regard.data.shapes.scene import COLOURS, RELATIONS, SHAPES, SIZES, Scene, Thing, parse

VISIBLE = 80  # of 255, by which a pixel differs from the paper in some channel
SPECK = 10  # pixels: a part that has fewer is overlooked; the smallest thing has 50
FITTING = 0.65  # overlap with a template, below which a part shows no shape
MARGIN = 2  # pixels by which a template is tried off a part's middle
WINDOW = max(SIZES.values()) + 2  # pixels across that a template is laid out on, with room for its blur


@dataclass(frozen=True)
class Seen:
    """A thing in a picture, empty in size and shape where it fits none, and where its middle lies."""

    thing: Thing
    down: float
    right: float


@dataclass(frozen=True)
class Verdict:
    """Which of the things that a caption says are so in a picture."""

    count: bool
    shapes: bool
    colours: bool
    sizes: bool
    relation: bool

    @property
    def right(self) -> bool:
        return all(vars(self).values())


def drawn_right(caption: str, picture: np.ndarray) -> bool:
    """Whether a picture shows what a caption says, and nothing else."""
    return judge(caption, picture).right


def judge(caption: str, picture: np.ndarray) -> Verdict:
    """What of a caption is right in a picture, its things told apart as is best for it."""
    said, seen = parse(caption), read(picture)
    if len(said.things) != len(seen):
        return Verdict(False, False, False, False, False)
    verdicts = (compare(said, order) for order in permutations(seen))
    return max(verdicts, key=lambda verdict: (verdict.right, sum(vars(verdict).values())))


def compare(said: Scene, seen: tuple[Seen, ...]) -> Verdict:
    pairs = [(thing, one.thing) for thing, one in zip(said.things, seen, strict=True)]
    return Verdict(
        count=True,
        shapes=all(thing.shape == one.shape for thing, one in pairs),
        colours=all(thing.colour == one.colour for thing, one in pairs),
        sizes=all(thing.size in ("", one.size) for thing, one in pairs),
        relation=not said.relation or said.relation == relation(*seen),
    )


def relation(first: Seen, second: Seen) -> str:
    """How the first lies to the second, by the direction in which they are further apart."""
    apart = np.array([first.down - second.down, first.right - second.right])
    return max(RELATIONS, key=lambda name: float(apart @ np.array(RELATIONS[name])))


def read(picture: np.ndarray) -> tuple[Seen, ...]:
    """The things of a picture (H, W, 3), from the top down."""
    missing = PAPER - picture.astype(float)  # (H, W, 3) what the ink took away
    return tuple(measure(missing, part) for part in parts(missing.max(-1) > VISIBLE) if part.sum() >= SPECK)


def measure(missing: np.ndarray, part: np.ndarray) -> Seen:
    """Colour, then how much ink of that colour lies where, then the template that it fits."""
    strength = (missing**2).sum(-1)
    inner = part & (strength >= np.quantile(strength[part], 0.6))  # where a soft edge thins nothing
    colour, shade = nearest(np.median(missing[inner], axis=0))
    amount = missing @ shade / (shade @ shade)  # (H, W)
    stray = np.linalg.norm(missing - amount[..., None] * shade, axis=-1) / np.linalg.norm(shade)  # ink of other colours
    clear = np.clip(amount - stray, 0, 1) * grown(part)
    down, right = ((where.min() + where.max() + 1) / 2 for where in np.nonzero(part))
    size, shape = fitting(clear, down, right)
    return Seen(Thing(size, colour, shape), down, right)


def nearest(missing: np.ndarray) -> tuple[str, np.ndarray]:
    """The colour of the palette whose ink takes most nearly this away, and what it takes."""
    shades = {name: PAPER - np.array(colour, dtype=float) for name, colour in COLOURS.items()}
    return min(shades.items(), key=lambda item: float(((item[1] - missing) ** 2).sum()))


def fitting(amount: np.ndarray, down: float, right: float) -> tuple[str, str]:
    """The size and shape whose template overlaps most with an ink, at the best place near a middle; or none."""
    named, inks = templates()
    top, left = round(down) + MARGIN, round(right) + MARGIN
    near = np.pad(amount, WINDOW // 2 + 2 * MARGIN)[top : top + WINDOW + 2 * MARGIN, left : left + WINDOW + 2 * MARGIN]
    places = sliding_window_view(near, (WINDOW, WINDOW))[:, :, None]  # (2 MARGIN + 1, 2 MARGIN + 1, 1, WINDOW, WINDOW)
    shared = np.minimum(places, inks).sum((-1, -2)).max((0, 1))  # (templates,)
    overlaps = shared / (amount.sum() + inks.sum((-1, -2)) - shared)
    best = int(overlaps.argmax())
    return named[best] if overlaps[best] >= FITTING else ("", "")


@cache
def templates() -> tuple[list[tuple[str, str]], np.ndarray]:
    """Every size and shape, as drawn and once more as blurred, and the ink of each in the middle of a window."""
    named = [(size, shape) for size in SIZES for shape in SHAPES]
    sharp = [np.pad(ink(shape, SIZES[size]), (WINDOW - SIZES[size]) // 2) for size, shape in named]
    return 2 * named, np.stack([*sharp, *map(blurred, sharp)])


def blurred(ink: np.ndarray) -> np.ndarray:
    """(H, W) with each pixel mixed with its neighbours, 1 : 2 : 1 down and across."""
    for _ in range(2):
        padded = np.pad(ink, ((1, 1), (0, 0)))
        ink = ((padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4).T
    return ink


def grown(part: np.ndarray) -> np.ndarray:
    """A part with the pixels that touch it."""
    padded = np.pad(part, 1)
    height, width = part.shape
    return np.logical_or.reduce([padded[y : y + height, x : x + width] for y in range(3) for x in range(3)])


def parts(visible: np.ndarray) -> Iterator[np.ndarray]:
    """The connected parts of what is visible, each as a mask, from the top down."""
    left = {(int(y), int(x)) for y, x in np.argwhere(visible)}
    for start in sorted(left):
        if start not in left:
            continue
        left.remove(start)
        part, edge = np.zeros_like(visible), [start]
        while edge:
            y, x = edge.pop()
            part[y, x] = True
            for neighbour in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if neighbour in left:
                    left.remove(neighbour)
                    edge.append(neighbour)
        yield part
