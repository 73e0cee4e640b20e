"""The words of the phrasebook: what each is in English and in French, and what it can sensibly be said of.

The tables are text, one entry to a cell, so that a mistake in a gender or a plural shows at a glance. A noun is known
by its English singular in all of them, and a group of nouns (animals) may stand wherever nouns are listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

VOWELS = "aeiouâàéèêîôûœAEIOUÉ"
ASPIRATED = ("haut", "hérisson")  # an h that forbids elision, also when an ending follows: le hérisson


def vowel(word: str) -> bool:
    """Does the French word begin with a vowel sound, so that the word before it elides (l'arbre, l'homme)?"""
    return word[0] in VOWELS or (word[0] == "h" and not word.startswith(ASPIRATED))


def rows(table: str) -> Iterator[list[str]]:
    """The lines of a table, as their cells."""
    for line in table.strip().splitlines():
        yield [cell.strip() for cell in line.split("|")]


Words = tuple[frozenset[str], frozenset[str]]  # the English and the French ones that something is told by


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun; one without a plural is used in the singular alone, and one that is `mass` is never counted."""

    english: str
    plural: str
    french: str
    pluriel: str
    gender: str  # "m" or "f", the French one
    mass: bool = False

    @cached_property
    def words(self) -> Words:
        return frozenset({self.english, self.plural}), frozenset({self.french, self.pluriel})


@dataclass(frozen=True, eq=False)
class Name:
    """A first name, the same in both languages."""

    english: str
    gender: str

    @cached_property
    def words(self) -> Words:
        return frozenset({self.english}), frozenset({self.english})


@dataclass(frozen=True, eq=False)
class Profession:
    """What someone is by trade; French names it without an article, in the gender of the person."""

    english: str
    masculine: str
    feminine: str

    @cached_property
    def words(self) -> Words:
        french = self.masculine, self.feminine
        return frozenset({self.english, self.english + "s"}), frozenset({*french, *(word + "s" for word in french)})


@dataclass(frozen=True, eq=False)
class Adjective:
    """A property; one that French says someone *has* (avoir faim) neither agrees nor stands by a noun."""

    english: str
    forms: tuple[str, str, str, str]  # masculine, feminine, masculine plural, feminine plural
    had: bool = False  # avoir faim: être is not its verb
    before: bool = False  # un petit chat, but un chat noir
    predicate: bool = True  # can follow être
    attribute: bool = True  # can stand by a noun

    @cached_property
    def words(self) -> Words:
        return frozenset({self.english}), frozenset({*self.forms, LIAISON.get(self.forms[0], self.forms[0])})


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb, with the preposition each language wants before its object (look for, entrer dans)."""

    english: str
    past: str
    infinitive: str
    present: tuple[str, ...]  # je, tu, il, nous, vous, ils
    participle: str
    auxiliary: str = "avoir"
    preposition: str = ""  # English
    préposition: str = ""  # French

    @cached_property
    def third(self) -> str:
        """he eats, he buys, he washes, he carries, he has"""
        if self.english == "have":
            return "has"
        if self.english.endswith("y") and self.english[-2] not in "aeiou":
            return self.english[:-1] + "ies"
        return self.english + ("es" if self.english.endswith(("sh", "ch", "ss", "o")) else "s")

    @cached_property
    def words(self) -> Words:
        participles = (self.participle + ending for ending in ("", "e", "s", "es"))
        imperfect = IMPARFAIT.get(self.infinitive, ())
        return (
            frozenset({self.english, self.past, self.third}),
            frozenset({self.infinitive, *self.present, *participles, *imperfect}),
        )


# ---------------------------------------------------------------------------------------------------------- people

PROFESSIONS = tuple(
    Profession(english, masculine, feminine or masculine)
    for english, masculine, feminine in (
        ("student", "étudiant", "étudiante"),
        ("baker", "boulanger", "boulangère"),
        ("nurse", "infirmier", "infirmière"),
        ("doctor", "médecin", ""),
        ("teacher", "professeur", "professeure"),
        ("farmer", "agriculteur", "agricultrice"),
        ("lawyer", "avocat", "avocate"),
        ("musician", "musicien", "musicienne"),
        ("cook", "cuisinier", "cuisinière"),
        ("painter", "peintre", ""),
        ("dentist", "dentiste", ""),
    )
)

NAMES = tuple(Name(*row.split()) for row in ("Paul m", "Louis m", "Adrien m", "Marie f", "Anne f", "Julie f"))

# ----------------------------------------------------------------------------------------------------------- nouns


def nouns(table: str, mass: bool = False) -> tuple[Noun, ...]:
    """Nouns from cells of "english/plural french/pluriel gender"; the plurals may be missing."""
    found = []
    for cell in table.replace("\n", ";").split(";"):
        if cell.strip():
            english, french, gender = cell.split()
            singular, _, plural = english.partition("/")
            singulier, _, pluriel = french.partition("/")
            found.append(Noun(singular, plural, singulier, pluriel, gender, mass))
    return tuple(found)


GROUPS = {
    "folk": nouns("""
        man/men homme/hommes m; boy/boys garçon/garçons m; king roi m
        woman/women femme/femmes f; girl/girls fille/filles f; queen reine f
    """),
    "kin": nouns("""
        brother/brothers frère/frères m; father père m; uncle oncle m
        sister/sisters sœur/sœurs f; mother mère f; aunt tante f
    """),
    "animals": nouns("""
        animal/animals animal/animaux m; dog/dogs chien/chiens m; cat/cats chat/chats m; horse/horses cheval/chevaux m
        rabbit/rabbits lapin/lapins m; donkey/donkeys âne/ânes m; fox renard m; bear ours m
        wolf loup m; monkey singe m; hedgehog hérisson m; squirrel écureuil m
        cow/cows vache/vaches f; goat/goats chèvre/chèvres f; turtle tortue f; mouse souris f
        hen/hens poule/poules f; mare jument f; giraffe girafe f; frog grenouille f
        panther panthère f; ant/ants fourmi/fourmis f; antelope antilope f
    """),
    "routes": nouns("""
        bridge/bridges pont/ponts m; field/fields champ/champs m; garden/gardens jardin/jardins m; park parc m
        tunnel tunnel m; lake lac m; stream ruisseau m; desert désert m; swamp marais m
        street/streets rue/rues f; road/roads route/routes f; river rivière f; square place f
        forest forêt f; valley vallée f; meadow prairie f; avenue avenue f
    """),
    "heights": nouns("""
        wall mur m; rock rocher m; volcano volcan m; glacier glacier m
        mountain/mountains montagne/montagnes f; hill colline f; tower tour f; cliff falaise f
    """),
    "hollows": nouns("castle château m; attic grenier m; cave grotte f; barn grange f; stable écurie f"),
    "homes": nouns("house/houses maison/maisons f"),
    "yards": nouns("garage garage m; courtyard cour f"),
    "vehicles": nouns("""
        truck/trucks camion/camions m; bus bus m; tractor tracteur m
        car/cars voiture/voitures f; van camionnette f; caravan caravane f; ambulance ambulance f
    """),
    "items": nouns("""
        book/books livre/livres m; vase vase m; hat/hats chapeau/chapeaux m; coat/coats manteau/manteaux m
        umbrella parapluie m; computer ordinateur m; violin violon m
        lamp lampe f; clock horloge f; guitar guitare f; statue statue f
        dress/dresses robe/robes f
    """),
    "trifles": nouns("key/keys clé/clés f; flower/flowers fleur/fleurs f; letter/letters lettre/lettres f"),
    "containers": nouns("""
        bag/bags sac/sacs m; drawer tiroir m; basket panier m; trunk coffre m
        suitcase/suitcases valise/valises f; box/boxes boîte/boîtes f; wardrobe armoire f
    """),
    "furniture": nouns("bed lit m; tree/trees arbre/arbres m; table table f; chair/chairs chaise/chaises f"),
    "openings": nouns("door/doors porte/portes f; window/windows fenêtre/fenêtres f"),
    "goals": nouns("""
        market marché m; hospital hôpital m; hotel hôtel m; restaurant restaurant m; museum musée m
        school école f; station gare f; library bibliothèque f; beach plage f
    """),
    "dishes": nouns(
        "bread pain m; cheese fromage m; fish poisson m; rice riz m; soup soupe f; meat viande f", mass=True
    ),
    "snacks": nouns("""
        cake/cakes gâteau/gâteaux m; egg/eggs œuf/œufs m; cabbage chou m; melon melon m
        apple/apples pomme/pommes f; carrot/carrots carotte/carottes f; pear/pears poire/poires f; salad salade f
    """),
    "drinks": nouns("milk lait m; coffee café m; tea thé m; water eau f; lemonade limonade f", mass=True),
}
GROUPS["people"] = GROUPS["folk"] + GROUPS["kin"]
NOUNS = {noun.english: noun for group in GROUPS.values() for noun in group}


def among(listed: str) -> tuple[Noun, ...]:
    """The nouns of a list of groups and single nouns: ``among("animals table -ant")`` has all animals but the ant."""
    found: dict[str, Noun] = {}
    for word in listed.split():
        for noun in GROUPS.get(word.lstrip("-"), ()) or (NOUNS[word.lstrip("-")],):
            found[noun.english] = noun
            if word.startswith("-"):
                del found[noun.english]
    return tuple(found.values())


PETS = "dog cat horse rabbit donkey cow goat turtle mouse hen mare"
GOODS = f"{PETS} vehicles -bus -ambulance items trifles containers -drawer house garden"
OWNED = frozenset(among(f"{GOODS} kin bed table chair cake dishes coffee tea"))
KIN = frozenset(GROUPS["kin"])

# ------------------------------------------------------------------------------------------------------ adjectives

LIAISON = {"vieux": "vieil", "beau": "bel", "nouveau": "nouvel"}  # un vieux chien, un vieil homme
BEFORE = {"petit", "grand", "beau", "bon", "vieux", "jeune", "nouveau", "long"}
FEMININE = {
    "vieux": "vieille", "beau": "belle", "nouveau": "nouvelle", "bon": "bonne", "long": "longue", "blanc": "blanche",
    "frais": "fraîche", "sec": "sèche", "bas": "basse", "gentil": "gentille", "inquiet": "inquiète",
    "cher": "chère", "amer": "amère",
}  # fmt: skip


@cache
def adjective(english: str, french: str) -> Adjective:
    """An adjective by its masculine singular: avoir faim is had, (nouveau) only stands by a noun, haut* never does."""
    if french.startswith("avoir "):
        noun = french.removeprefix("avoir ")
        return Adjective(english, (noun, noun, noun, noun), had=True, attribute=False)
    masculine = french.strip("()*")
    if masculine in FEMININE:
        feminine = FEMININE[masculine]
    elif masculine.endswith("eux"):
        feminine = masculine[:-1] + "se"
    else:
        feminine = masculine.removesuffix("e") + "e"
    plural = masculine + ("" if masculine[-1] in "sx" else "x" if masculine.endswith("eau") else "s")
    return Adjective(
        english,
        (masculine, feminine, plural, feminine + "s"),
        before=masculine in BEFORE,
        predicate="(" not in french,
        attribute="*" not in french,
    )


# english, french (in brackets: only by a noun; with a star: only after être), whom or what it can be said of
PROPERTIES = """
    tired     | fatigué     | animals people
    sick      | malade      | animals people
    weak      | faible      | animals people
    lazy      | paresseux   | animals people
    nervous   | nerveux*    | animals people
    worried   | inquiet*    | animals people
    sad       | triste*     | animals people
    happy     | heureux     | animals people
    strong    | fort        | animals people
    slow      | lent        | animals people
    young     | jeune       | animals people
    scared    | avoir peur  | animals people
    hungry    | avoir faim  | animals people
    thirsty   | avoir soif  | animals people
    cold      | avoir froid | animals people
    hot       | avoir chaud | animals people
    greedy    | gourmand    | animals people
    busy      | occupé*     | people
    poor      | pauvre*     | people
    kind      | gentil      | people
    tall      | grand*      | people
    old       | vieux       | animals people bridge wall tower castle house barn stable garage vehicles items \
                              containers furniture openings museum hotel
    dangerous | dangereux   | bear wolf panther street road river square avenue forest valley bridge tunnel lake \
                              stream park desert swamp mountain cliff volcano glacier rock tower cave attic barn
    wide      | large       | street road river square valley meadow avenue field garden park lake stream desert \
                              swamp truck bus tractor van caravan lamp hat computer clock guitar statue table
    long      | long        | bridge tunnel truck bus caravan coat dress umbrella guitar letter book table
    dark      | sombre      | street road forest square valley park field tunnel garden lake swamp cave barn stable \
                              attic castle house avenue river meadow
    slippery  | glissant    | street road bridge square avenue park field garden stream meadow tunnel courtyard wall \
                              rock cliff glacier mountain hill cave
    muddy     | boueux      | street road field garden park meadow swamp square river lake stream tunnel forest hill \
                              cave barn stable courtyard
    deep      | profond     | river lake stream swamp valley forest cave drawer
    high      | haut*       | bridge mountain hill tower cliff wall rock volcano glacier truck bus caravan tractor \
                              tree chair table
    steep     | raide       | street road avenue valley hill mountain cliff volcano glacier rock
    narrow    | étroit      | street tunnel garage courtyard cave stable attic drawer box suitcase bag wardrobe bed \
                              window door bridge garden road
    low       | bas*        | tunnel garage barn cave attic stable bed table
    small     | petit       | mouse ant frog hedgehog squirrel rabbit cat hen turtle dog garage courtyard barn house \
                              containers table chair key
    big       | grand       | horse cow bear giraffe mare vehicles -ambulance items -book -dress -coat market hospital \
                              hotel museum school station library castle house forest tree
    full      | plein       | containers bus car truck
    empty     | vide        | containers bus beach
    heavy     | lourd       | containers statue lamp clock computer table
    fragile   | fragile     | bridge wall tower cliff vase lamp clock statue violin guitar computer box basket chair
    expensive | cher        | vehicles items house hotel restaurant
    new       | (nouveau)   | vehicles items containers house school hotel restaurant museum bridge table chair
    beautiful | beau        | horse cat mare antelope forest mountain valley garden park lake castle house beach \
                              square vase lamp statue dress clock flower guitar coat
    dirty     | sale        | vehicles dog coat dress bag table window street beach chair
    clean     | propre      | vehicles coat dress bag table window beach hotel restaurant bed
    red       | rouge       | car truck tractor dress hat coat umbrella bag suitcase box lamp flower door chair
    white     | blanc       | cat dog horse rabbit goat hen cow mare mouse house wall car van dress door flower vase
    black     | noir        | cat dog horse rabbit goat hen cow mare panther ant coat hat umbrella bag suitcase car
    green     | vert        | frog turtle car tractor bus dress hat coat door chair box bag meadow tree field apple \
                              pear book garden
    blue      | bleu        | car bus van caravan dress hat coat umbrella suitcase box vase lamp flower door chair
    good      | bon         | dishes snacks drinks -water restaurant hotel book
    fresh     | frais       | bread cheese fish egg milk salad carrot melon
    salty     | salé        | soup cheese meat fish rice bread
    hard      | dur         | bread cheese cake meat carrot pear apple cabbage melon bed chair
    dry       | sec         | bread cake meat rice fish desert
    bitter    | amer        | coffee tea salad carrot cabbage apple
    sweet     | sucré       | cake apple pear melon coffee tea lemonade
    hot       | chaud       | soup rice coffee tea milk water
    cold      | froid       | soup coffee tea milk water lemonade
"""

FITS: dict[str, tuple[Adjective, ...]] = dict.fromkeys(NOUNS, ())  # noun -> what can be said of it
for word, mot, listed in rows(PROPERTIES):
    for noun in among(listed):
        FITS[noun.english] += (adjective(word, mot),)

# ----------------------------------------------------------------------------------------------------------- verbs

IMPARFAIT = {  # je, tu, il, nous, vous, ils; other verbs tell their past in the passé composé
    "être": ("étais", "étais", "était", "étions", "étiez", "étaient"),
    "avoir": ("avais", "avais", "avait", "avions", "aviez", "avaient"),
}


def verb(english: str, past: str, french: str, auxiliary: str = "avoir") -> Verb:
    """A verb from "look for", "looked", and its infinitive, or its infinitive, six present forms and participle."""
    english, _, preposition = english.partition(" ")
    infinitive, *forms = french.split(" + ")[0].split()
    if not forms:  # parler: je parle, tu parles ...
        stem = infinitive.removesuffix("er")
        soft = stem + "e" if stem.endswith("g") else stem  # nous mangeons
        forms = [stem + "e", stem + "es", stem + "e", soft + "ons", stem + "ez", stem + "ent", stem + "é"]
    _, _, préposition = french.partition(" + ")
    *present, participle = forms
    return Verb(english, past, infinitive, tuple(present), participle, auxiliary, preposition, préposition)


BE = verb("be", "was", "être suis es est sommes êtes sont été")
HAVE = verb("have", "had", "avoir ai as a avons avez ont eu")
VERBS = {
    known.english: known
    for known in (
        HAVE,
        verb("eat", "ate", "manger"),
        verb("drink", "drank", "boire bois bois boit buvons buvez boivent bu"),
        verb("buy", "bought", "acheter achète achètes achète achetons achetez achètent acheté"),
        verb("see", "saw", "voir vois vois voit voyons voyez voient vu"),
        verb("find", "found", "trouver"),
        verb("lose", "lost", "perdre perds perds perd perdons perdez perdent perdu"),
        verb("look for", "looked", "chercher"),
        verb("watch", "watched", "regarder"),
        verb("wash", "washed", "laver"),
        verb("open", "opened", "ouvrir ouvre ouvres ouvre ouvrons ouvrez ouvrent ouvert"),
        verb("carry", "carried", "porter"),
        verb("love", "loved", "aimer"),
        verb("cross", "crossed", "traverser"),
        verb("climb", "climbed", "escalader"),
        verb("fit in", "fit", "tenir tiens tiens tient tenons tenez tiennent tenu + dans"),
        verb("enter", "entered", "entrer + dans", "être"),
        verb("go to", "went", "aller vais vas va allons allez vont allé + à", "être"),
        verb("talk to", "talked", "parler + à"),
        verb("work", "worked", "travailler"),
        verb("sing", "sang", "chanter"),
        verb("sleep", "slept", "dormir dors dors dort dormons dormez dorment dormi"),
    )
}

# ---------------------------------------------------------------------------------------------- who does what where

GRAZERS = "rabbit horse donkey cow goat turtle mare antelope giraffe squirrel"
GREENS = "bread cabbage melon apple carrot pear salad"
GOURMETS = "animal dog bear monkey fox hedgehog mouse ant hen"
HUNTERS = "cat wolf panther"
BIG = "horse donkey bear wolf cow goat mare giraffe panther antelope"
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
    watch  | people | animals bus truck river mountain beach tower lake | the this
    wash   | people | vehicles dress coat dog horse window apple carrot pear table bag salad | the this own
    open   | people | door window suitcase box drawer wardrobe letter umbrella bag trunk basket book | the a this own
    carry  | people | containers -wardrobe -drawer items -hat -coat -dress key chair table flower | the a this own
    love   | people | dog cat horse rabbit donkey goat turtle hen mare house garden car guitar violin | this own
    cross  | people | routes | the a this
    climb  | people | heights | the a this
    enter  | people | hollows garden park forest tunnel house garage courtyard goals -beach | the this
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
    eat    | good fresh sweet hot | salty hard dry bitter cold
    drink  | good fresh sweet hot | bitter
    buy    | beautiful big fresh good red blue black white green | expensive dirty heavy fragile old
    wash   | dirty |
    open   | small red blue green black white | heavy old dirty
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
    animals people vehicles      | in front of | house castle hospital school museum barn stable tree tower wall
    animals people vehicles      | behind      | house castle hotel station library barn stable tree wall
    animals people vehicles      | near        | bridge river lake park house market tower castle hospital school
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
        words = [{known.english for known in FITS[noun.english]} for noun in (subject, object)]
        mine, yours = (
            tuple(a for a in FITS[noun.english] if a.english in self.whys[i] and a.english not in words[1 - i])
            for i, noun in enumerate((subject, object))
        )
        return mine, yours


WEARY = "tired sick weak lazy nervous worried scared young old"
MOODY = "tired sick sad nervous worried scared"
SIZE = "big wide high long"
HEIGHT = "high steep slippery muddy fragile dangerous"
HOLLOW = "dark narrow low muddy slippery deep dangerous"
ROAD = "wide long dark slippery muddy deep high steep fragile dry dangerous"
TASTE = "salty hard dry bitter sweet"
# verb, done or not | subjects | objects | why, by the subject | why, by the object
REASONS = f"""
    cross  not | animals | routes | {WEARY} slow | {ROAD}
    climb  not | animals | heights | {WEARY} slow | {HEIGHT}
    enter  not | {BIG} | hollows house forest tunnel | {WEARY} sad big | {HOLLOW}
    enter  not | {SMALL} | hollows house forest tunnel | {WEARY} sad | dark muddy slippery deep dangerous
    eat    not | {GRAZERS} | {GREENS} | {MOODY} | {TASTE}
    eat    not | {GOURMETS} | dishes snacks | {MOODY} | {TASTE}
    eat    not | {HUNTERS} | fish cheese meat soup | {MOODY} | {TASTE}
    eat    yes | {GRAZERS} | {GREENS} | hungry greedy | good fresh sweet
    eat    yes | {GOURMETS} | dishes snacks | hungry greedy | good fresh sweet
    carry  not | horse donkey mare dog | containers -wardrobe -drawer statue lamp clock | {WEARY} | heavy full fragile
    fit    not | items | containers | {SIZE} | small narrow full
    enter  not | vehicles | garage courtyard barn tunnel street | {SIZE} | narrow small low slippery
"""
PEOPLE_REASONS = f"""
    cross  not | people | routes | {WEARY} slow | {ROAD}
    climb  not | people | heights | {WEARY} slow | {HEIGHT}
    enter  not | people | hollows house forest tunnel | {WEARY} sad | {HOLLOW}
    eat    not | people | dishes snacks | tired sick sad nervous worried | {TASTE}
    eat    yes | people | dishes snacks | hungry greedy | good fresh sweet
    drink  not | people | drinks | tired sick sad nervous | bitter sweet
    drink  yes | people | drinks | thirsty | good fresh sweet
    carry  not | people | containers -wardrobe -drawer statue lamp clock | {WEARY} | heavy full fragile
    buy    not | people | car van truck tractor caravan items house suitcase wardrobe | poor busy sick \
               | expensive fragile heavy
    go     not | people | goals | tired sick busy lazy worried nervous | expensive
"""


def scenes(table: str) -> Iterator[Scene]:
    for deed, subjects, objects, *whys in rows(table):
        verb, done = deed.split()
        mine, yours = (frozenset(why.split()) for why in whys)
        yield Scene(VERBS[verb], among(subjects), among(objects), done == "yes", (mine, yours))


SCENES, PEOPLE_SCENES = tuple(scenes(REASONS)), tuple(scenes(PEOPLE_REASONS))
