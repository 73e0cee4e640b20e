"""What is dropped from a corpus and why, counted per rule; in = kept + dropped, always.

    in the test set ─▶ empty ─▶ damaged ─▶ copied ─▶ too long ─▶ there before ─▶ wrong script ─▶ wrong length ─▶ kept

A pair is dropped by the first dropping rule that finds it; the other rules only tell, of what is kept. Two rules weigh
a pair against the rest of its corpus, whose measure moves when pairs go: they are asked again until they find no more,
so that cleaning what is clean drops nothing. The rules would rather miss a bad pair than blame a good one.
"""

from __future__ import annotations

import difflib
import html.entities
import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from regard.data.corpus import Pair, blank
from regard.errors import ConfigError
from regard.tokens.text import normalise

SIDES = ("source", "target")
FEW = 10  # with fewer pairs there is no telling what is usual in a corpus
LONG = 1000  # characters; a paragraph rather than a sentence
FACTOR = 3.0  # how much longer or shorter than usual a side may be, more where the corpus itself varies more
SLACK = 10  # characters that count as nothing, since short sentences vary most: "Why?", "Warum denn das?"
SPREADS = 6.0  # median deviations; about four standard deviations
COMMON = 0.1  # share of the lines of a side from which a second script is at home there

Found = Mapping[int, str]  # index of a pair → what was seen there


class Corpus:
    """Pairs to be judged, with what several rules ask about them; a test set that they should not hold."""

    def __init__(self, pairs: Sequence[Pair], test: Sequence[Pair] = ()):
        self.pairs = pairs
        self.test = test

    @cached_property
    def normalised(self) -> list[Pair]:
        """As the tokenizer will read them: pairs that are equal here are equal to the model."""
        return [Pair(normalise(pair.source), normalise(pair.target)) for pair in self.pairs]

    @cached_property
    def lengths(self) -> np.ndarray:
        """Characters of source and target, (N, 2)."""
        lengths = [(len(pair.source), len(pair.target)) for pair in self.normalised]
        return np.array(lengths, dtype=np.float64).reshape(-1, 2)

    @cached_property
    def scripts(self) -> list[tuple[str, str]]:
        """The script of most letters of source and target."""
        return [(script_of(pair.source), script_of(pair.target)) for pair in self.pairs]

    @cached_property
    def tested(self) -> tuple[dict[Pair, int], dict[str, int], dict[str, int]]:
        """The test set's pairs, sources and targets, but for case and white space, each with its line."""
        keys = [folded(Pair(normalise(pair.source), normalise(pair.target))) for pair in self.test]
        pairs, sources, targets = {}, {}, {}
        for line, pair in enumerate(keys, start=1):
            if pair.source and pair.target:
                pairs.setdefault(pair, line)
                sources.setdefault(pair.source, line)
                targets.setdefault(pair.target, line)
        return pairs, sources, targets

    def ratio(self, left: Sequence[int]) -> float:
        """How many times as long as its source a target is, in characters: the median of the pairs with text."""
        source, target = self.lengths[np.array(left, dtype=np.int64)].T
        full = (source > 0) & (target > 0)
        return float(np.median(target[full] / source[full])) if full.any() else 1.0

    def home(self, left: Sequence[int], side: int) -> tuple[str, ...]:
        """The scripts at home on a side, most common first: of most lines, and any that a good share of them is in."""
        lines = Counter(self.scripts[index][side] for index in left)
        del lines[""]
        enough = max(FEW / 2, COMMON * lines.total())
        return tuple(script for rank, (script, count) in enumerate(lines.most_common()) if rank == 0 or count >= enough)


def folded(pair: Pair) -> Pair:
    return Pair(pair.source.casefold(), pair.target.casefold())


# What a text is made of.


@cache
def script(character: str) -> str:
    """The script of a letter, read off its Unicode name; "" for what is no letter or belongs to none."""
    if not character.isalpha() or unicodedata.category(character) == "Lm":
        return ""
    name = unicodedata.name(character, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ").split(" ")[0]
    if name in {"", "MICRO", "FEMININE", "MASCULINE", "MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT", "BLACK-LETTER"}:
        return ""
    return {"CJK": "Han", "HIRAGANA": "Kana", "KATAKANA": "Kana"}.get(name, name.capitalize())


SYLLABIC = {"Han", "Kana", "Hangul"}  # a letter is a syllable or a word
UNSPACED = {"Han", "Kana", "Thai", "Lao", "Khmer", "Myanmar"}  # no spaces between words
A_LETTER = re.compile("[A-Za-z]")


def script_of(text: str) -> str:
    """The script of most of its letters; "" if it has none."""
    if text.isascii():
        return "Latin" if A_LETTER.search(text) else ""
    return max(letters, key=letters.__getitem__) if (letters := count_scripts(text)) else ""


def count_scripts(text: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for character, count in Counter(text).items():
        if name := script(character):
            counts[name] = counts.get(name, 0) + count
    return counts


PUNCTUATION = string.punctuation + "„“”‚‘’«»‹›¿¡…–—。、，！？「」『』·"
CODE = re.compile(r"[\d@/\\_=.:<>{}]")  # in a word of an address, a path, a formula


def is_sentence(text: str) -> bool:
    """Whether it reads like a sentence, and not like a name, a title, an address or a number.

    Three words, longer than a letter, that do not begin with a capital; or ten letters of a script without spaces.
    """
    words = (word.strip(PUNCTUATION) for word in text.split())
    plain = (word for word in words if len(word) > 1 and word[0].isalpha() and not word[0].isupper())
    if sum(not CODE.search(word) for word in plain) >= 3:
        return True
    return not text.isascii() and sum(count for name, count in count_scripts(text).items() if name in UNSPACED) >= 10


# What the rules look for in one text: the piece that was seen, "" where nothing is.

AS_1252 = [bytes([byte]).decode("cp1252", errors="ignore") or chr(byte) for byte in range(0x80, 0xC0)]
AFTER = re.escape("".join(AS_1252))  # UTF-8's later bytes, misread as Windows-1252
ENDINGS = "‘’“”‹›«»…–—·´¨\xa0"  # those that may well follow a word in capitals: AMANHÃ… CAFÉ»
SIGNS = "²³¹ºª°®™"  # those that may follow Å, the unit, or a brand
FIRM = re.escape("".join(set(AS_1252) - set(ENDINGS)))
FIRMER = re.escape("".join(set(AS_1252) - set(ENDINGS + SIGNS)))

ENCODING = re.compile(
    "\ufffd"  # the mark that a decoder leaves for what it could not read
    "|[\x80-\x9f]"  # C1 controls: Windows-1252 misread as Latin-1
    f"|[ÃÂ][{FIRM}]"  # Ã© for é
    f"|(?<![A-ZÀ-ÞĂĐ\"'«“‘„])Ã[{ENDINGS}]"  # Ã and a no-break space for à
    "|(?<![A-ZÀ-ÞĂĐ\"'«“‘„])Â[«»]|(?<![A-ZÀ-ÞĂĐ\"'«“‘„\\s])(?<=.)Â\xa0"
    f"|â€|â[{FIRM}][{AFTER}]|ðŸ[{AFTER}]"  # â€™ for ’, â‚¬ for €, and emoji
    f"|[ÄÅ][{FIRMER}]"  # Å¡ for š
    f"|(?:[\xc2-\xdf][{AFTER}]){{2,}}"  # Greek, Cyrillic, Hebrew, Arabic: two letters in a row
    f"|(?:[\xe0-\xef][{AFTER}]{{2}}){{2,}}"  # most of Asia
)
CONTROL = re.compile("[\0-\x08\n-\x1f\x7f\ufeff\ufff9-\ufffb\ufffe\uffff]+")
ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|([A-Za-z][A-Za-z0-9]{1,31}));")
MARKUP = re.compile(
    r"</?(?:a|abbr|b|big|blockquote|br|button|center|code|dd|div|dl|dt|em|font|form|g|h[1-6]|head|hr|html|i|iframe|img|"
    r"input|label|li|link|meta|ol|option|p|ph|pre|s|script|small|span|strike|strong|style|sub|sup|table|tbody|td|th|"
    r"thead|title|tr|tt|u|ul)(?:\s[^<>]*)?/?>|<!--|<!\[CDATA\[|\[/?(?:b|i|u|url|img|quote|code)\]",
    re.IGNORECASE,
)


def damage(text: str) -> str:
    return "" if text.isascii() else first(ENCODING, text)


def control(text: str) -> str:
    return "" if text.isprintable() else first(CONTROL, text)


def entity(text: str) -> str:
    if "&" not in text:
        return ""
    matches = (match for match in ENTITY.finditer(text) if match[1] is None or f"{match[1]};" in html.entities.html5)
    return next((match[0] for match in matches), "")


def markup(text: str) -> str:
    return first(MARKUP, text) if "<" in text or "[" in text else ""


def too_long(text: str) -> str:
    return f"{len(text):,} characters" if len(text) > LONG else ""


def first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[0] if match else ""


# How the rules find it in a corpus: `left` are the indices of the pairs that are still there.

Find = Callable[[Corpus, Sequence[int]], Found]


def in_either(see: Callable[[str], str]) -> Find:
    """A look at each side by itself."""

    def find(corpus: Corpus, left: Sequence[int]) -> Found:
        found = {}
        for index in left:
            for side, text in zip(SIDES, corpus.pairs[index], strict=True):
                if seen := see(text):
                    found[index] = f"{side}: {seen}"
                    break
        return found

    return find


def empty(corpus: Corpus, left: Sequence[int]) -> Found:
    def sides(pair: Pair) -> str:
        return " and ".join(side for side, text in zip(SIDES, pair, strict=True) if blank(text))

    return {index: f"no {which}" for index in left if (which := sides(corpus.pairs[index]))}


def copies(corpus: Corpus, left: Sequence[int]) -> Found:
    def copied(pair: Pair) -> bool:
        return pair.source.casefold() == pair.target.casefold() and is_sentence(pair.source)

    return {index: "" for index in left if copied(corpus.normalised[index])}


def duplicates(corpus: Corpus, left: Sequence[int]) -> Found:
    seen: dict[Pair, int] = {}
    firsts = ((index, seen.setdefault(corpus.normalised[index], index)) for index in left)
    return {index: f"as line {first + 1}" for index, first in firsts if first != index}


def near_duplicates(corpus: Corpus, left: Sequence[int]) -> Found:
    seen: dict[Pair, int] = {}
    firsts = ((index, seen.setdefault(folded(corpus.normalised[index]), index)) for index in left)
    return {
        index: f"as line {first + 1}" for index, first in firsts if corpus.normalised[first] != corpus.normalised[index]
    }


def many_targets(corpus: Corpus, left: Sequence[int]) -> Found:
    seen: dict[str, int] = {}
    firsts = ((index, seen.setdefault(corpus.normalised[index].source, index)) for index in left)
    return {
        index: f"line {first + 1} says: {corpus.pairs[first].target}"
        for index, first in firsts
        if corpus.normalised[first].target != corpus.normalised[index].target
    }


def wrong_script(corpus: Corpus, left: Sequence[int]) -> Found:
    """Lines in a script that is not at home on their side, unless they are a name, a symbol or a number."""
    found: dict[int, str] = {}
    if len(left) < FEW:
        return found
    for side in range(2):
        home = corpus.home(left, side)
        welcome = {"", *home} | ({"Han"} if {"Kana", "Hangul"} & set(home) else set())
        for index in left:
            name = corpus.scripts[index][side]
            if name not in welcome and wholly(name, corpus.pairs[index][side]):
                found.setdefault(index, f"{SIDES[side]}: {name} among {' and '.join(home)}")
    return found


def wholly(name: str, text: str) -> bool:
    """Whether a text is in a script by more than a symbol or, in Latin letters, a name."""
    letters = count_scripts(text)
    many, of = letters.get(name, 0), sum(letters.values())
    if many < (2 if name in SYLLABIC else 4) or many < 0.75 * of:
        return False
    return name != "Latin" or is_sentence(text)


def wrong_length(corpus: Corpus, left: Sequence[int]) -> Found:
    """Pairs of which one side is far too long for the other, as this corpus goes.

        off = |log (t + c) / (r s + c)|        r the median of t / s, c = SLACK √r
        limit = max(log FACTOR, SPREADS · median(off))

    s and t are the characters of source and target; the two sides may be exchanged.
    """
    full = np.array(left, dtype=np.int64)
    full = full[corpus.lengths[full].all(axis=1)]  # an empty side is another rule's
    if len(full) < FEW:
        return {}
    ratio = corpus.ratio(left)
    source, target = corpus.lengths[full].T
    slack = SLACK * math.sqrt(ratio)
    off = np.abs(np.log((target + slack) / (source * ratio + slack)))
    outside = full[off > max(math.log(FACTOR), SPREADS * float(np.median(off)))]
    return {int(index): "{:.0f} : {:.0f} characters".format(*corpus.lengths[index]) for index in outside}


def tested_pairs(corpus: Corpus, left: Sequence[int]) -> Found:
    pairs, _, _ = corpus.tested
    lines = ((index, pairs.get(folded(corpus.normalised[index]))) for index in left) if pairs else ()
    return {index: f"test line {line}" for index, line in lines if line}


def tested_sides(side: int) -> Find:
    def find(corpus: Corpus, left: Sequence[int]) -> Found:
        texts = corpus.tested[2] if side else corpus.tested[1]
        lines = ((index, texts.get(corpus.normalised[index][side].casefold())) for index in left) if texts else ()
        return {index: f"test line {line}" for index, line in lines if line}

    return find


@dataclass(frozen=True)
class Rule:
    """Something that may be wrong with a pair, and what to do about it."""

    name: str
    finds: str  # what the pairs are that it finds
    fix: str
    find: Find
    drops: bool = True  # unless other rules are chosen
    relative: bool = False  # weighs a pair against the rest of the corpus


RULES = (
    Rule(
        "test-pair",
        "are in the test set too",
        "drop them from training: a score on sentences that were learned says nothing",
        tested_pairs,
    ),
    Rule(
        "test-source",
        "have a source that the test set asks for, with another target",
        "drop them from training, or make the test set of sources that training does not hold",
        tested_sides(0),
    ),
    Rule(
        "empty",
        "have an empty side",
        "drop them; many in a row mean that the files are not aligned there",
        empty,
    ),
    Rule(
        "encoding",
        "hold text that was decoded wrongly once, such as Ã© for é",
        "convert the original again, naming its true encoding, as in iconv -f windows-1252 -t utf-8",
        in_either(damage),
    ),
    Rule(
        "control",
        "hold control characters",
        "drop them, or delete the characters: tr -d '\\000-\\010\\013-\\037\\177'",
        in_either(control),
    ),
    Rule(
        "copy",
        "have a sentence as its own translation",
        "drop them, or translate them: a model that learns to copy stops translating",
        copies,
    ),
    Rule(
        "long",
        f"have a side of more than {LONG:,} characters",
        "break them into sentences, one a line",
        in_either(too_long),
    ),
    Rule(
        "duplicate",
        "repeat an earlier pair",
        "drop them: they weigh more in training than they should, and leak into what is set aside",
        duplicates,
    ),
    Rule(
        "script",
        "are in another script than their side of the corpus",
        "drop them; many mean that languages are mixed, or source and target exchanged",
        wrong_script,
        relative=True,
    ),
    Rule(
        "length-ratio",
        f"have one side over {FACTOR:.0f} times too long for the other, as this corpus goes",
        "drop them; several close together mean that the files are out of step there",
        wrong_length,
        relative=True,
    ),
    Rule(
        "test-target",
        "have a target that the test set expects, for another source",
        "look at them: harmless for short sentences, a leak for long ones",
        tested_sides(1),
        drops=False,
    ),
    Rule(
        "near-duplicate",
        "repeat an earlier pair but for case",
        "keep them if case is to be learned, or add near-duplicate to --rules",
        near_duplicates,
        drops=False,
    ),
    Rule(
        "many-targets",
        "translate an earlier source in another way",
        "nothing, if each is right; one that is wrong stands out beside the other",
        many_targets,
        drops=False,
    ),
    Rule(
        "entity",
        "hold HTML entities",
        "decode them line by line, as Python's html.unescape does, unless they are meant",
        in_either(entity),
        drops=False,
    ),
    Rule(
        "markup",
        "hold markup",
        "take the tags out, unless the model is to learn them; they should then be on both sides",
        in_either(markup),
        drops=False,
    ),
)
DROPPING = tuple(rule.name for rule in RULES if rule.drops)
OF_TEST = tuple(rule.name for rule in RULES if rule.name.startswith("test-"))


@dataclass(frozen=True)
class Judgement:
    """The indices of the pairs that stay, and what each rule found; a dropped pair is found by one rule alone."""

    kept: Sequence[int]
    found: Mapping[str, Found]
    dropping: Collection[str]

    def dropped(self) -> Iterator[tuple[int, str]]:
        """Index and rule of each pair that goes, in the order of the corpus."""
        yield from sorted((index, name) for name in self.dropping for index in self.found[name])


def judge(corpus: Corpus, dropping: Collection[str] = DROPPING) -> Judgement:
    """Ask every rule; those named in `dropping` take away what they find."""
    known = [rule.name for rule in RULES]
    for name in dropping:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
            raise ConfigError(f"{name!r} is no rule; {hint}")
    found: dict[str, dict[int, str]] = {name: {} for name in known}
    left = list(range(len(corpus.pairs)))
    asked = [rule for rule in RULES if rule.name in dropping]
    while asked:
        before = len(left)
        for rule in asked:
            seen = rule.find(corpus, left)
            found[rule.name].update(seen)
            left = [index for index in left if index not in seen] if seen else left
        asked = [rule for rule in asked if rule.relative] if len(left) < before else []
    for rule in RULES:
        if rule.name not in dropping:
            found[rule.name].update(rule.find(corpus, left))
    return Judgement(left, found, [name for name in known if name in dropping])
