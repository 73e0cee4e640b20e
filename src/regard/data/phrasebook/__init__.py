"""The embedded corpus: a small French–English grammar that writes sentence pairs, and knows every pair it can write.

    The animal didn't cross the street because it was too tired.
    L'animal n'a pas traversé la rue parce qu'il était trop fatigué.

A *pattern* chooses a meaning, word by word, and spells it out in both languages at once. It asks for each choice
through `pick`, and who answers decides what the pattern does: `Draw` takes one option at random, which writes a
corpus; `Read` takes every option that a given sentence may hold, which finds its translations. It is one grammar: the
words are in `lexicon`, what happens in `scenes`, the spelling in `grammar`, the patterns in `patterns` and `because`.

**Translation is a function, nearly.** Each tense has one counterpart: passé composé and simple past; imparfait and was,
had, fit; aller with an infinitive and going to. *It* never opens a sentence, so an *il* that does is a man. *You*
is *tu* unless a sir or a madam is spoken to. A *friend* comes with a name. *His* and *son* are the subject's own. What
English leaves open for good is the gender of I, you, we and they: "I am tired." is *fatigué* or *fatiguée*. There the
corpus always writes the masculine, and `translations` knows both.

**Nothing is rare.** A form seen a few times is not learned, so verbs have few persons in the present, adjectives few
plurals, and what would still be rare is told more often: each form of each word, some hundred times in 100,000 phrases.

**The splits share no combination.** A sentence is made of combinations, like ("svo", "animal", "cross", "street") and
("property", "street", "wide"). Each belongs to one split, and a sentence to a split only if all of its combinations do;
mixed ones are never written (see `splits`). What is tested was never seen, but each of its words was, in other company.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from regard.data.phrasebook.because import (
    FRAMES,
    GLAD_FRAMES,
    Frame,
    because,
    because_of_it,
    because_of_someone,
    partners,
)
from regard.data.phrasebook.grammar import Combination, Meaning, Phrase, articles, nominal
from regard.data.phrasebook.lexicon import Adjective, Noun
from regard.data.phrasebook.patterns import acting, being, having, meeting, placing, prowling, remarking, trade, working
from regard.data.phrasebook.scenes import SCENES, Scene
from regard.data.phrasebook.splits import SPLITS, split_of
from regard.errors import DataError


@dataclass(frozen=True)
class MinimalPair:
    """Two sentences that differ in the last words alone: *it* is the subject in one, and the object in the other."""

    subject: Phrase  # "... because it was too tired."
    object: Phrase  # "... because it was too wide."
    nouns: tuple[str, str]  # English words as they stand in the sentences: ("animal", "street")
    pronouns: tuple[str, str]  # the French pronoun of each: ("il", "elle")


def phrases(split: str, count: int, seed: int = 0) -> list[Phrase]:
    """`count` distinct phrases of a split; the same seed gives the same list."""
    draw = Draw(split, random.Random(f"{split} {seed}"))
    patterns, shares = list(PATTERNS), list(PATTERNS.values())
    found: dict[Meaning, Phrase] = {}
    idle = 0
    while len(found) < count:
        before = len(found)
        for pattern in draw.random.choices(patterns, shares, k=1000):
            for phrase in pattern(draw):
                found.setdefault((phrase.english, phrase.french), phrase)
        idle = 0 if len(found) > before else idle + 1
        if idle == 20:
            raise DataError(
                f"count={count}: the {split} split has about {len(found)} phrases, ask for no more than that"
            )
    return list(found.values())[:count]


def minimal_pairs(split: str, count: int | None = None, seed: int = 0) -> list[MinimalPair]:
    """`count` minimal pairs of a split, or all of them, noun pairs by turns; the same seed gives the same list."""
    pairs = list(contrasts(split))
    random.Random(f"{split} {seed}").shuffle(pairs)
    turns: Counter[tuple[Noun, Noun]] = Counter()
    order: list[tuple[int, int]] = []
    for index, write in enumerate(pairs):
        nouns = write.args[1:3]
        order.append((turns[nouns], index))
        turns[nouns] += 1
    pairs = [pairs[index] for _, index in sorted(order)]
    if count is not None and count > len(pairs):
        raise DataError(f"count={count}: the {split} split has {len(pairs)} minimal pairs, ask for no more than that")
    return [write() for write in pairs[:count]]


def translations(sentence: str, to: str) -> frozenset[str]:
    """Every translation into "fr" or "en" that the grammar licenses; none if the sentence is not of the grammar."""
    if to not in ("fr", "en"):
        raise DataError(f"to={to!r}: the phrasebook translates to 'fr' and to 'en'")
    read = Read(sentence, side=("fr", "en").index(to))
    found = ((phrase.english, phrase.french) for pattern in PATTERNS for phrase in pattern(read))
    return frozenset(pair[1 - read.side] for pair in found if pair[read.side] == sentence)


def pronoun(french: str) -> str | None:
    """The pronoun that the because-clause of a French sentence begins with: il, elle, ils or elles."""
    found = re.search(r"\bparce qu'(ils?|elles?)\b", french)
    return found[1] if found else None


# --------------------------------------------------------------------------------------------------------- choices


class Draw:
    """Picks one option at random, of those in a split."""

    def __init__(self, split: str, random: random.Random):
        if split not in SPLITS:
            raise DataError(f"split={split!r}: the phrasebook has {', '.join(SPLITS)}")
        self.split, self.random = split, random

    def __call__(self, options: Sequence[Any], combine: Callable[[Any], Combination] | None = None) -> Iterable[Any]:
        if not options:
            return ()
        uniform = self.random.random
        if combine is None:
            return (options[int(uniform() * len(options))],)
        for _ in range(3):  # most combinations are of train: asking after every one can wait
            chosen = options[int(uniform() * len(options))]
            if split_of(combine(chosen)) == self.split:
                return (chosen,)
        return self([chosen for chosen in options if split_of(combine(chosen)) == self.split])

    def license(self, options: Sequence[Any]) -> Iterable[Any]:
        return options[:1]


class Read:
    """Picks every option that a sentence may hold, of any split."""

    def __init__(self, sentence: str, side: int):
        self.side = side  # 0, the sentence is English; 1, it is French
        words = re.findall(r"\w+|\?", sentence)
        self.words = {*words, *(word.lower() for word in words[:1])}

    def __call__(self, options: Sequence[Any], combine: Callable[[Any], Combination] | None = None) -> Iterable[Any]:
        return [known for known in dict.fromkeys(options) if self.near(known.words[self.side])]

    def near(self, words: frozenset[str]) -> bool:
        return not words or not words.isdisjoint(self.words)

    def license(self, options: Sequence[Any]) -> Iterable[Any]:
        return self(options)


# --------------------------------------------------------------------------------------------------- minimal pairs


def contrasts(split: str) -> Iterator[partial[MinimalPair]]:
    """Every minimal pair of a split, to be written when called for."""
    if split not in SPLITS:
        raise DataError(f"split={split!r}: the phrasebook has {', '.join(SPLITS)}")
    for scene in SCENES:
        for noun in scene.subjects:
            for other in partners(scene, noun):
                if split_of(("svo", noun.english, scene.verb.english, other.english)) == split:
                    mine, yours = (
                        [why for why in whys if split_of(("property", who.english, why.english)) == split]
                        for who, whys in zip((noun, other), scene.reasons(noun, other), strict=True)
                    )
                    frames = GLAD_FRAMES if scene.done else FRAMES
                    for ways in dict.fromkeys(product(articles(noun), frames, mine, yours)):
                        yield partial(contrast, scene, noun, other, *ways)


def contrast(
    scene: Scene, noun: Noun, other: Noun, article: str, frame: Frame, mine: Adjective, yours: Adjective
) -> MinimalPair:
    subject, object = nominal(article, noun), nominal("the", other)
    return MinimalPair(
        because(subject, scene, other, frame, subject, mine),
        because(subject, scene, other, frame, object, yours),
        (noun.english, other.english),
        (subject.it[1], object.it[1]),
    )


PATTERNS = {  # each with its share of the corpus, so that every form of every word is often seen
    because_of_it: 33,
    because_of_someone: 8,
    being: 20,
    acting: 29,
    having: 3,
    prowling: 6,
    trade: 6,
    placing: 4,
    working: 11,
    meeting: 11,
    remarking: 5,
}
