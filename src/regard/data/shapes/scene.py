"""What a picture can show, and how a caption says it.

    caption  = thing | thing relation thing
    thing    = a [size] colour shape                 "an orange ring", "a small red circle"
    relation = above | below | left of | right of

A size may be left unsaid; then either is right. Colour and shape together are a thing's *kind*.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from regard.errors import DataError

SHAPES = ("circle", "square", "triangle", "diamond", "cross", "ring")
COLOURS = {
    "red": (205, 25, 45),
    "orange": (255, 130, 0),
    "yellow": (255, 225, 50),
    "green": (40, 160, 60),
    "blue": (31, 90, 200),
    "purple": (140, 60, 190),
    "pink": (240, 120, 190),
    "black": (20, 20, 20),
}
SIZES = {"small": 10, "large": 14}  # pixels across
RELATIONS = {"above": (-1, 0), "below": (1, 0), "left of": (0, -1), "right of": (0, 1)}  # (down, right) from the other

THING = rf"an? (?:({'|'.join(SIZES)}) )?({'|'.join(COLOURS)}) ({'|'.join(SHAPES)})"
CAPTION = re.compile(rf"{THING}(?: ({'|'.join(RELATIONS)}) {THING})?")


class Kind(NamedTuple):
    """A colour and a shape: what may be held out of training as a combination."""

    colour: str
    shape: str


class Thing(NamedTuple):
    """One thing of a picture; without a size, one of any size."""

    size: str
    colour: str
    shape: str

    @property
    def kind(self) -> Kind:
        return Kind(self.colour, self.shape)

    def __str__(self) -> str:
        words = " ".join(filter(None, self))
        return f"an {words}" if words[0] in "aeiou" else f"a {words}"


class Scene(NamedTuple):
    """One thing, or two and how the first lies to the second."""

    things: tuple[Thing, ...]
    relation: str = ""

    def __str__(self) -> str:
        return f" {self.relation} ".join(map(str, self.things))


def parse(caption: str) -> Scene:
    """The scene that a caption tells of."""
    found = CAPTION.fullmatch(" ".join(caption.lower().rstrip(" .").split()))
    if not found:
        raise DataError(
            f"{caption!r} is no caption of the shapes: write one like 'a red circle' or 'a small red circle above "
            f"a large blue square', with {', '.join(SHAPES)}; {', '.join(COLOURS)}; {', '.join(RELATIONS)}"
        )
    size, colour, shape, relation, *other = (word or "" for word in found.groups())
    first = Thing(size, colour, shape)
    return Scene((first, Thing(*other)), relation) if relation else Scene((first,))
