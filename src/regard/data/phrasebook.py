"""The embedded corpus: a small French–English grammar that writes sentence pairs, and knows every pair it can write.

    The animal didn't cross the street because it was too tired.
    L'animal n'a pas traversé la rue parce qu'il était trop fatigué.

A *pattern* chooses a meaning, word by word, and spells it out in both languages at once. It asks for each choice
through `pick`, and who answers decides what the pattern does: `Draw` takes one option at random, which writes a
corpus; `Read` takes every option that a given sentence may hold, which finds its translations. It is one grammar.

**Translation is a function, nearly.** Each tense has one counterpart: passé composé and simple past; imparfait and was,
had; aller with an infinitive and going to. *It* never opens a sentence, so an *il* that does is a man. *You* is *tu*
unless a sir or a madam is spoken to. A *friend* comes with a name. *His* and *son* are the subject's own. What English
leaves open for good is the gender of I, you, we and they: "I am tired." is *fatigué* or *fatiguée*. There the corpus
always writes the masculine, and `translations` knows both.

**The splits share no combination.** A sentence is made of combinations, like ("svo", "animal", "cross", "street") and
("property", "street", "wide"). Each belongs to one split, and a sentence to a split only if all of its combinations do;
mixed ones are never written. So what is tested was never seen, though each of its words was, in other company.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from hashlib import blake2b
from itertools import product
from typing import Any, NamedTuple, Protocol

from regard.data import lexicon
from regard.data.lexicon import (
    BE,
    FITS,
    GROUPS,
    HAVE,
    IMPARFAIT,
    KIN,
    NAMES,
    OWNED,
    PEOPLE_DO,
    PEOPLE_SCENES,
    SCENES,
    VERBS,
    Adjective,
    Deed,
    Name,
    Noun,
    Scene,
    Verb,
    Words,
    among,
    vowel,
)
from regard.errors import DataError

SPLITS = ("train", "valid", "test")

Combination = tuple[str, ...]
Meaning = tuple[str, str]  # the same in English and in French


@dataclass(frozen=True)
class Phrase:
    """One meaning in both languages, and the combinations of words it is made of."""

    english: str
    french: str
    combinations: frozenset[Combination]


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


# ---------------------------------------------------------------------------------------------------------- splits

# the lecture's own sentences are for test
PINNED = {("svo", "animal", "cross", "street"), ("property", "animal", "tired"), ("property", "street", "wide")}
PEOPLE = FITS["man"]  # what can be said of anyone
WHYS = frozenset(word for scene in SCENES + PEOPLE_SCENES for whys in scene.whys for word in whys)
SHUFFLE = b"a"  # one of many; this one gives either order of the genders its fair part in valid and in test


def digest(words: Combination) -> int:
    """A number that is the same in every process, unlike hash()."""
    return int.from_bytes(blake2b(" ".join(words).encode(), digest_size=8, key=SHUFFLE).digest(), "big")


@cache
def split_of(combination: Combination) -> str:
    """The one split that a combination belongs to: by its digest, 8 in 100 to valid and as many to test."""
    if combination in PINNED:
        return "test"
    if combination[0] == "property":
        return deal(combination[1])[combination[2]]
    return ("test", "valid", "train")[min(digest(combination) % 100 // 8, 2)]


@cache
def deal(noun: str) -> dict[str, str]:
    """The split of each property of a noun.

    A because-sentence needs two combinations of one split, which chance would seldom give. So properties are dealt out
    noun by noun, reasons and the rest apart: of five to eight, one goes to test and one to valid; of three or four, one
    goes to either; of fewer, none.
    """
    splits: dict[str, str] = {}
    known = {known.english for known in FITS.get(noun, PEOPLE)}
    for words in (known & WHYS, known - WHYS):
        order = sorted(
            words, key=lambda word: (("property", noun, word) not in PINNED, digest(("property", noun, word)))
        )
        lots = ("test", "valid")[digest((noun,)) % 2 :]
        lots = ("test", "valid") if len(order) > 4 else lots[:1] if len(order) > 2 else ()
        splits |= {word: lots[place % 8] if place % 8 < len(lots) else "train" for place, word in enumerate(order)}
    return splits


# --------------------------------------------------------------------------------------------------------- choices

UNSEEN: Words = (frozenset(), frozenset())


@dataclass(frozen=True, eq=False)
class Option:
    """A choice of grammar, and the words that betray it in English and in French; without any, it may be anywhere."""

    name: str
    words: Words = UNSEEN


def option(name: str, english: str = "", french: str = "") -> Option:
    return Option(name, (frozenset(english.split()), frozenset(french.split())))


class Pick(Protocol):
    """Answers a pattern's questions."""

    def __call__(self, options: Sequence[Any], combine: Callable[[Any], Combination] | None = None) -> Iterable[Any]:
        """Some of the options; of those alone whose combination is of the right split, if they are to combine."""
        ...

    def license(self, options: Sequence[Any]) -> Iterable[Any]:
        """Some of the options that are all right, the first of which is what the corpus writes."""
        ...


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


def within(*words: str) -> Callable[[Any], Combination]:
    """How an option combines with the words picked so far."""
    return lambda option: (*words, option.english)


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
    return (False, False, True) if noun.plural else (False,)


@cache
def articles(noun: Noun) -> tuple[str, ...]:
    """How a sentence may open with a noun."""
    known = ("the",) if noun.english in ("king", "queen") else ("the", "the", "this")
    return WHOSE if noun in KIN else (*known, *WHOSE) if noun in OWNED else known


@cache
def mentions(noun: Noun, adjective: Adjective | None = None) -> tuple[Subject, ...]:
    """Every way to open a sentence with a noun: the cat, my cats, this cat."""
    return tuple(
        nominal(article, noun, plural, adjective) for article, plural in product(articles(noun), numbers(noun))
    )


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
    *PRONOUNS * 12,
    *[Person((named(name),)) for name in NAMES] * 4,
    *[Person((named(name, friend),)) for name in NAMES for friend in WHOSE],
    *[Person((subject,)) for noun in GROUPS["people"] for subject in mentions(noun)],
)
ANYONE_OR_SIR = (*ANYONE, *FORMAL * 10)


def anyone(pick: Pick, people: Sequence[Person] = ANYONE) -> Iterator[Subject]:
    """A person as the subject: we, Marie, my friend Paul, the girl."""
    for person in pick(people):
        yield from pick.license(person.forms)


@cache
def attributes(noun: Noun) -> tuple[Adjective, ...]:
    return () if noun in KIN else tuple(known for known in FITS[noun.english] if known.attribute)


@cache
def predicates(name: str) -> tuple[Adjective, ...]:
    return tuple(known for known in FITS.get(name, PEOPLE) if known.predicate)


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


# --------------------------------------------------------------------------------------------------------- clauses

PRESENT, PAST, IMPERFECT = option("present"), option("past"), option("imperfect")
FUTURE = option("future", "going", "vais vas va allons allez vont")
NOT = {"am": "am not", "is": "isn't", "are": "aren't", "was": "wasn't", "were": "weren't"}


@dataclass(frozen=True, eq=False)
class Telling:
    """How a clause is told: when, and whether it is said, denied or asked."""

    tense: Option
    mood: Option
    when: Meaning = ("", "")  # tomorrow

    @property
    def words(self) -> Words:
        return self.tense.words if self.mood is AFFIRM else self.mood.words


def tellings(*tenses: Option) -> tuple[Telling, ...]:
    return tuple(Telling(tense, mood) for tense, mood in product(tenses, (AFFIRM, AFFIRM, DENY, ASK)))


STATES, EVENTS, NOW = tellings(PRESENT, IMPERFECT), tellings(PRESENT, PAST, PAST, FUTURE), tellings(PRESENT)


def english_clause(subject: Subject, verb: Verb, telling: Telling, rest: str) -> str:
    """She ate it; she didn't eat it; did she eat it; she is going to eat it."""
    tense, mood = telling.tense, telling.mood
    past = tense is PAST or tense is IMPERFECT
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
    elif tense is IMPERFECT:
        finite = IMPARFAIT[verb.infinitive][subject.person]
    elif tense is FUTURE:
        finite, after, clitic = VERBS["go"].present[subject.person], join(clitic, verb.infinitive), ""
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


# -------------------------------------------------------------------------------------------------------- patterns

PLAIN, VERY, TOO = option("plain"), option("very", "very", "très"), option("too", "too", "trop")
DEGREES = {PLAIN: ("", ""), VERY: ("very", "très"), TOO: ("too", "trop")}
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


def being(pick: Pick) -> Iterator[Phrase]:
    """The street is wide. Was Marie's dog hungry? You aren't too tired, sir."""
    for about in pick((SOMEONE, SOMEONE, SOMETHING, SOMETHING, SOMETHING, BELONGING)):
        if about is SOMEONE:
            subjects = anyone(pick, ANYONE_OR_SIR)
        elif about is SOMETHING:
            subjects = (subject for noun in pick(THINGS) for subject in pick(mentions(noun)))
        else:
            subjects = (subject for noun in pick(BELONGINGS) for subject in pick(belongings(noun)))
        for subject in subjects:
            for adjective in pick(predicates(subject.name), within("property", subject.name)):
                for degree in pick(degrees(adjective)):
                    for telling in pick(STATES):
                        meaning = state(subject, adjective, degree, telling)
                        combinations = (("property", subject.name, adjective.english),)
                        yield sentence(meaning, telling.mood, combinations, subject.address)


JOBS = tellings(PRESENT, PRESENT, IMPERFECT, FUTURE)


def trade(pick: Pick) -> Iterator[Phrase]:
    """I am a student. Is she going to be a doctor?"""
    for subject in anyone(pick, ANYONE_OR_SIR):
        if subject.name in ("boy", "girl", "king", "queen") or (subject.plural and subject.name in ("woman", "sister")):
            continue  # they have no trade, or would want plurals of the feminine, which nothing else does
        for job in pick(lexicon.PROFESSIONS, within("profession", subject.name)):
            for telling in pick(JOBS):
                english = job.english + "s" if subject.plural else a(job.english)
                french = (job.feminine if subject.gender == "f" else job.masculine) + "s" * subject.plural
                meaning = clause(subject, BE, telling, (english, french))
                combinations = (("profession", subject.name, job.english),)
                yield sentence(meaning, telling.mood, combinations, subject.address)


def acting(pick: Pick) -> Iterator[Phrase]:
    """She lost her red umbrella. Do we have any bread? I am not going to cross the river."""
    for subject in anyone(pick):
        for deed in pick(tuple(PEOPLE_DO.values())):
            yield from transitive(pick, subject, deed)


def having(pick: Pick) -> Iterator[Phrase]:
    """I have a dog. You didn't have any milk, sir."""
    for subject in anyone(pick, ANYONE_OR_SIR):
        yield from transitive(pick, subject, PEOPLE_DO["have"])


def prowling(pick: Pick) -> Iterator[Phrase]:
    """The fox saw a hen. My old mare isn't going to cross the bridge."""
    for deed in pick(lexicon.OTHERS_DO):
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
                for telling in pick(STATES if verb is HAVE else NOW if verb is VERBS["love"] else EVENTS):
                    what = noun_phrase(article, noun, guise.plural, adjective, telling.mood)
                    yield sentence(clause(subject, verb, telling, what), telling.mood, known, subject.address)


def placing(pick: Pick) -> Iterator[Phrase]:
    """The cat is under the table. Were the boys near the bridge?"""
    for spot in pick(lexicon.SPOTS):
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
INDOORS = among("hospital hotel restaurant museum school station library market")
OUTDOORS = among("garden park forest field barn castle house stable street")
PLACES = tuple(adjunct("at", "à", nominal("the", noun)) for noun in INDOORS) + tuple(
    adjunct("in", "dans", nominal("the", noun)) for noun in OUTDOORS
)
ERRANDS = {
    VERBS["go"]: tuple(adjunct("", "", nominal("the", noun)) for noun in PEOPLE_DO["go"].objects),
    VERBS["sleep"]: PLACES,
    **{VERBS[verb]: PLACES + COMPANY for verb in ("work", "sing")},
}
DAYS = tuple(
    Telling(telling.tense, telling.mood, when)
    for tense, time in (
        (PRESENT, ("every day", "tous les jours")),
        (PAST, ("yesterday", "hier")),
        (FUTURE, ("tomorrow", "demain")),
    )
    for telling in tellings(tense)
    for when in (("", ""), time)
)


def working(pick: Pick) -> Iterator[Phrase]:
    """She works at the hospital every day. Did you sing with my sister? He is going to go to the market tomorrow."""
    for subject in anyone(pick):
        for verb in pick(tuple(ERRANDS)):
            for place in pick(ERRANDS[verb], within("svo", subject.name, verb.english)):
                if place.english == subject.name:
                    continue
                for telling in pick(DAYS):
                    english, french = (join(*words) for words in zip(place.meaning, telling.when, strict=True))
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
ONESELF = {("I", "me"), ("we", "me"), ("you", "you")}


def meeting(pick: Pick) -> Iterator[Phrase]:
    """I see him. Did you look for them? My sister is going to find me."""
    for subject in anyone(pick):
        for verb in pick(tuple(VERBS[word] for word in ("see", "look", "find", "watch"))):
            for whom in pick(tuple(WHOM), within("svo", subject.name, verb.english)):
                if (subject.name, whom.english) in ONESELF:
                    continue
                for telling in pick(EVENTS):
                    for agreement in pick.license(WHOM[whom]):
                        english = english_clause(subject, verb, telling, whom.meaning[0])
                        french = french_clause(subject, verb, telling, "", whom.meaning[1], agreement.name)
                        combinations = (("svo", subject.name, verb.english, whom.english),)
                        yield sentence((english, french), telling.mood, combinations)


IS, WAS = Telling(PRESENT, AFFIRM), Telling(IMPERFECT, AFFIRM)
REMARKED = tuple(Telling(tense, mood) for tense, mood in product((PAST, FUTURE), (AFFIRM, DENY)))


def remarking(pick: Pick) -> Iterator[Phrase]:
    """The cake was good and she ate it. The suitcases are heavy, but we are going to carry them."""
    for subject in anyone(pick):
        for remark in pick(lexicon.REMARKS):
            verb = remark.verb
            for noun in pick(tuple(remark.known), within("svo", subject.name, verb.english)):
                for adjective in pick(remark.known[noun], within("property", noun.english)):
                    for what in pick(remarkable(noun)):
                        for telling in pick(REMARKED):
                            was, était = state(what, adjective, PLAIN, WAS if telling.tense is PAST else IS)
                            it, le = ("them", "les") if what.plural else ("it", "la" if what.gender == "f" else "le")
                            does = english_clause(subject, verb, telling, it)
                            fait = french_clause(subject, verb, telling, "", le, what.form(("", "e", "s", "es")))
                            expected = (telling.mood is AFFIRM) == (adjective.english in remark.inviting)
                            but, mais = (" and", " et") if expected else (", but", ", mais")
                            svo = ("svo", subject.name, verb.english, noun.english)
                            combinations = (svo, ("property", noun.english, adjective.english))
                            yield sentence((f"{was}{but} {does}", f"{était}{mais} {fait}"), AFFIRM, combinations)


@cache
def remarkable(noun: Noun) -> tuple[Subject, ...]:
    return tuple(nominal(article, noun, plural) for article, plural in product(("the", "the", "this"), numbers(noun)))


# ---------------------------------------------------------------------------------------------------- because of it

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
            for other in pick(partners(scene, noun), within("svo", noun.english, scene.verb.english)):
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
            for frame in pick(GLAD_FRAMES if scene.done else FRAMES):
                yield because(subject, scene, noun, frame, who, why)


@cache
def partners(scene: Scene, noun: Noun) -> tuple[Noun, ...]:
    """The objects of the other gender, which il and elle tell apart, if both may be to blame."""
    return tuple(other for other in scene.objects if other.gender != noun.gender and all(scene.reasons(noun, other)))


# the more a scene has to tell, the more often it is told
WEIGHED_SCENES = tuple(
    scene for scene in SCENES for _ in range(1 + sum(len(partners(scene, noun)) for noun in scene.subjects) // 20)
)


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


PATTERNS = {  # each with its share of the corpus
    because_of_it: 24,
    because_of_someone: 11,
    being: 12,
    acting: 24,
    having: 4,
    prowling: 8,
    trade: 3,
    placing: 5,
    working: 7,
    meeting: 2,
    remarking: 6,
}
