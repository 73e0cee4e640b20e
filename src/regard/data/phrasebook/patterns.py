"""The patterns of the phrasebook: each chooses a meaning, word by word, and spells it out in both languages.

A pattern asks for each choice through `pick`, and yields what comes of it; it does not know who answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any, Protocol

from regard.data.phrasebook import lexicon, scenes
from regard.data.phrasebook.grammar import (
    AFFIRM,
    DENY,
    EVENTS,
    FUTURE,
    HUMANS,
    IS,
    NOW,
    PAST,
    PLAIN,
    PRESENT,
    STATES,
    TOO,
    UNSEEN,
    VERY,
    WAS,
    WHOSE,
    Combination,
    Meaning,
    Option,
    Phrase,
    Subject,
    Telling,
    a,
    clause,
    english_clause,
    french_clause,
    join,
    mentions,
    named,
    nominal,
    noun_phrase,
    numbers,
    option,
    personal,
    sentence,
    state,
    tellings,
    third,
    usual,
)
from regard.data.phrasebook.lexicon import (
    BE,
    DAILY,
    FITS,
    GROUPS,
    HAVE,
    KIN,
    NAMES,
    OWNED,
    SAID_APART,
    VERBS,
    Adjective,
    Noun,
    Words,
    among,
)
from regard.data.phrasebook.scenes import PEOPLE_DO, Deed


class Pick(Protocol):
    """Answers a pattern's questions."""

    def __call__(self, options: Sequence[Any], combine: Callable[[Any], Combination] | None = None) -> Iterable[Any]:
        """Some of the options; of those alone whose combination is of the right split, if they are to combine."""
        ...

    def license(self, options: Sequence[Any]) -> Iterable[Any]:
        """Some of the options that are all right, the first of which is what the corpus writes."""
        ...


def within(*words: str) -> Callable[[Any], Combination]:
    """How an option combines with the words picked so far."""
    return lambda option: (*words, option.english)


def said_of(adjective: Adjective) -> Callable[[Any], Combination]:
    """How a noun combines with what is said of it."""
    return lambda noun: ("property", noun.english, adjective.english)


# --------------------------------------------------------------------------------------------------------- subjects

PEOPLE = FITS["man"]  # what can be said of anyone


@dataclass(frozen=True, eq=False)
class Person:
    """Someone as a subject, first as the corpus writes it, then as it may be written too."""

    forms: tuple[Subject, ...]

    @cached_property
    def words(self) -> Words:
        english, french = zip(*(form.words for form in self.forms), strict=True)
        return frozenset().union(*english), frozenset().union(*french)


PRONOUNS = tuple(
    Person(tuple(personal(english, french, person, gender, own) for gender, french in zip(genders, forms, strict=True)))
    for english, genders, forms, person, own in (
        ("I", "mf", ("je", "je"), 0, "my"),
        ("you", "mf", ("tu", "tu"), 1, "your"),
        ("he", "m", ("il",), 2, "his"),
        ("she", "f", ("elle",), 2, "her"),
        ("we", "mf", ("nous", "nous"), 3, "our"),
        ("they", "mf", ("ils", "elles"), 5, "their"),
    )
)
FORMAL = (
    Person((personal("you", "vous", 4, "m", address=(", sir", ", monsieur")),)),
    Person((personal("you", "vous", 4, "f", address=(", madam", ", madame")),)),
)
ANYONE = (  # each as often as it is wanted
    *PRONOUNS * 26,
    *[Person((named(name),)) for name in NAMES] * 4,
    *[Person((named(name, friend),)) for name in NAMES for friend in WHOSE],
    *[Person((subject,)) for noun in GROUPS["people"] for subject in mentions(noun)],
)
ANYONE_OR_SIR = (*ANYONE, *FORMAL * 16)


def anyone(pick: Pick, people: Sequence[Person] = ANYONE) -> Iterator[Subject]:
    """A person as the subject: we, Marie, my friend Paul, the girl."""
    for person in pick(people):
        yield from pick.license(person.forms)


@cache
def attributes(noun: Noun) -> tuple[Adjective, ...]:
    known = (known for known in FITS[noun.english] if known.attribute and (noun, known.english) not in SAID_APART)
    return () if noun in KIN else tuple(known)


@cache
def predicates(subject: Subject) -> tuple[Adjective, ...]:
    known = (known for known in FITS.get(subject.name, PEOPLE) if known.predicate)
    return tuple(known for known in known if known.plural or not subject.plural)


BARE, DESCRIBED = option("bare"), option("described")


def described(pick: Pick, noun: Noun) -> Iterator[Adjective | None]:
    """An adjective to stand by a noun, one time in four."""
    for manner in pick((BARE, BARE, BARE, DESCRIBED) if attributes(noun) else (BARE,)):
        if manner is BARE:
            yield None
        else:
            yield from pick(attributes(noun), within("property", noun.english))


def things(pick: Pick, nouns: Sequence[Noun]) -> Iterator[tuple[Subject, tuple[Combination, ...]]]:
    """A noun as the subject, and what it combines with if an adjective stands by it."""
    for noun in pick(nouns):
        for adjective in described(pick, noun):
            combinations = (("property", noun.english, adjective.english),) if adjective else ()
            for subject in pick(mentions(noun, adjective)):
                yield subject, combinations


# -------------------------------------------------------------------------------------------------------- patterns

COLOURS = {"red", "white", "black", "green", "blue"}
WELCOME = {"happy", "kind", "beautiful", "good", "clean", "fresh", "strong", "empty"}  # never too much


def degrees(adjective: Adjective) -> tuple[Option, ...]:
    if adjective.english in COLOURS:
        return (PLAIN,)
    return (PLAIN, PLAIN, VERY) if adjective.english in WELCOME else (PLAIN, PLAIN, VERY, TOO)


SOMEONE, SOMETHING, BELONGING = option("someone"), option("something"), option("belonging")
BELONGINGS = among(lexicon.GOODS)
OWNERS = (
    *[named(name) for name in NAMES],
    *[nominal("the", noun) for noun in among("king queen")],
    *[nominal("my", noun) for noun in GROUPS["kin"]],
)


@cache
def belongings(noun: Noun) -> tuple[Subject, ...]:
    """Marie's dog, le chien de Marie; my brother's dogs, les chiens de mon frère."""
    found = []
    for owner, plural in product(OWNERS, numbers(noun)):
        english = f"{owner.english}'s {noun.plural if plural else noun.english}"
        french = f"{noun_phrase('the', noun, plural)[1]} de {owner.french}"
        found.append(third(english, french, noun.gender, plural, False, noun.english, owner.words))
    return tuple(found)


THINGS = tuple(noun for noun in lexicon.NOUNS.values() if noun not in HUMANS)


SAID_OF = {
    known: tuple(noun for noun in THINGS if known in FITS[noun.english])
    for known in dict.fromkeys(sum(FITS.values(), ()))
}
PREDICATES = tuple(known for known, nouns in SAID_OF.items() if nouns and known.predicate)


def being(pick: Pick) -> Iterator[Phrase]:
    """The street is wide. Was Marie's dog hungry? You aren't too tired, sir."""
    for about in pick((SOMEONE, SOMEONE, SOMEONE, SOMETHING, SOMETHING, SOMETHING, BELONGING)):
        for subject, adjective in {SOMEONE: someone, SOMETHING: something, BELONGING: belonging}[about](pick):
            for degree in pick(degrees(adjective)):
                for telling in pick(STATES):
                    meaning = state(subject, adjective, degree, telling)
                    combinations = (("property", subject.name, adjective.english),)
                    yield sentence(meaning, telling.mood, combinations, subject.address)


def someone(pick: Pick) -> Iterator[tuple[Subject, Adjective]]:
    for subject in anyone(pick, ANYONE_OR_SIR):
        for adjective in pick(predicates(subject), within("property", subject.name)):
            yield subject, adjective


def something(pick: Pick) -> Iterator[tuple[Subject, Adjective]]:
    """First the adjective, so that the one that few nouns take is told as often as the one that many do."""
    for adjective in pick(PREDICATES):
        for noun in pick(SAID_OF[adjective], said_of(adjective)):
            for subject in pick(mentions(noun)):
                if adjective.plural or not subject.plural:
                    yield subject, adjective


def belonging(pick: Pick) -> Iterator[tuple[Subject, Adjective]]:
    for noun in pick(BELONGINGS):
        for subject in pick(belongings(noun)):
            for adjective in pick(predicates(subject), within("property", noun.english)):
                yield subject, adjective


JOBS = tuple(
    Telling(telling.tense, telling.mood, city)
    for telling in tellings(PRESENT, PAST, FUTURE)
    for city in (("", ""), ("in Paris", "à Paris"), ("in Lyon", "à Lyon"))
)


def trade(pick: Pick) -> Iterator[Phrase]:
    """I am a student. Is she going to be a doctor in Paris?"""
    for subject in anyone(pick):
        if subject.plural or subject.name in ("boy", "girl", "king", "queen"):
            continue  # they have no trade, or several
        for job in pick(lexicon.PROFESSIONS, within("profession", subject.name)):
            for telling in pick(JOBS):
                french = job.feminine if subject.gender == "f" else job.masculine
                city, ville = telling.rest
                meaning = clause(subject, BE, telling, (join(a(job.english), city), join(french, ville)))
                combinations = (("profession", subject.name, job.english),)
                yield sentence(meaning, telling.mood, combinations, subject.address)


DEEDS = tuple(deed for deed in PEOPLE_DO.values() for _ in range(2 if deed.verb in DAILY else 1))


def acting(pick: Pick) -> Iterator[Phrase]:
    """She lost her red umbrella. Do we have any bread? I am not going to cross the river."""
    for subject in anyone(pick):
        for deed in pick(DEEDS):
            yield from transitive(pick, subject, deed)


def having(pick: Pick) -> Iterator[Phrase]:
    """I have a dog. You didn't have any milk, sir."""
    for subject in anyone(pick, ANYONE_OR_SIR):
        yield from transitive(pick, subject, PEOPLE_DO["have"])


def prowling(pick: Pick) -> Iterator[Phrase]:
    """The fox saw a hen. My old mare isn't going to cross the bridge."""
    for deed in pick(scenes.OTHERS_DO):
        for subject, combinations in things(pick, deed.subjects):
            yield from transitive(pick, subject, deed, combinations)


@dataclass(frozen=True, eq=False)
class Guise:
    """An article and a number that a noun appears in."""

    article: str
    plural: bool

    @property
    def words(self) -> Words:
        return BETRAYING.get(self.article, UNSEEN)


BETRAYING = {
    "the": option("the", "the", "le la l les du des au aux").words,
    "a": option("a", "a an some any", "un une des du de d").words,
    "this": option("this", "this these", "ce cet cette ces").words,
}


@cache
def guises(deed: Deed, noun: Noun) -> tuple[Guise, ...]:
    wrong = ("the", "this") if noun in KIN else () if noun in OWNED else ("own",)
    known = [article for article in deed.articles if article not in wrong]
    return tuple(Guise(article, plural) for article, plural in product(known, numbers(noun)))


def transitive(
    pick: Pick, subject: Subject, deed: Deed, combinations: tuple[Combination, ...] = ()
) -> Iterator[Phrase]:
    """Someone does it to something."""
    verb = deed.verb
    for noun in pick(deed.objects, within("svo", subject.name, verb.english)):
        if noun.english == subject.name:
            continue
        svo = ("svo", subject.name, verb.english, noun.english)
        for adjective in (None,) if combinations else described(pick, noun):  # one adjective in a sentence is enough
            known = (svo, ("property", noun.english, adjective.english)) if adjective else (svo, *combinations)
            for guise in pick(guises(deed, noun)):
                article = subject.own if guise.article == "own" else guise.article
                if guise.plural and adjective and not adjective.plural:
                    continue
                told = STATES if verb is HAVE else NOW if verb is VERBS["love"] else EVENTS
                for telling in pick(usual(told, verb, subject)):
                    what = noun_phrase(article, noun, guise.plural, adjective, telling.mood)
                    yield sentence(clause(subject, verb, telling, what), telling.mood, known, subject.address)


def placing(pick: Pick) -> Iterator[Phrase]:
    """The cat is under the table. Were the boys near the bridge?"""
    for spot in pick(scenes.SPOTS):
        for subject, combinations in things(pick, spot.subjects):
            for noun in pick(spot.objects, within("place", subject.name, spot.english)):
                if noun.english == subject.name:
                    continue
                for telling in pick(STATES):
                    english, french = noun_phrase("the", noun)
                    meaning = clause(subject, BE, telling, (f"{spot.english} {english}", f"{spot.french} {french}"))
                    known = (("place", subject.name, spot.english, noun.english), *combinations)
                    yield sentence(meaning, telling.mood, known)


@dataclass(frozen=True, eq=False)
class Adjunct:
    """What may follow a verb: at the market, with my sister, him."""

    english: str  # in combinations
    meaning: Meaning
    words: Words


def adjunct(at: str, à: str, what: Subject) -> Adjunct:
    return Adjunct(what.name, (join(at, what.english), join(à, what.french)), what.words)


COMPANY = tuple(
    adjunct("with", "avec", who)
    for who in (
        *[named(name, friend) for name in NAMES for friend in ("my", "your")],
        *[nominal(whose, noun) for noun in GROUPS["kin"] for whose in ("my", "your")],
        *[named(name) for name in NAMES],
    )
)
OUTDOORS = tuple(
    adjunct("in", "dans", nominal("the", noun)) for noun in among("garden park forest field barn castle house stable")
)


def at(nouns: str) -> tuple[Adjunct, ...]:
    return tuple(adjunct("at", "à", nominal("the", noun)) for noun in among(nouns))


ERRANDS = {
    VERBS["go"]: tuple(adjunct("", "", nominal("the", noun)) for noun in PEOPLE_DO["go"].objects),
    VERBS["sleep"]: at("hotel hospital") + OUTDOORS,
    VERBS["work"]: at("hospital hotel restaurant museum station library market") + OUTDOORS + COMPANY,
}
DAYS = tuple(
    Telling(telling.tense, telling.mood, rest)
    for tense, time in (
        (PRESENT, ("every day", "tous les jours")),
        (PAST, ("yesterday", "hier")),
        (FUTURE, ("tomorrow", "demain")),
    )
    for telling in tellings(tense)
    for rest in (("", ""), time)
)


def working(pick: Pick) -> Iterator[Phrase]:
    """She works at the hospital every day. Did you sleep in the barn? He is going to go to the market tomorrow."""
    for subject in anyone(pick):
        for verb in pick(tuple(ERRANDS)):
            for place in pick(ERRANDS[verb], within("svo", subject.name, verb.english)):
                if place.english == subject.name:
                    continue
                for telling in pick(usual(DAYS, verb, subject)):
                    english, french = (join(*words) for words in zip(place.meaning, telling.rest, strict=True))
                    meaning = clause(subject, verb, telling, (english, french))
                    yield sentence(meaning, telling.mood, (("svo", subject.name, verb.english, place.english),))


WHOM = {  # the pronoun as an object, and how a participle agrees with it
    Adjunct(english, (english, french), (frozenset({english}), frozenset({french, french[0]}))): agreements
    for english, french, agreements in (
        ("me", "me", (option(""), option("e"))),
        ("you", "te", (option(""), option("e"))),
        ("him", "le", (option(""),)),
        ("her", "la", (option("e"),)),
        ("them", "les", (option("s"), option("es"))),
    )
}
WHOM_OFTEN = tuple(WHOM) + tuple(WHOM)[3:]  # her and them twice: the participle tells them apart
ONESELF = {("I", "me"), ("we", "me"), ("you", "you")}


MEETINGS = tellings(PRESENT, PAST, PAST, PAST, FUTURE)


def meeting(pick: Pick) -> Iterator[Phrase]:
    """I see him. Did you look for them? My sister is going to watch me."""
    for subject in anyone(pick):
        for verb in pick(tuple(VERBS[word] for word in ("see", "look", "watch"))):
            for whom in pick(WHOM_OFTEN, within("svo", subject.name, verb.english)):
                if (subject.name, whom.english) in ONESELF:
                    continue
                for telling in pick(usual(MEETINGS, verb, subject)):
                    for agreement in pick.license(WHOM[whom]):
                        english = english_clause(subject, verb, telling, whom.meaning[0])
                        french = french_clause(subject, verb, telling, "", whom.meaning[1], agreement.name)
                        combinations = (("svo", subject.name, verb.english, whom.english),)
                        yield sentence((english, french), telling.mood, combinations)


REMARKED = tuple(Telling(tense, mood) for tense, mood in product((PAST, FUTURE), (AFFIRM, DENY)))


def remarking(pick: Pick) -> Iterator[Phrase]:
    """The cake was good and she ate it. The suitcase is heavy, but we are going to carry it."""
    for subject in anyone(pick):
        for remark in pick(scenes.REMARKS):
            verb = remark.verb
            for noun in pick(tuple(remark.known), within("svo", subject.name, verb.english)):
                for adjective in pick(remark.known[noun], within("property", noun.english)):
                    for what in pick(remarkable(noun)):
                        for telling in pick(REMARKED):
                            was, était = state(what, adjective, PLAIN, WAS if telling.tense is PAST else IS)
                            le, agreement = ("la", "e") if noun.gender == "f" else ("le", "")
                            does = english_clause(subject, verb, telling, "it")
                            fait = french_clause(subject, verb, telling, "", le, agreement)
                            expected = (telling.mood is AFFIRM) == (adjective.english in remark.inviting)
                            but, mais = (" and", " et") if expected else (", but", ", mais")
                            svo = ("svo", subject.name, verb.english, noun.english)
                            combinations = (svo, ("property", noun.english, adjective.english))
                            yield sentence((f"{was}{but} {does}", f"{était}{mais} {fait}"), AFFIRM, combinations)


@cache
def remarkable(noun: Noun) -> tuple[Subject, ...]:
    return tuple(nominal(article, noun) for article in ("the", "the", "this"))
