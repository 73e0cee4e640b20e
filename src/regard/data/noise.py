"""Text damaged, to be restored: what BART learns from. Pure functions of ids and a seeded generator.

mask      A B C. D E.   ──▶   A _ C. D E.        a token is hidden
delete    A B C. D E.   ──▶   A C. D E.          a token is gone, and nothing says where
infill    A B C. D E.   ──▶   A _ D E.           some in a row are hidden by one mask; of none, a mask too many
permute   A B C. D E.   ──▶   D E. A B C.        the sentences in any order
rotate    A B C. D E.   ──▶   C. D E. A B        the text begins somewhere in its midst

                                                                     Lewis et al. 2020, section 2.2 and figure 2
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

MEAN = 3.0  # tokens that infilling hides in a row


class Passage(NamedTuple):
    """A text as ids, sentence by sentence, and the seed by which it is to be damaged."""

    sentences: list[list[int]]
    seed: str = ""

    @property
    def ids(self) -> list[int]:
        return [id for sentence in self.sentences for id in sentence]

    @property
    def size(self) -> int:
        """With the end that closes it."""
        return sum(map(len, self.sentences)) + 1

    @property
    def likeness(self) -> tuple[int, ...]:
        return (self.size,)


def passages(sentences: Iterable[list[int]], room: int) -> list[Passage]:
    """The sentences of a document as passages, each of as many as have at most `room` tokens with the end of it."""
    found: list[Passage] = []
    for sentence in sentences:
        for part in (sentence[start : start + room - 1] for start in range(0, len(sentence), room - 1)):
            if not found or found[-1].size + len(part) > room:
                found.append(Passage([]))
            found[-1].sentences.append(part)
    return found


def damage(
    sentences: Sequence[Sequence[int]], kinds: Sequence[str], share: float, mask: int, choose: random.Random
) -> list[int]:
    """The ids of some sentences, damaged in each of these ways: first their order, then tokens, last its beginning."""
    damaged = permute(sentences, choose) if "permute" in kinds else sentences
    ids = [id for sentence in damaged for id in sentence]
    if "infill" in kinds:
        ids = infill(ids, share, mask, choose)
    if "mask" in kinds:
        ids = hide(ids, share, mask, choose)
    if "delete" in kinds:
        ids = delete(ids, share, choose)
    return rotate(ids, choose) if "rotate" in kinds else ids


def hide(ids: Sequence[int], share: float, mask: int, choose: random.Random) -> list[int]:
    """A share of the tokens hidden, each by a mask."""
    hidden = some(len(ids), share, choose)
    return [mask if place in hidden else id for place, id in enumerate(ids)]


def delete(ids: Sequence[int], share: float, choose: random.Random) -> list[int]:
    """A share of the tokens left out."""
    gone = some(len(ids), share, choose)
    return [id for place, id in enumerate(ids) if place not in gone]


def infill(ids: Sequence[int], share: float, mask: int, choose: random.Random) -> list[int]:
    """Stretches of tokens, a share of them all, each hidden by one mask; their lengths are drawn from Poisson(3).

    One of length 0 puts in a mask that hides nothing. No two stretches touch one another: where more are drawn than
    there are places for, those too many lengthen the others.
    """
    wanted, lengths = round(share * len(ids)), list[int]()
    while sum(lengths) < wanted:
        lengths.append(min(poisson(MEAN, choose), wanted - sum(lengths)))
    room = len(ids) - wanted + 1  # places for masks: between the tokens that stay, before and behind them
    lengths = [sum(lengths[place::room]) for place in range(min(room, len(lengths)))]
    places = set(choose.sample(range(room), len(lengths)))
    damaged, at = list[int](), 0
    for place in range(room):
        if place in places:
            damaged.append(mask)
            at += lengths.pop()
        damaged += ids[at : at + 1]
        at += 1
    return damaged


def permute(sentences: Sequence[Sequence[int]], choose: random.Random) -> list[Sequence[int]]:
    """The sentences in any order."""
    return choose.sample(sentences, len(sentences))


def rotate(ids: Sequence[int], choose: random.Random) -> list[int]:
    """The text from one of its tokens on, and then what was before it."""
    first = choose.randrange(len(ids)) if ids else 0
    return [*ids[first:], *ids[:first]]


def some(count: int, share: float, choose: random.Random) -> set[int]:
    """A share of so many places."""
    return set(choose.sample(range(count), round(share * count)))


def poisson(mean: float, choose: random.Random) -> int:
    """A number drawn from Poisson's distribution: how many times chances multiply before they fall below e^−mean."""
    number, product = 0, choose.random()
    while product > math.exp(-mean):
        number, product = number + 1, product * choose.random()
    return number
