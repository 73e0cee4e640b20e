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
        return frozenset({self.english}), frozenset({self.masculine, self.feminine})


@dataclass(frozen=True, eq=False)
class Adjective:
    """A property; one that French says someone *has* (avoir faim) neither agrees nor stands by a noun."""

    english: str
    forms: tuple[str, str, str, str]  # masculine, feminine, masculine plural, feminine plural
    had: bool = False  # avoir faim: être is not its verb
    before: bool = False  # un petit chat, but un chat noir
    predicate: bool = True  # can follow être
    attribute: bool = True  # can stand by a noun
    plural: bool = True  # is said of several

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
    )
)

NAMES = tuple(
    Name(*row.split())
    for row in ["Paul m", "Louis m", "Adrien m", "Marc m", "Marie f", "Anne f", "Julie f", "Claire f"]
)

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
        rabbit/rabbits lapin/lapins m; donkey âne m; fox renard m; bear ours m
        wolf loup m; monkey singe m; hedgehog hérisson m; squirrel écureuil m
        cow/cows vache/vaches f; goat/goats chèvre/chèvres f; turtle tortue f; mouse souris f
        hen/hens poule/poules f; mare jument f; giraffe girafe f; frog grenouille f
        panther panthère f; ant fourmi f; antelope antilope f
    """),
    "routes": nouns("""
        bridge pont m; field champ m; garden jardin m; park parc m
        lake lac m; stream ruisseau m; desert désert m; swamp marais m
        street rue f; road route f; river rivière f; square place f
        forest forêt f; valley vallée f; meadow prairie f; avenue avenue f
    """),
    "heights": nouns("""
        wall mur m; rock rocher m; volcano volcan m; glacier glacier m
        mountain montagne f; hill colline f; tower tour f; cliff falaise f
    """),
    "hollows": nouns(
        "castle château m; attic grenier m; tunnel tunnel m; cave grotte f; barn grange f; stable écurie f"
    ),
    "homes": nouns("house maison f"),
    "yards": nouns("garage garage m; courtyard cour f"),
    "vehicles": nouns("""
        truck/trucks camion/camions m; bus bus m; tractor tracteur m
        car/cars voiture/voitures f; van camionnette f; caravan caravane f; ambulance ambulance f
    """),
    "items": nouns("""
        book/books livre/livres m; vase vase m; hat chapeau m; coat manteau m
        umbrella parapluie m; computer ordinateur m; violin violon m
        lamp lampe f; clock horloge f; guitar guitare f; statue statue f
        dress robe f
    """),
    "trifles": nouns("key/keys clé/clés f; flower/flowers fleur/fleurs f; letter/letters lettre/lettres f"),
    "containers": nouns("""
        bag sac m; drawer tiroir m; basket panier m; trunk coffre m
        suitcase/suitcases valise/valises f; box/boxes boîte/boîtes f; wardrobe armoire f
    """),
    "furniture": nouns("bed lit m; tree arbre m; table table f; chair chaise f"),
    "openings": nouns("door porte f; window fenêtre f"),
    "goals": nouns("""
        market marché m; hospital hôpital m; hotel hôtel m; restaurant restaurant m; museum musée m
        station gare f; library bibliothèque f; beach plage f
    """),
    "dishes": nouns(
        "bread pain m; cheese fromage m; fish poisson m; rice riz m; soup soupe f; meat viande f", mass=True
    ),
    "snacks": nouns("""
        cake gâteau m; egg/eggs œuf/œufs m; cabbage chou m; melon melon m
        apple/apples pomme/pommes f; carrot carotte f; pear poire f; salad salade f
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
    "frais": "fraîche", "bas": "basse", "gentil": "gentille", "inquiet": "inquiète",
    "cher": "chère", "amer": "amère",
}  # fmt: skip


# the others are said of one alone: their plurals would be too rare to be learned
PLURALS = frozenset(["tired", "sick", "nervous", "worried", "sad", "young", "old"])


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
        plural=english in PLURALS,
    )


# english, french (in brackets: only by a noun; with a star: only after être), whom or what it can be said of
PROPERTIES = """
    tired     | fatigué*    | animals people
    sick      | malade*     | animals people
    weak      | faible*     | animals people
    lazy      | paresseux   | animals people
    nervous   | nerveux*    | animals people
    worried   | inquiet*    | animals people
    sad       | triste*     | animals people
    happy     | heureux*    | animals people
    strong    | fort*       | animals people
    slow      | lent*       | animals people
    young     | jeune       | animals people
    scared    | avoir peur  | animals people
    hungry    | avoir faim  | animals people
    thirsty   | avoir soif  | animals people
    cold      | avoir froid | animals people
    hot       | avoir chaud | animals
    greedy    | gourmand*   | animals people
    busy      | occupé*     | people
    kind      | gentil*     | people dog cat horse donkey mare cow
    old       | vieux       | animals people bridge wall tower castle house barn stable garage vehicles items \
                              containers furniture openings museum hotel
    dangerous | dangereux   | bear wolf panther street road river forest bridge tunnel mountain cliff volcano glacier
    wide      | large       | street road river square valley meadow avenue field lake stream desert swamp \
                              truck bus tractor van caravan lamp hat computer clock guitar statue table
    long      | long        | bridge tunnel truck bus caravan coat dress umbrella guitar letter book table
    dark      | sombre      | street road forest square valley park tunnel garden cave barn stable attic castle house
    slippery  | glissant    | street road bridge square avenue tunnel courtyard wall rock cliff glacier mountain hill \
                              cave
    muddy     | boueux      | street road field garden park meadow swamp square river lake stream tunnel forest hill \
                              cave courtyard
    deep      | profond     | river lake stream swamp valley forest cave drawer
    high      | haut*       | bridge mountain hill tower cliff wall rock volcano glacier truck bus caravan tractor \
                              chair table
    steep     | escarpé     | street road valley hill mountain cliff volcano glacier rock
    narrow    | étroit      | street tunnel garage courtyard cave stable attic drawer box suitcase bag wardrobe bed \
                              window door bridge garden road
    low       | bas*        | tunnel garage barn cave attic stable bed table
    small     | petit       | mouse ant frog hedgehog squirrel rabbit cat hen turtle dog garage courtyard barn house \
                              containers table chair key
    big       | grand       | horse cow bear giraffe mare vehicles -ambulance items -book -dress -coat market hospital \
                              hotel museum station library castle house forest tree
    full      | plein       | containers bus car truck
    empty     | vide        | containers bus beach
    heavy     | lourd       | containers statue lamp clock computer table
    fragile   | fragile     | bridge wall tower vase lamp clock statue violin guitar computer box basket chair
    expensive | cher        | vehicles items house hotel restaurant
    new       | (nouveau)   | vehicles items -computer containers house restaurant museum bridge table chair
    beautiful | beau        | horse cat mare antelope forest mountain valley garden park lake castle house beach \
                              square vase lamp statue dress clock flower guitar coat
    dirty     | sale        | vehicles coat dress bag table window street beach chair
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
    hard      | dur         | bread cheese cake carrot pear apple cabbage melon bed chair
    bitter    | amer        | coffee tea salad carrot cabbage apple
    sweet     | sucré       | cake apple pear melon coffee tea lemonade
    hot       | chaud       | soup rice coffee tea milk water
    cold      | froid       | soup coffee tea milk water lemonade
"""

# what can be said of them, but not beside them: une vieille fille is a spinster
APART = """
    old         | boy girl
    wide narrow | items containers
"""

FITS: dict[str, tuple[Adjective, ...]] = dict.fromkeys(NOUNS, ())  # noun -> what can be said of it
for word, mot, listed in rows(PROPERTIES):
    for noun in among(listed):
        FITS[noun.english] += (adjective(word, mot),)
SAID_APART = {(noun, word) for words, listed in rows(APART) for word in words.split() for noun in among(listed)}

# ----------------------------------------------------------------------------------------------------------- verbs

IMPARFAIT = {  # je, tu, il, nous, vous, ils; other verbs tell their past in the passé composé
    "être": ("étais", "étais", "était", "étions", "étiez", "étaient"),
    "avoir": ("avais", "avais", "avait", "avions", "aviez", "avaient"),
    "tenir": ("tenais", "tenais", "tenait", "tenions", "teniez", "tenaient"),
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
        verb("sleep", "slept", "dormir dors dors dort dormons dormez dorment dormi"),
    )
}

# what anyone does now; the others are told in the present of il and elle alone, so that no form is too rare to learn
DAILY = frozenset(VERBS[word] for word in ("have", "eat", "see", "love", "go", "work"))
