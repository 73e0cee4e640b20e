"""HTML: text, and the attributes that are read, translated; every other byte as it was.

Elements within a line (a, b, span …) are marks of the passage, br breaks it, any other element ends it. Script, style,
pre, and what says translate="no" or class="notranslate" are kept; so are code, kbd and their like, as words of the
sentence they stand in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

from regard.documents.atoms import Atom, Mark, Spelled, never_lost
from regard.documents.inline import Script, segments
from regard.documents.markup import TEXT, Token, atoms, html_tokens
from regard.documents.options import Options
from regard.documents.parts import Part, whole

EMPHASIS = frozenset(
    ["b", "big", "em", "font", "i", "mark", "s", "small", "span", "strike", "strong", "sub", "sup", "u"]
)
LINE = EMPHASIS | {"a", "abbr", "acronym", "bdi", "bdo", "cite", "data", "del", "dfn", "ins", "label", "q", "time"}
LINE |= {"img", "input", "wbr"}
WORDS = frozenset(["code", "kbd", "samp", "tt", "var", "math", "svg"])
KEPT = frozenset(["pre", "script", "style", "textarea", "xmp", "iframe"])
VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "link", "meta", "param", "source", "track", "img", "input", "wbr"]
)

READ = ("alt", "title", "placeholder", "aria-label")  # attributes
ATTRIBUTE = re.compile(r"""(\s([^\s"'<>/=]+)\s*=\s*)("[^"]*"|'[^']*'|[^\s"'=<>`]+)""")
BARE = re.compile(r"""[^\s"'=<>`]+""")  # may stand without quotation marks
VALUE = Script({**TEXT.escapes, '"': "&quot;", "'": "&#39;"})
LANG = re.compile(r"""(\slang\s*=\s*)("[^"]*"|'[^']*'|[^\s"'=<>`]+)""", re.IGNORECASE)


def parts(stream: TextIO, options: Options) -> Iterator[Part]:
    passage: list[Atom] = []
    tokens = html_tokens(stream)
    for token in tokens:
        if token.kind == "text":
            passage += atoms(token.raw)
        elif token.name == "br":
            passage.append(Spelled("\n", token.raw))
        elif token.name in WORDS or (token.name in LINE and kept(token)):
            passage.append(Mark(tuple(through(token, tokens)), "word"))
        elif token.name in LINE:
            passage.append(mark(token))
        elif token.kind == "other" and passage:
            passage.append(Mark((token.raw,), "point"))
        else:
            yield from segments(never_lost(passage, "a"), TEXT)
            yield from through(token, tokens) if kept(token) else tag(token, options.target)
            passage = []
    yield from segments(never_lost(passage, "a"), TEXT)


def kept(token: Token) -> bool:
    classes = (token.attributes.get("class") or "").split()
    return token.kind == "start" and (
        token.name in KEPT or token.attributes.get("translate") == "no" or "notranslate" in classes
    )


def through(token: Token, tokens: Iterator[Token]) -> Iterator[str]:
    """An element from its start to its end, as it stands."""
    name, depth = token.name, int(token.kind == "start" and token.name not in VOID and not token.raw.endswith("/>"))
    yield token.raw
    while depth and (inner := next(tokens, None)):
        depth += {"start": 1, "end": -1}.get(inner.kind, 0) if inner.name == name else 0
        yield inner.raw


def mark(token: Token) -> Mark:
    raw = tuple(tag(token))
    if token.name in VOID:
        return Mark(raw, "point" if token.name == "wbr" else "word")
    return Mark(raw, "close" if token.kind == "end" else "open", token.name, "" if token.name in EMPHASIS else None)


def tag(token: Token, language: str | None = None) -> Iterator[Part]:
    """A tag with the attributes that are read as parts of their own, and the language of the page set."""
    raw = token.raw
    if token.kind == "start" and token.name == "html" and language:
        raw = LANG.sub(rf'\1"{language}"', raw) if LANG.search(raw) else f'{raw[:5]} lang="{language}"{raw[5:]}'
    end = 0
    for found in ATTRIBUTE.finditer(raw) if token.kind == "start" else ():
        if found[2].lower() in READ:
            yield raw[end : found.start(3)]
            yield from value_parts(found[3])
            end = found.end()
    yield raw[end:]


def value_parts(value: str) -> Iterator[Part]:
    if value[0] in "\"'":
        yield value[0]
        yield from segments(atoms(value[1:-1]), VALUE)
        yield value[0]
    else:
        yield whole(segments(atoms(value), VALUE), lambda text: text if BARE.fullmatch(text) else f'"{text}"')
