"""Tokens hidden, to be found again: what BERT learns from. Pure functions of a text and a seeded generator.

    <s> the cat sat on the mat </s>   ──▶   <s> the <mask> sat on the mat </s>,  and at 2 there was: cat

Of each text 15 in 100 tokens are chosen; of these 80 in 100 become <mask>, 10 another token, and 10 stay what they are,
so that a network cannot tell which tokens it will be asked for             Devlin et al. 2019, section 3.1
Whoever hides anew in each epoch, as this does, learns longer from one text                    Liu et al. 2019
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from regard.data.marked import Marked
from regard.tokens.text import BOS, EOS

MASKED, REPLACED = 0.8, 0.1  # of the tokens that are chosen; the rest stay


class Text(NamedTuple):
    """A text as ids, <s> and </s> at its ends, and the seed by which some of them are to be hidden."""

    ids: list[int]
    seed: str

    @property
    def size(self) -> int:
        return len(self.ids)

    @property
    def likeness(self) -> tuple[int, ...]:
        return (self.size,)


def stretches(documents: Sequence[Sequence[int]], room: int, seed: str) -> list[Text]:
    """The documents as texts of at most `room` tokens; one that is longer is cut, elsewhere for another seed."""
    cut = random.Random(seed)
    texts = []
    for ids in documents:
        inside = room - 2
        first = 0 if len(ids) <= inside else cut.randint(1, inside) - inside
        parts = [ids[max(0, start) : start + inside] for start in range(first, len(ids), inside)]
        texts += [[BOS, *part, EOS] for part in parts]
    return [Text(ids, f"{seed} {number}") for number, ids in enumerate(texts)]


class Masking(NamedTuple):
    """How tokens are hidden."""

    share: float  # of a text's tokens
    mask: int  # the id that hides
    ordinary: Sequence[int]  # ids that text is made of: one may stand in another's place


def hide(ids: Sequence[int], words: Sequence[int], how: Masking, choose: random.Random) -> Marked:
    """Some tokens hidden, at least one, with all others of their word; `words` numbers those, −1 are not to be hidden.

    A word of more tokens than are still wanted is passed over, unless it is the first; a text without a word, being a
    space, is hidden all the same.
    """
    inside = [place for place, word in enumerate(words) if word >= 0] or list(range(1, len(ids) - 1))
    whole = [list(places) for _, places in groupby(inside, key=words.__getitem__)]
    choose.shuffle(whole)
    wanted = max(1, round(how.share * len(inside)))
    found: list[int] = []
    for places in whole:
        if not found or len(found) + len(places) <= wanted:
            found += places
    found.sort()
    hidden = list(ids)
    for place in found:
        drawn = choose.random()
        if drawn < MASKED:
            hidden[place] = how.mask
        elif drawn < MASKED + REPLACED:
            hidden[place] = choose.choice(how.ordinary)
    return Marked(hidden, found, [ids[place] for place in found])
