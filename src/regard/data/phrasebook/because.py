"""Sentences that give a reason: what *it* is, only the reason tells, and French must say it with *il* or *elle*."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

from regard.data.phrasebook import lexicon
from regard.data.phrasebook.grammar import (
    AFFIRM,
    DENY,
    FUTURE,
    IS,
    PAST,
    PRESENT,
    TOO,
    UNSEEN,
    VERY,
    WAS,
    Option,
    Phrase,
    Subject,
    Telling,
    clause,
    mentions,
    nominal,
    noun_phrase,
    option,
    sentence,
    state,
    third,
    usual,
)
from regard.data.phrasebook.lexicon import Adjective, Noun, Words
from regard.data.phrasebook.patterns import Pick, anyone, within
from regard.data.phrasebook.scenes import PEOPLE_SCENES, SCENES, Scene

IT = {  # what takes up a noun; I, you and we take up themselves
    (it, il): third(it, il, "f" if "elle" in il else "m", it == "they", it in ("he", "she"), it, UNSEEN)
    for it, il in (("it", "il"), ("it", "elle"), ("he", "il"), ("she", "elle"), ("they", "ils"), ("they", "elles"))
}
DONE, UNDONE = ({tense: Telling(tense, mood) for tense in (PRESENT, PAST, FUTURE)} for mood in (AFFIRM, DENY))


class Frame(NamedTuple):
    """How a because-sentence is told."""

    article: str  # of the object
    tense: Option
    degree: Option

    @property
    def words(self) -> Words:
        return self.degree.words


FRAMES = tuple(map(Frame._make, product(("the", "the", "this"), (PAST, PAST, PRESENT, FUTURE), (TOO, TOO, VERY))))
GLAD_FRAMES = tuple(frame for frame in FRAMES if frame.degree is VERY)  # nothing is done because it is too good


def because(subject: Subject, scene: Scene, noun: Noun, frame: Frame, who: Subject, why: Adjective) -> Phrase:
    """Something is done, or left undone, because someone or something is so."""
    telling = (DONE if scene.done else UNDONE)[frame.tense]
    english, french = clause(subject, scene.verb, telling, noun_phrase(frame.article, noun))
    reason, raison = state(IT.get(who.it, who), why, frame.degree, WAS if frame.tense is PAST else IS)
    combinations = ("svo", subject.name, scene.verb.english, noun.english), ("property", who.name, why.english)
    return sentence((f"{english} because {reason}", f"{french} parce que {raison}"), AFFIRM, combinations)


def because_of_it(pick: Pick) -> Iterator[Phrase]:
    """The animal didn't cross the street because it was too wide. The vase doesn't fit in it because it is too big."""
    for scene in pick(WEIGHED_SCENES):
        for noun in pick(scene.subjects):
            for other in pick(rivals(scene, noun), within("svo", noun.english, scene.verb.english)):
                for subject in pick(mentions(noun)):
                    yield from blaming(pick, subject, scene, other, scene.reasons(noun, other))


def because_of_someone(pick: Pick) -> Iterator[Phrase]:
    """The queen didn't buy the hat because it was too expensive. I didn't go to the market because I was too sick."""
    for subject in anyone(pick):
        for scene in pick(PEOPLE_SCENES):
            for other in pick(scene.objects, within("svo", subject.name, scene.verb.english)):
                yield from blaming(pick, subject, scene, other, scene.reasons(lexicon.NOUNS["man"], other))


Reasons = tuple[tuple[Adjective, ...], tuple[Adjective, ...]]
MINE, YOURS = option("mine"), option("yours")


def blaming(pick: Pick, subject: Subject, scene: Scene, noun: Noun, reasons: Reasons) -> Iterator[Phrase]:
    """It lies with the subject, or with the object."""
    for side in pick((MINE, YOURS)):
        who, whys = (subject, reasons[0]) if side is MINE else (nominal("the", noun), reasons[1])
        for why in pick(whys, within("property", who.name)):
            if who.plural and not why.plural:
                continue
            for frame in pick(usual(GLAD_FRAMES if scene.done else FRAMES, scene.verb, subject)):
                yield because(subject, scene, noun, frame, who, why)


@cache
def rivals(scene: Scene, noun: Noun) -> tuple[Noun, ...]:
    """The objects that may be to blame as well as the subject.

    Of either gender: were they always of the other one, the gender of one noun would tell that of both.
    """
    return tuple(other for other in scene.objects if all(scene.reasons(noun, other)))


@cache
def partners(scene: Scene, noun: Noun) -> tuple[Noun, ...]:
    """The rivals of the other gender, which il and elle tell apart."""
    return tuple(other for other in rivals(scene, noun) if other.gender != noun.gender)


# the more a scene has to tell, the more often it is told
WEIGHED_SCENES = tuple(
    scene for scene in SCENES for _ in range(1 + sum(len(partners(scene, noun)) for noun in scene.subjects) // 20)
)
