"""Scene → pixels: flat colours on white, with soft edges, each thing wherever its caption lets it be."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random

import numpy as np

from regard.data.shapes.scene import COLOURS, RELATIONS, SIZES, Scene

SIDE = 32  # pixels
PAPER = 255
STEP = 2  # things lie on every second pixel
GAP = 4  # pixels at least between two things
ASKEW = 4  # pixels at most that two things are out of line
FINE = 8  # samples along a pixel's side, for its share of ink

Inside = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of points right and down of the middle, in −1 … 1
OUTLINES: dict[str, Inside] = {
    "circle": lambda x, y: x**2 + y**2 <= 1,
    "square": lambda x, y: np.ones_like(x + y, dtype=bool),
    "triangle": lambda x, y: abs(x) <= (1 + y) / 2,
    "diamond": lambda x, y: abs(x) + abs(y) <= 1,
    "cross": lambda x, y: np.minimum(abs(x), abs(y)) <= 0.4,
    "ring": lambda x, y: (x**2 + y**2 <= 1) & (x**2 + y**2 >= 0.3),
}


@cache
def ink(shape: str, side: int) -> np.ndarray:
    """How much of each pixel a shape covers, 0 … 1, (side, side)."""
    points = (np.arange(side * FINE) + 0.5) / (side * FINE) * 2 - 1
    inside = OUTLINES[shape](points[None, :], points[:, None])
    return inside.reshape(side, FINE, side, FINE).mean((1, 3))


def draw(scene: Scene, random: Random) -> np.ndarray:
    """A picture (32, 32, 3) of a scene whose sizes are all said, its things placed at random."""
    picture = np.full((SIDE, SIDE, 3), float(PAPER))
    for thing, (top, left) in zip(scene.things, places(scene, random), strict=True):
        side = SIZES[thing.size]
        spot = picture[top : top + side, left : left + side]
        spot += ink(thing.shape, side)[..., None] * (np.array(COLOURS[thing.colour]) - PAPER)
    return picture.round().astype(np.uint8)


def places(scene: Scene, random: Random) -> list[tuple[int, int]]:
    """The top and left pixel of each thing."""
    if not scene.relation:
        room = SIDE - SIZES[scene.things[0].size]
        return [(between(0, room, random), between(0, room, random))]
    down, right = RELATIONS[scene.relation]
    backwards = down + right > 0  # the one nearer to the top or to the left comes second
    near, far = (SIZES[thing.size] for thing in (scene.things[::-1] if backwards else scene.things))
    room = SIDE - near - GAP - far
    start = between(0, room, random)
    along = start, between(start, room, random) + near + GAP
    first = between(0, SIDE - near, random)
    across = first, between(max(first - ASKEW, 0), min(first + ASKEW, SIDE - far), random)
    spots = list(zip(along, across, strict=True) if down else zip(across, along, strict=True))
    return spots[::-1] if backwards else spots


def between(least: int, most: int, random: Random) -> int:
    return random.randrange(least, most + 1, STEP)
