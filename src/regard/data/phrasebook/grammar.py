"""How a meaning is spelled in both languages: noun phrases, subjects, clauses, sentences.

Nothing here chooses: what is said is decided by the patterns, and told by an `Option` where it is a matter of grammar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from regard.data.phrasebook import lexicon
from regard.data.phrasebook.lexicon import (
    BE,
    DAILY,
    GROUPS,
    HAVE,
    IMPARFAIT,
    KIN,
    OWNED,
    VERBS,
    Adjective,
    Name,
    Noun,
    Verb,
    Words,
    vowel,
)

Combination = tuple[str, ...]
Meaning = tuple[str, str]  # the same in English and in French


@dataclass(frozen=True)
class Phrase:
    """One meaning in both languages, and the combinations of words it is made of."""

    english: str
    french: str
    combinations: frozenset[Combination]


UNSEEN: Words = (frozenset(), frozenset())


@dataclass(frozen=True, eq=False)
class Option:
    """A choice of grammar, and the words that betray it in English and in French; without any, it may be anywhere."""

    name: str
    words: Words = UNSEEN


def option(name: str, english: str = "", french: str = "") -> Option:
    return Option(name, (frozenset(english.split()), frozenset(french.split())))


# -------------------------------------------------------------------------------------------------------- spelling

ELIDED = frozenset(("je", "le", "la", "de", "ne", "que", "me", "te"))
CONTRACTED = {" de le ": " du ", " de les ": " des ", " à le ": " au ", " à les ": " aux "}


def spell(french: str) -> str:
    """Elide and contract: je ai, j'ai; de le pain, du pain; de le animal, de l'animal."""
    words = french.split(" ")
    for place, word in enumerate(words[:-1]):
        if word in ELIDED and vowel(words[place + 1]):
            words[place] = word[:-1] + "'"
    spelled = " ".join(words).replace("' ", "'")
    for loose, tight in CONTRACTED.items():
        spelled = spelled.replace(loose, tight)
    return spelled


def a(english: str) -> str:
    return ("an " if english[0] in "aeiou" else "a ") + english


def join(*words: str) -> str:
    return " ".join(filter(None, words))


# ---------------------------------------------------------------------------------------------------- noun phrases

AFFIRM, DENY, ASK = option("affirm"), option("deny", "t not", "pas"), option("ask", "?", "?")

ARTICLES = {  # masculine, feminine, plural
    "the": ("le", "la", "les"),
    "a": ("un", "une", "des"),
    "some": ("de le", "de la", "des"),
    "this": ("ce", "cette", "ces"),
    "my": ("mon", "ma", "mes"),
    "your": ("ton", "ta", "tes"),
    "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"),
    "their": ("leur", "leur", "leurs"),
}
BEFORE_VOWEL = {"ce": "cet", "ma": "mon", "ta": "ton", "sa": "son"}  # cet arbre, mon amie


@cache
def noun_phrase(
    article: str, noun: Noun, plural: bool = False, adjective: Adjective | None = None, mood: Option = AFFIRM
) -> Meaning:
    """A noun with its article and adjective; the article *a* knows what is counted and what is denied."""
    form = (noun.gender == "f") + 2 * plural
    english, french = (noun.plural, noun.pluriel) if plural else (noun.english, noun.french)
    if adjective:
        english, agreed = f"{adjective.english} {english}", adjective.forms[form]
        if adjective.before:
            agreed = lexicon.LIAISON.get(agreed, agreed) if form == 0 and vowel(french) else agreed  # un vieil ami
            french = f"{agreed} {french}"
        else:
            french = f"{french} {agreed}"

    counted = not noun.mass and not plural
    le = ARTICLES["some" if article == "a" and noun.mass else article][2 if plural else form]
    if article == "a":
        english = a(english) if counted else f"{'some' if mood is AFFIRM else 'any'} {english}"
        if mood is DENY or (plural and adjective and adjective.before):
            le = "de"  # pas de pain, de belles fleurs
    else:
        english = f"{'these' if article == 'this' and plural else article} {english}"
    if not plural and vowel(french):
        le = BEFORE_VOWEL.get(le, le)
    return english, f"{le} {french}"


@dataclass(frozen=True, eq=False)
class Subject:
    """Who or what a clause is about."""

    english: str
    french: str
    name: str  # in combinations
    person: int  # je, tu, il, nous, vous, ils
    gender: str
    plural: bool
    it: Meaning  # the pronoun that takes it up
    own: str  # the article of what is its own: his, their
    words: Words
    address: Meaning = ("", "")  # ", sir"

    def form(self, forms: Sequence[str]) -> str:
        return forms[(self.gender == "f") + 2 * self.plural]


def personal(
    english: str, french: str, person: int, gender: str, own: str = "", address: Meaning = ("", "")
) -> Subject:
    """A pronoun as a subject."""
    words = (
        frozenset({address[0][2:] or english}),
        frozenset({address[1][2:] or french, "j" if person == 0 else french}),
    )
    plural = person in (3, 5)
    return Subject(english, french, english, person, gender, plural, (english, french), own, words, address)


def third(english: str, french: str, gender: str, plural: bool, human: bool, name: str, words: Words) -> Subject:
    """Anyone and anything else: people are taken up by he and she, all the rest by it."""
    it = "they" if plural else "it" if not human else "she" if gender == "f" else "he"
    own = {"he": "his", "she": "her", "they": "their"}.get(it, "")
    il = ("elle" if gender == "f" else "il") + "s" * plural
    return Subject(english, french, name, 5 if plural else 2, gender, plural, (it, il), own, words)


@cache
def nominal(article: str, noun: Noun, plural: bool = False, adjective: Adjective | None = None) -> Subject:
    """A noun as a subject."""
    english, french = noun_phrase(article, noun, plural, adjective)
    return third(english, french, noun.gender, plural, noun in HUMANS, noun.english, noun.words)


def named(name: Name, friend: str = "") -> Subject:
    """Marie; or my friend Marie, mon amie Marie."""
    ami = ARTICLES[friend][0] + (" amie " if name.gender == "f" else " ami ") if friend else ""
    english = f"{friend} friend {name.english}" if friend else name.english
    return third(english, ami + name.english, name.gender, False, True, name.english, name.words)


HUMANS = frozenset(GROUPS["people"])
WHOSE = ("my", "your", "our")


@cache
def numbers(noun: Noun) -> tuple[bool, ...]:
    return (False,) if not noun.plural else (False, True, True) if noun in HUMANS else (False, True)


@cache
def articles(noun: Noun) -> tuple[str, ...]:
    """How a sentence may open with a noun."""
    known = ("the",) if noun.english in ("king", "queen") else ("the", "the", "this")
    return WHOSE if noun in KIN else (*known, *WHOSE) if noun in OWNED else known


@cache
def mentions(noun: Noun, adjective: Adjective | None = None) -> tuple[Subject, ...]:
    """Every way to open a sentence with a noun: the cat, my cats, this cat."""
    return tuple(
        nominal(article, noun, plural, adjective)
        for article, plural in product(articles(noun), numbers(noun))
        if not plural or not adjective or adjective.plural
    )


# --------------------------------------------------------------------------------------------------------- clauses

PRESENT, PAST = option("present"), option("past")
FUTURE = option("future", "going", "vais vas va allons allez vont")
PLAIN, VERY, TOO = option("plain"), option("very", "very", "très"), option("too", "too", "trop")
DEGREES = {PLAIN: ("", ""), VERY: ("very", "très"), TOO: ("too", "trop")}
NOT = {"am": "am not", "is": "isn't", "are": "aren't", "was": "wasn't", "were": "weren't"}


@dataclass(frozen=True, eq=False)
class Telling:
    """How a clause is told: when, and whether it is said, denied or asked."""

    tense: Option
    mood: Option
    rest: Meaning = ("", "")  # tomorrow, in Paris

    @property
    def words(self) -> Words:
        return self.tense.words if self.mood is AFFIRM else self.mood.words


def tellings(*tenses: Option) -> tuple[Telling, ...]:
    return tuple(Telling(tense, mood) for tense, mood in product(tenses, (AFFIRM, AFFIRM, DENY, ASK)))


@cache
def usual(told: tuple[Any, ...], verb: Verb, subject: Subject) -> tuple[Any, ...]:
    """The ways to tell what the subject does; in the present, which has the most forms, often or not at all."""
    present = tuple(way for way in told if way.tense is PRESENT)
    if subject.person == 2 or verb in DAILY:
        return told + present
    return tuple(way for way in told if way not in present)


IS, WAS = Telling(PRESENT, AFFIRM), Telling(PAST, AFFIRM)
STATES, EVENTS, NOW = tellings(PRESENT, PAST), tellings(PRESENT, PAST, FUTURE), tellings(PRESENT)


def english_clause(subject: Subject, verb: Verb, telling: Telling, rest: str) -> str:
    """She ate it; she didn't eat it; did she eat it; she is going to eat it."""
    tense, mood = telling.tense, telling.mood
    past = tense is PAST
    if verb is BE or tense is FUTURE:
        if subject.person in (0, 2):
            first = "was" if past else "is" if subject.person else "am"
        else:
            first = "were" if past else "are"
        denied = NOT[first]
        if tense is FUTURE:
            rest = join("going to", verb.english, verb.preposition, rest)
    elif mood is AFFIRM:
        first = verb.past if past else verb.third if subject.person == 2 else verb.english
        denied, rest = "", join(verb.preposition, rest)
    else:
        first = "did" if past else "does" if subject.person == 2 else "do"
        denied, rest = first + "n't", join(verb.english, verb.preposition, rest)
    if mood is ASK:
        return f"{first} {subject.english} {rest}"
    return f"{subject.english} {denied if mood is DENY else first} {rest}"


def french_clause(
    subject: Subject, verb: Verb, telling: Telling, rest: str, clitic: str = "", agreement: str = ""
) -> str:
    """Elle le mange; elle ne le mange pas; est-ce que elle le a mangé; elle va le manger."""
    tense, after = telling.tense, ""
    if tense is PRESENT:
        finite = verb.present[subject.person]
    elif tense is FUTURE:
        finite, after, clitic = VERBS["go"].present[subject.person], join(clitic, verb.infinitive), ""
    elif verb.infinitive in IMPARFAIT:
        finite = IMPARFAIT[verb.infinitive][subject.person]
    elif verb.auxiliary == "être":
        finite, after = BE.present[subject.person], verb.participle + subject.form(("", "e", "s", "es"))
    else:
        finite, after = HAVE.present[subject.person], verb.participle + agreement
    if telling.mood is DENY:
        return join(subject.french, "ne", clitic, finite, "pas", after, verb.préposition, rest)
    asked = "est-ce que" if telling.mood is ASK else ""
    return join(asked, subject.french, clitic, finite, after, verb.préposition, rest)


def clause(subject: Subject, verb: Verb, telling: Telling, rest: Meaning) -> Meaning:
    """Someone does something."""
    return english_clause(subject, verb, telling, rest[0]), french_clause(subject, verb, telling, rest[1])


def state(subject: Subject, adjective: Adjective, degree: Option, telling: Telling) -> Meaning:
    """Someone is so; in French, they may have it: elle a très faim."""
    very, très = DEGREES[degree]
    english = english_clause(subject, BE, telling, join(very, adjective.english))
    french = join(très, subject.form(adjective.forms))
    return english, french_clause(subject, HAVE if adjective.had else BE, telling, french)


def sentence(
    meaning: Meaning, mood: Option, combinations: tuple[Combination, ...], address: Meaning = ("", "")
) -> Phrase:
    """A clause, spelled, capitalised and ended."""
    english, french = meaning[0] + address[0], spell(meaning[1] + address[1])
    end, fin = ("?", " ?") if mood is ASK else (".", ".")
    return Phrase(english[0].upper() + english[1:] + end, french[0].upper() + french[1:] + fin, together(combinations))


@cache  # many sentences share theirs
def together(combinations: tuple[Combination, ...]) -> frozenset[Combination]:
    return frozenset(combinations)
