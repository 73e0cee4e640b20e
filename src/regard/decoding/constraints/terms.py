"""What a text demands of its translation: terms of a glossary, and spans that come out as they went in.

glossary = Glossary.read(Path("glossary.tsv"))                  on each line: dog, tab, Köter
spans("Hi {name}, the <b>dog</b> is here", glossary)

Five kinds of span are told apart. A **term** becomes another term. A **literal** stays as it is and stands for a word:
a placeholder, an address, whatever the user's own patterns find. An **opening** and a **closing** tag hold something
between them. A **mark** stands between words and is none: a tag without a partner, an entity.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path
from typing import Literal

from regard.data.corpus import read_lines
from regard.errors import ConfigError, DataError
from regard.tokens.text import normalise

Kind = Literal["term", "literal", "opening", "closing", "mark"]

TAG = re.compile(r"<!--.*?-->|<(?P<closing>/)?(?P<name>[A-Za-z][\w:.-]*)(?:\s[^<>]*?)?(?P<alone>/)?>")
LITERALS = [
    re.compile(r"(?:https?://|ftp://|www\.)[^\s<>\"]*[^\s<>\"'’”».,;:!?)\]]"),
    re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    re.compile(r"\{\{[^{}]*\}\}|\$?\{[^{}\s]*\}"),  # {{ name }}, ${name}, {name}, {0}, {count:,}, {}
    re.compile(r"%\([^()\s]+\)[-+0#]*\d*(?:\.\d+)?[a-zA-Z]"),  # %(count)d
    re.compile(r"(?<!\d)%(?:\d+\$)?[-+0#]*\d*(?:\.\d+)?(?:hh?|ll?)?[diouxXeEfFgGcs@%]"),  # %s, %1$s, %-5.2f; not 50%
]
ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]+|#[0-9]+|#[xX][0-9A-Fa-f]+);")
UNSPACED = "CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"  # scripts without spaces between words


@dataclass(frozen=True)
class Span:
    """text[start:end] of a source, and what is wanted in its place, any one of these."""

    start: int
    end: int
    kind: Kind
    wanted: tuple[str, ...]


@dataclass(frozen=True)
class Glossary:
    """Source terms and the target terms that any one of them may become.

    Terms are found as whole words, the longest first. One in lower case is also found with a capital, as at the start
    of a sentence; others are found as they are written.
    """

    terms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Glossary:
        """From a file with source term, tab, target term on each line; an empty target is the source term itself."""
        terms: dict[str, list[str]] = defaultdict(list)
        for number, line in enumerate(read_lines(path), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            columns = [normalise(column) for column in line.split("\t")]
            if len(columns) < 2:
                raise DataError(
                    f"{path}, line {number}: there is no tab: write source term, tab, target term on each line"
                )
            source, target = columns[0], columns[1] or columns[0]
            if not source:
                raise DataError(
                    f"{path}, line {number}: nothing is before the tab: write a source term, or # before the line"
                )
            if target not in terms[source]:
                terms[source].append(target)
        return cls({source: tuple(targets) for source, targets in terms.items()})

    @cached_property
    def longest(self) -> int:
        return max((len(units(term)) for term in self.terms), default=0)

    def find(self, text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Where terms stand in a text, and what each may become."""
        words, at = units(text), 0
        while at < len(words):
            for end in range(min(at + self.longest, len(words)), at, -1):
                start, stop = words[at][0], words[end - 1][1]
                if targets := self.targets(text[start:stop]):
                    yield start, stop, targets
                    at = end - 1
                    break
            at += 1

    def targets(self, found: str) -> tuple[str, ...]:
        term = normalise(found)
        lower = term[:1].lower() + term[1:]
        return self.terms.get(term) or (self.terms.get(lower, ()) if lower == lower.lower() else ())


def capitalised(term: str) -> str:
    """A term in lower case as it would open a sentence; any other as it is."""
    return term[:1].upper() + term[1:] if term == term.lower() else term


def units(text: str) -> list[tuple[int, int]]:
    """Where the words of a text begin and end; every other sign, and one of a script without spaces, is its own."""
    runs = groupby(range(len(text)), key=lambda at: -1 if wordlike(text[at]) else at)
    found = [(run[0], run[-1] + 1) for run in (list(each) for _, each in runs)]
    return [(start, end) for start, end in found if not text[start].isspace()]


def wordlike(character: str) -> bool:
    """A letter, a digit, or what is set upon one, of a script that has spaces between its words."""
    if character.isascii():
        return character.isalnum() or character == "_"
    return unicodedata.category(character)[0] in "LMN" and not unicodedata.name(character, "").startswith(UNSPACED)


def patterns(expressions: Sequence[str]) -> list[re.Pattern[str]]:
    """The user's regular expressions for what stays as it is; where one has a group, the group alone stays."""
    compiled: list[re.Pattern[str]] = []
    for expression in expressions:
        try:
            compiled.append(re.compile(expression))
        except re.error as error:
            raise ConfigError(
                f"{expression!r} is not a regular expression: {error}; put \\ before signs that stand for themselves"
            ) from None
    return compiled


def staying(match: re.Match[str]) -> str:
    """What stays of a match: the first group that took part in it, or else all of it."""
    return next((group for group in match.groups() if group is not None), match[0])


def spans(text: str, glossary: Glossary | None = None, keep: Sequence[re.Pattern[str]] = ()) -> list[Span]:
    """What a text demands, from left to right; each kind is looked for in what those before it have left."""
    found: list[Span] = []

    def gaps() -> list[tuple[int, int]]:
        taken = sorted((span.start, span.end) for span in found)
        return list(pairwise([0, *(at for each in taken for at in each), len(text)]))[::2]

    def look(pattern: re.Pattern[str]) -> list[re.Match[str]]:
        matches = (match for start, end in gaps() for match in pattern.finditer(text, start, end))
        return [match for match in matches if match.end() > match.start()]

    for pattern in keep:
        found += [Span(*match.span(), "literal", (staying(match),)) for match in look(pattern)]
    found += paired(look(TAG))
    for pattern in LITERALS:
        found += [Span(*match.span(), "literal", (match[0],)) for match in look(pattern)]
    found += [Span(*match.span(), "mark", (match[0],)) for match in look(ENTITY)]
    if glossary is not None:
        for start, end in gaps():
            for at, stop, wanted in glossary.find(text[start:end]):
                found.append(
                    Span(
                        start + at,
                        start + stop,
                        "literal" if wanted == (text[start + at : start + stop],) else "term",
                        wanted,
                    )
                )
    return sorted(found, key=lambda span: span.start)


def paired(tags: Sequence[re.Match[str]]) -> list[Span]:
    """Tags in their order: those that enclose something as opening and closing, never crossing, the others as marks."""
    found = [Span(*tag.span(), "mark", (tag[0],)) for tag in tags]
    waiting: list[int] = []
    for index, tag in enumerate(tags):
        names = [tags[each]["name"] for each in waiting]
        if tag["name"] and not tag["alone"] and not tag["closing"]:
            waiting.append(index)
        elif tag["closing"] and tag["name"] in names:
            opened = len(names) - 1 - names[::-1].index(tag["name"])
            found[waiting[opened]] = replace(found[waiting[opened]], kind="opening")
            found[index] = replace(found[index], kind="closing")
            del waiting[opened:]
    return found


def unmet(demanded: Sequence[Span], text: str) -> tuple[str, ...]:
    """What a translation lacks of what was demanded, in words."""
    lacking: list[str] = []
    for span in dict.fromkeys(replace(span, start=0, end=0) for span in demanded):
        wanted = sum(each.kind == span.kind and each.wanted == span.wanted for each in demanded)
        if span.kind == "term":
            count = len(list(Glossary(dict.fromkeys(span.wanted, span.wanted)).find(text)))
        else:
            count = text.count(span.wanted[0])
        if count < wanted:
            times = "" if wanted == 1 else f" ({count} of {wanted})"
            lacking.append(" or ".join(span.wanted) + times)
    return tuple(lacking)
