"""HTML: text, and the attributes that are read, translated; every other byte as it was.

Elements within a line (a, b, span …) are marks of the passage, br breaks it, any other element ends it. Script, style,
pre, and what says translate="no" or class="notranslate" are kept; so are code, kbd and their like, as words of the
sentence they stand in. What is kept ends where HTML has it end, with its end tag or without (WHATWG, 13.1.2.4).
"""

from __future__ import annotations

import re
from collections import Counter
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

# Elements whose end tag may be left out, by the start tags before which they end; within a holder such begin anew.
BLOCKS = frozenset(["address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "div", "dl"])
BLOCKS |= {"fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup"}
BLOCKS |= {"hr", "main", "menu", "nav", "ol", "p", "pre", "search", "section", "summary", "table", "ul"}
TERMS, RUBY = frozenset(["dt", "dd"]), frozenset(["rt", "rp"])
SECTIONS = frozenset(["thead", "tbody", "tfoot"])
ROWS = SECTIONS | {"tr"}
CELLS = ROWS | {"td", "th"}
CLOSED_BY = {
    "p": BLOCKS | CELLS | TERMS | {"li", "caption"},
    "li": frozenset(["li"]),
    "option": frozenset(["option", "optgroup", "hr"]),
    "optgroup": frozenset(["optgroup", "hr"]),
    "head": frozenset(["body"]),
    **dict.fromkeys(TERMS, TERMS),
    **dict.fromkeys(RUBY, RUBY),
    **dict.fromkeys(["td", "th", "caption"], CELLS),
    **dict.fromkeys(SECTIONS, SECTIONS),
    "tr": ROWS,
}
HOLDERS = ("ul", "ol", "menu", "dir", "dl", "table", "ruby", "select", "datalist")
HOLDERS += ("button", "object", "template", "svg", "math")

READ = ("alt", "title", "placeholder", "aria-label")  # attributes
ATTRIBUTE = re.compile(r"""(\s([^\s"'<>/=]+)\s*=\s*)("[^"]*"|'[^']*'|[^\s"'=<>`]+)""")
BARE = re.compile(r"""[^\s"'=<>`]+""")  # may stand without quotation marks
VALUE = Script({**TEXT.escapes, '"': "&quot;", "'": "&#39;"})
LANG = re.compile(r"""(\slang\s*=\s*)("[^"]*"|'[^']*'|[^\s"'=<>`]+)""", re.IGNORECASE)


def parts(stream: TextIO, options: Options) -> Iterator[Part]:
    passage: list[Atom] = []
    page = Page(html_tokens(stream))
    while token := page.next():
        if token.kind == "text":
            passage += atoms(token.raw)
        elif token.name == "br":
            passage.append(Spelled("\n", token.raw))
        elif token.name in WORDS or (token.name in LINE and kept(token)):
            passage.append(Mark(tuple(page.through(token)), "word"))
        elif token.name in LINE:
            passage.append(mark(token))
        elif token.kind == "other" and passage:
            passage.append(Mark((token.raw,), "point"))
        else:
            yield from segments(never_lost(passage, "a"), TEXT)
            yield from page.through(token) if kept(token) else tag(token, options.target)
            passage = []
    yield from segments(never_lost(passage, "a"), TEXT)


def kept(token: Token) -> bool:
    classes = (token.attributes.get("class") or "").split()
    return token.kind == "start" and (
        token.name in KEPT or token.attributes.get("translate") == "no" or "notranslate" in classes
    )


class Page:
    """Tokens of a page one by one, and how many elements of each name are open."""

    def __init__(self, tokens: Iterator[Token]):
        self.tokens = tokens
        self.unread: list[Token] = []
        self.open: Counter[str] = Counter()

    def next(self) -> Token | None:
        token = self.unread.pop() if self.unread else next(self.tokens, None)
        if token:
            nest(self.open, token)
        return token

    def through(self, token: Token) -> Iterator[str]:
        """An element from its start to its end, as it stands."""
        yield token.raw
        inside: Counter[str] = Counter()  # with the element itself
        nest(inside, token)
        self.open -= inside
        while inside[token.name] and (inner := next(self.tokens, None)):
            if self.closes(inner, token.name, inside):
                self.unread.append(inner)
                return
            nest(inside, inner)
            yield inner.raw

    def closes(self, token: Token, name: str, inside: Counter[str]) -> bool:
        """Whether an element of this name ends before a token that is not its end tag."""
        if name not in CLOSED_BY or any(inside[holder] for holder in HOLDERS):
            return False
        if token.kind == "start":
            return token.name in CLOSED_BY[name]
        return token.kind == "end" and bool(self.open[token.name]) and not inside[token.name]


def nest(names: Counter[str], token: Token) -> None:
    """Count an element as open, or as closed."""
    if token.kind == "end":
        names[token.name] = max(0, names[token.name] - 1)
    elif token.kind == "start" and token.name not in VOID and not token.raw.endswith("/>"):
        names[token.name] += 1


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
