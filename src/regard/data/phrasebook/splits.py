"""The splits of the phrasebook: every combination of words belongs to one of them, in every process the same."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from hashlib import blake2b

from regard.data.phrasebook.grammar import Combination
from regard.data.phrasebook.lexicon import FITS, NAMES, NOUNS
from regard.data.phrasebook.scenes import PEOPLE_SCENES, SCENES

SPLITS = ("train", "valid", "test")

# the lecture's own sentences are for test
PINNED = {("svo", "animal", "cross", "street"), ("property", "animal", "tired"), ("property", "street", "wide")}
SHUFFLE = b"903"  # one of many; this one gives either order of the genders its fair part in valid and in test


def digest(words: Combination) -> int:
    """A number that is the same in every process, unlike hash()."""
    return int.from_bytes(blake2b(" ".join(words).encode(), digest_size=8, key=SHUFFLE).digest(), "big")


@cache
def split_of(combination: Combination) -> str:
    """The one split that a combination belongs to: of those not dealt, 12 in 100 go to test and as many to valid."""
    if combination in PINNED:
        return "test"
    return deal().get(combination) or ("test", "valid", "train")[min(digest(combination) % 100 // 12, 2)]


@cache
def deal() -> dict[Combination, str]:
    """The split of each property that may be a reason.

    A because-sentence needs two combinations of one split, which chance would seldom give. So reasons are dealt out
    noun by noun: of every eight, or three at least, one goes to test and one to valid. What gave least gives first, and
    no reason gives more than a third of its nouns of a gender: from the rest, its agreement is learned.
    """
    genders = {noun.english: noun.gender for noun in NOUNS.values()}
    genders |= dict.fromkeys(("I", "you", "he", "she", "we", "they", *(name.english for name in NAMES)), "")
    whole = Counter((why, genders[noun]) for noun in genders for why in blamed(noun))
    given: Counter[tuple[str, str]] = Counter()
    dealt: dict[Combination, str] = {}
    for noun in sorted(genders, key=lambda noun: digest((noun,))):
        shares = {why: (given[why, genders[noun]] + 1) / whole[why, genders[noun]] for why in blamed(noun)}
        order = sorted(shares, key=lambda why: (shares[why], digest(("property", noun, why))))
        lots = ["valid", "test"] * math.ceil(len(order) / 8) if len(order) > 2 else []
        for why in order:
            held_out = lots and shares[why] <= 1 / 3
            dealt["property", noun, why] = lots.pop() if held_out else "train"
            given[why, genders[noun]] += bool(held_out)
    return dealt


@cache
def blamed(name: str) -> frozenset[str]:
    """The reasons that may lie with a noun, or with a person."""
    noun = NOUNS.get(name, NOUNS["man"])
    known = {why.english for why in FITS[noun.english]}
    whys: set[str] = set()
    for scene in SCENES + PEOPLE_SCENES:
        mine, yours = scene.whys
        whys.update(mine if noun in scene.subjects else (), yours if noun in scene.objects else ())
    return frozenset(known & whys)
