"""What happens in the phrasebook: who does what to what, what lies where, and what is left undone for which reason.

Like the lexicon's, the tables are text, and a group of nouns may stand wherever nouns are listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

from regard.data.phrasebook.lexicon import FITS, GROUPS, VERBS, Adjective, Noun, Verb, Words, among, rows

# ----------------------------------------------------------------------------------------------------------- deeds

GRAZERS = "rabbit horse donkey cow goat turtle mare antelope giraffe squirrel hen"
GREENS = "bread cabbage melon apple carrot pear salad"
GOURMETS = "animal dog bear monkey fox hedgehog mouse ant"
HUNTERS = "cat wolf panther"
BIG = "horse donkey bear wolf cow goat mare panther antelope"
SMALL = "animal dog cat rabbit fox monkey hedgehog squirrel turtle mouse hen frog ant"

# verb | who does it | to what | the articles that this takes (own: his car, of the one who acts)
DEEDS = f"""
    have   | people | dog cat horse rabbit goat turtle hen car van truck caravan items trifles bag basket trunk \
                      suitcase box house garden brother sister dishes snacks drinks -cabbage -salad | a
    eat    | people | dishes snacks | the a this own
    drink  | people | drinks | the a this own
    buy    | people | dishes snacks drinks car van truck caravan items flower bag suitcase box basket table chair \
                      house | the a this
    see    | people | animals vehicles bridge river lake castle mountain hill tower volcano \
                      tree house man woman boy girl | the a this
    find   | people | items trifles bag suitcase box basket cat dog hedgehog turtle | the a this own
    lose   | people | key letter book hat coat umbrella bag suitcase computer violin cat dog | the a own
    look   | people | items -vase trifles bag suitcase box dog cat goat hotel restaurant hospital station | the a own
    watch  | people | animals bus truck river | the this
    wash   | people | vehicles dress coat dog horse window apple carrot pear table bag | the this own
    open   | people | door window suitcase box drawer wardrobe letter umbrella bag trunk basket book | the a this own
    carry  | people | containers -wardrobe -drawer items -hat -coat -dress key chair table flower | the a this own
    love   | people | dog cat horse rabbit donkey goat turtle hen mare house garden car guitar violin | this own
    cross  | people | routes | the a this
    climb  | people | heights | the a this
    enter  | people | hollows garden park forest house garage courtyard goals -beach | the this
    talk   | people | folk kin dog cat horse | the this own
    go     | people | goals park castle lake | the
    see    | animals | animals tree house bridge river truck car bus | the a
    watch  | animals | animals river bus | the
    look   | dog cat bear fox wolf panther | rabbit mouse hedgehog frog goat hen | the a
    cross  | animals | routes | the the a
    climb  | bear monkey goat cat fox wolf panther squirrel animal ant | heights | the
    enter  | animals -giraffe | cave barn stable forest tunnel garden | the the this
    enter  | vehicles | garage courtyard barn tunnel street | the the this
    eat    | {GRAZERS} | {GREENS} | the a
    eat    | {GOURMETS} | dishes snacks | the a
    eat    | {HUNTERS} | fish meat | the a
"""


@dataclass(frozen=True, eq=False)
class Deed:
    """A verb, who does it to what, and the articles that this takes."""

    verb: Verb
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]
    articles: tuple[str, ...]

    @cached_property
    def words(self) -> Words:
        return self.verb.words


ALL_DEEDS = tuple(
    Deed(VERBS[verb], among(subjects), among(objects), tuple(articles.split()))
    for verb, subjects, objects, articles in rows(DEEDS)
)
PEOPLE_DO = {deed.verb.english: deed for deed in ALL_DEEDS if deed.subjects == GROUPS["people"]}
OTHERS_DO = tuple(deed for deed in ALL_DEEDS if deed.subjects != GROUPS["people"])

# verb | what invites people to do it | what does not
JUDGEMENTS = """
    eat    | good fresh sweet hot | salty hard bitter cold
    drink  | good fresh sweet hot | bitter
    buy    | beautiful big fresh good red blue black white green | expensive dirty heavy fragile old
    wash   | dirty |
    carry  | small empty | heavy full big fragile
"""


@dataclass(frozen=True, eq=False)
class Remark:
    """What is said of a thing before it is done something to."""

    verb: Verb
    inviting: tuple[str, ...]
    known: dict[Noun, tuple[Adjective, ...]]

    @cached_property
    def words(self) -> Words:
        return self.verb.words


def remarks(table: str) -> Iterator[Remark]:
    for verb, inviting, forbidding in rows(table):
        words = (*inviting.split(), *forbidding.split())
        known = {
            noun: tuple(known for known in FITS[noun.english] if known.english in words)
            for noun in PEOPLE_DO[verb].objects
        }
        yield Remark(VERBS[verb], tuple(inviting.split()), {noun: found for noun, found in known.items() if found})


REMARKS = tuple(remarks(JUDGEMENTS))

# who or what | is how placed | by what
PLACES = """
    book hat coat dress umbrella key letter  | in | containers
    vase lamp clock statue violin computer guitar | in | box trunk wardrobe
    flower                       | in          | vase basket
    cat mouse                    | in          | basket box bag drawer trunk wardrobe
    book vase hat coat umbrella computer violin lamp clock dress trifles bag basket suitcase box cat \
                                 | on          | table chair bed
    dog cat rabbit hen mouse bag suitcase box book hat key letter umbrella | under | table chair bed tree bridge
    animals people vehicles      | in front of | house castle hospital museum barn stable tree tower wall
    animals people vehicles      | behind      | house castle hotel station library barn stable tree wall
    animals people vehicles      | near        | bridge river lake park house market tower castle hospital
    animals people               | in          | garden park forest field meadow street barn castle house
    lamp chair table vase statue clock wardrobe bed | near | door window bed table wardrobe
"""
PREPOSITIONS = {
    "in": "dans", "on": "sur", "under": "sous", "in front of": "devant", "behind": "derrière", "near": "près de",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Spot:
    """A preposition, what may be placed by it, and the landmarks this is placed by."""

    subjects: tuple[Noun, ...]
    english: str
    french: str
    objects: tuple[Noun, ...]

    @cached_property
    def words(self) -> Words:
        return frozenset(self.english.split()[:2][-1:]), frozenset(self.french.split()[:1])


SPOTS = tuple(Spot(among(who), where, PREPOSITIONS[where], among(what)) for who, where, what in rows(PLACES))


@dataclass(frozen=True, eq=False)
class Scene:
    """Something done or left undone for a reason, which lies with the one who acts or with what is acted on.

    Each reason makes sense for one of the two alone: an animal is tired and a street is wide, a truck is too high for a
    garage and a garage is too low for a truck.
    """

    verb: Verb
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]
    done: bool
    whys: tuple[frozenset[str], frozenset[str]]  # reasons that lie with the subject, and with the object

    @cached_property
    def words(self) -> Words:
        return self.verb.words

    @cache  # noqa: B019  scenes live as long as the program
    def reasons(self, subject: Noun, object: Noun) -> tuple[tuple[Adjective, ...], tuple[Adjective, ...]]:
        """The reasons that can only lie with the subject, and those that can only lie with the object."""
        mine, yours = self.whys
        return blame(mine, subject, object), blame(yours, object, subject)


def blame(whys: frozenset[str], noun: Noun, other: Noun) -> tuple[Adjective, ...]:
    """The reasons that lie with a noun and cannot lie with the other."""
    unclear = {known.english for known in FITS[other.english]}
    known = (why for why in FITS[noun.english] if why.english in whys and why.english not in unclear)
    return tuple(why for why in known if (why.english, noun, other) not in UNCLEAR)


# reason | whose it is | beside whom or what a reader would wonder
WONDERED = """
    weak                  | animals           | bridge wall tower cliff box basket
    fragile               | bridge wall tower | ant mouse frog hedgehog squirrel hen
    sick tired scared sad | animals           | fish
    old                   | animals           | tunnel attic
"""
UNCLEAR = {
    (why, noun, other)
    for whys, nouns, others in rows(WONDERED)
    for why, noun, other in product(whys.split(), among(nouns), among(others))
}


WEARY = "tired sick weak lazy old"
WARY = f"{WEARY} nervous worried scared"
MOODY = "tired sick sad nervous worried scared"
SIZE = "big wide high long"
HEIGHT = "high steep slippery muddy fragile"
HOLLOW = "dark muddy slippery deep"
ROAD = "wide long slippery muddy deep high fragile"
TASTE = "salty hard bitter sweet"
LOADS = "containers -wardrobe -drawer statue lamp clock"
# verb, done or not | subjects | objects | why, by the subject | why, by the object
REASONS = f"""
    cross  not | animals | routes | {WARY} young slow | {ROAD}
    climb  not | animals | heights | {WARY} young slow | {HEIGHT}
    enter  not | {BIG} | hollows -attic house forest | {WARY} young big | {HOLLOW} narrow low
    enter  not | {SMALL} | hollows house forest | {WARY} young | {HOLLOW}
    eat    not | {GRAZERS} | {GREENS} | {MOODY} | {TASTE}
    eat    not | {GOURMETS} | dishes snacks | {MOODY} | {TASTE}
    eat    not | {HUNTERS} | fish cheese meat soup | {MOODY} | {TASTE}
    eat    yes | {GRAZERS} | {GREENS} | hungry greedy | good fresh sweet
    eat    yes | {GOURMETS} | dishes snacks | hungry greedy | good fresh sweet
    carry  not | horse donkey mare | {LOADS} | {WEARY} young | heavy full fragile
    fit    not | items -book | containers | {SIZE} | small narrow full
    enter  not | vehicles | garage courtyard barn tunnel street | {SIZE} | narrow small low slippery
"""
PEOPLE_REASONS = f"""
    cross  not | people | routes | {WARY} slow | {ROAD}
    climb  not | people | heights | {WARY} slow | {HEIGHT}
    enter  not | people | hollows house forest | {WARY} | {HOLLOW} narrow low
    eat    not | people | dishes snacks | tired sick sad nervous worried | {TASTE}
    eat    yes | people | dishes snacks | hungry greedy | good fresh sweet
    drink  not | people | drinks | tired sick sad nervous | bitter sweet
    drink  yes | people | drinks | thirsty | good fresh sweet
    carry  not | people | {LOADS} | {WEARY} | heavy full fragile
    buy    not | people | car van truck tractor caravan items house suitcase wardrobe | busy sick \
               | expensive fragile heavy
    go     not | people | goals | tired sick busy lazy worried nervous | expensive
"""


def scenes(table: str) -> Iterator[Scene]:
    for deed, subjects, objects, *whys in rows(table):
        verb, done = deed.split()
        mine, yours = (frozenset(why.split()) for why in whys)
        yield Scene(VERBS[verb], among(subjects), among(objects), done == "yes", (mine, yours))


SCENES, PEOPLE_SCENES = tuple(scenes(REASONS)), tuple(scenes(PEOPLE_REASONS))
