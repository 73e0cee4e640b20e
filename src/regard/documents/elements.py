"""What TMX and XLIFF have in common: entries that are XML elements, and segments with inline codes, which are marks.

pairs    <g> <mrk> <hi> <pc>            text to translate is between their tags
opens    <bpt> <bx/> <sc/>              closed by <ept>, <ex/>, <ec/> of the same number; what is in them is code
words    <x/> <ph>, points <it> <cp/> …  any other, with all that is in it
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from regard.documents.atoms import Atom, Mark
from regard.documents.inline import segments
from regard.documents.markup import TEXT, Token, atoms
from regard.documents.parts import Part

PAIRS = frozenset(["g", "mrk", "hi", "pc"])
OPENED_BY = {"bpt": "bpt", "ept": "bpt", "bx": "bx", "ex": "bx", "sc": "sc", "ec": "sc"}
NUMBERS = ("i", "rid", "startRef", "id")  # attributes that tie two codes together
POINTS = frozenset(["it", "sm", "em", "cp", "ut"])


class Element(NamedTuple):
    """An element among tokens: those between its tags, and where its tags are."""

    tag: Token
    content: Sequence[Token]
    start: int
    end: int

    @property
    def empty(self) -> bool:
        return not any(token.name or token.raw.strip() for token in self.content)


def entries(tokens: Iterable[Token], names: Container[str]) -> Iterator[list[Token]]:
    """Tokens one by one, but the elements of these names whole."""
    tokens = iter(tokens)
    for token in tokens:
        yield through(token, tokens) if token.kind == "start" and token.name in names else [token]


def through(token: Token, tokens: Iterator[Token]) -> list[Token]:
    """An element from its start to its end."""
    element, depth = [token], 1
    while depth:
        element.append(inner := next(tokens))
        depth += {"start": 1, "end": -1}.get(inner.kind, 0)
    return element


def children(tokens: Sequence[Token]) -> Iterator[Element]:
    """The elements directly within the first, which the tokens are all of."""
    depth = start = 0
    for index, token in enumerate(tokens):
        if token.kind == "start":
            start = index if depth == 1 else start
            depth += 1
        elif token.kind == "end":
            depth -= 1
            if depth == 1:
                yield Element(tokens[start], tokens[start + 1 : index], start, index)


def raw(tokens: Iterable[Token]) -> str:
    return "".join(token.raw for token in tokens)


def blank_before(tokens: Sequence[Token], place: int) -> str:
    """The line break and indentation before a tag."""
    before = tokens[place - 1].raw
    return "" if before.strip() else before


def with_attribute(tag: str, name: str, value: str) -> str:
    """A start tag in which the attribute has that value."""
    found = re.search(rf"""(?<=\s){name}\s*=\s*("[^"]*"|'[^']*')""", tag)
    if found:
        return f'{tag[: found.start(1)]}"{value}"{tag[found.end(1) :]}'
    return re.sub(r"\s*/?>\Z", lambda end: f' {name}="{value}"{end[0]}', tag)


def content(tokens: Iterable[Token]) -> Iterator[Part]:
    """What is between the tags of a segment, to translate."""
    return segments(passage(iter(tokens)), TEXT)


def passage(tokens: Iterator[Token]) -> Iterator[Atom]:
    for token in tokens:
        if token.kind == "text":
            yield from atoms(token.raw)
        elif token.kind == "other":
            yield Mark((token.raw,), "point")
        elif token.name in PAIRS and not protected(token):
            yield Mark((token.raw,), "open" if token.kind == "start" else "close", token.name)
        else:
            yield code(token, raw(through(token, tokens)))


def protected(token: Token) -> bool:
    return token.attributes.get("translate") == "no" or token.attributes.get("mtype") == "protected"


def code(token: Token, text: str) -> Mark:
    opener = OPENED_BY.get(token.name)
    if opener is None:
        return Mark((text,), "point" if token.name in POINTS else "word")
    number = next((token.attributes[key] for key in NUMBERS if key in token.attributes), "")
    return Mark((text,), "open" if token.name == opener else "close", f"{opener} {number}")


def same_language(one: str | None, other: str | None) -> bool:
    """Whether two names are of one language, whatever the country: de, de-DE, DE_at."""
    return one is not None and other is not None and primary(one) == primary(other)


def primary(name: str) -> str:
    return name.replace("_", "-").partition("-")[0].lower()
