"""Inline Markdown as atoms: emphasis and links are pairs of marks; code, pictures and addresses are words.

The rules are CommonMark's (0.31, sections 2.4 and 6): delimiter runs that flank a word pair up by its algorithm, a link
is brackets and a destination or a label that is defined. Besides, as many dialects have them: ~~deletion~~, $math$,
footnotes and {{ templates }}. What opens nothing is text.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from regard.documents.atoms import Atom, Mark, Spelled, raws
from regard.documents.html import EMPHASIS, VOID
from regard.documents.inline import Script, segments
from regard.documents.parts import source

ESCAPES = {character: f"\\{character}" for character in "\\`*_~[]<"}
BARE = re.compile(
    r"""(
      (?<=[^\W_]) _ (?=[^\W_])  # within a word
    | (?<=\S[ ]) (?: \* (?=[ ]) | ~ (?=[^\W_]) | \[\[? [^][\\`*_~<]* \]\]? (?=[^][(:]) )  # none opens a line
    )""",
    re.VERBOSE,
)
AT_START = re.compile(r"(\d{1,9})(?=[.)](?:\s|\Z))|(?=[-+#>=~:|])")  # a list, a heading, a quotation …
WHITE, PUNCTUATION = "Z", "PS"  # classes of characters
DEEPEST = 200  # delimiters that wait for their other half

SPAN = re.compile(
    r"""
      (?P<escape>\\[!-/:-@\[-`{-~])
    | (?P<ticks>`+)
    | (?P<word><(?P<element>code|kbd|samp|var)\b[^<>]*>[^<]*</(?P=element)\s*>
        | <[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*> | <[^\s<>@]+@[^\s<>@]+>
        | \{\{[^{}]*\}\} | \{%[^{}]*%\} | \$(?=\S)[^$\n]*(?<=\S)\$(?!\d)
        | (?:https?://|www\.)[^\s<>()\[\]]*[^\s<>()\[\].,;:!?'"*_~])
    | (?P<point><!--(?:(?!-->|<!--).)*--> | \[\^[^\]\s]+\])
    | (?P<tag></?(?P<name>[a-zA-Z][a-zA-Z0-9-]*)(?:\s[^<>]*)?/?>)
    | (?P<bracket>!?\[) | (?P<close>\])
    | (?P<run>\*+|_+|~~)
    | (?P<entity>&(?:\#\d+|\#[xX][\da-fA-F]+|\w+);)
    """,
    re.VERBOSE | re.DOTALL,
)
TARGET = re.compile(
    r"""\(\s*(?:<[^<>\n]*>|(?:[^\s()\\<]|\\.|\((?:[^\s()\\]|\\.)*\))(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*)?
    (?:\s+(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\)))?\s*\)""",
    re.VERBOSE | re.DOTALL,
)
LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.)*)\]", re.DOTALL)


def at_start(text: str) -> str:
    """Text that does not open a list, a heading or the like where it opens a line."""
    return AT_START.sub(lambda found: f"{found[0]}\\", text, count=1) if AT_START.match(text) else text


LINE = Script(ESCAPES, bare=BARE)
PARAGRAPH = Script(ESCAPES, at_start, BARE)
CELL = Script({**ESCAPES, "|": "\\|"}, bare=BARE)


@dataclass(eq=False)
class Run:
    """A run of *, _ or ~~ that may open emphasis, close it, or be text."""

    character: str
    count: int
    opens: bool
    closes: bool
    size: int = 0
    opened: list[Mark] = field(default_factory=list)
    closed: list[Mark] = field(default_factory=list)

    def atoms(self) -> Iterator[Atom]:
        yield from self.closed
        yield from [Spelled(self.character, self.character)] * self.count
        yield from reversed(self.opened)  # the innermost was found first


@dataclass(eq=False)
class Bracket:
    """A [ or ![ that may open a link or a picture."""

    raw: str
    node: int  # its place among the nodes
    end: int  # and where the text after it begins
    active: bool = True


Node = Atom | Run | Bracket


class Spans:
    """The spans of a passage: its text, with lines joined by \n, and how each of the line breaks is written."""

    def __init__(self, text: str, breaks: Sequence[Spelled] = (), defined: Container[str] = (), script: Script = LINE):
        self.text, self.breaks, self.defined, self.script = text, breaks, defined, script
        self.newlines = [found.start() for found in re.finditer("\n", text)]
        self.ends = code_ends(text)
        self.nodes: list[Node] = []
        self.brackets: list[Bracket] = []  # those of the nodes that are open

    def atoms(self) -> list[Atom]:
        end = 0
        while found := SPAN.search(self.text, end):
            self.nodes += self.lines(end, found.start())
            end = self.take(found)
        return emphasised([*self.nodes, *self.lines(end, len(self.text))])

    def take(self, found: re.Match[str]) -> int:
        """Take a span in; gives where to go on."""
        start, end = found.span()
        if found["close"]:
            return self.close(start)
        if found["bracket"]:
            self.brackets.append(Bracket(found[0], len(self.nodes), end))
            self.nodes.append(self.brackets[-1])
        elif found["run"]:
            self.nodes.append(run(self.text, start, end))
        elif found["ticks"]:
            end = self.ends.get(start, end)
            self.nodes.append(Mark((self.raw(start, end),), "word") if end > found.end() else found[0])
        else:
            self.nodes.append(single(found, self.raw(start, end)))
        return end

    def close(self, place: int) -> int:
        """Take a ] in: with its [ and what follows it is a link, or a picture, or it is text."""
        bracket = self.brackets.pop() if self.brackets else None
        end, anew = self.destination(bracket.end, place) if bracket and bracket.active else (place, "")
        if bracket is None or end == place:
            self.nodes.append(Spelled("]", "]"))
            return place + 1
        start = bracket.node
        inside, close = emphasised(self.nodes[start + 1 :]), self.raw(place, end)
        if bracket.raw == "![":
            self.nodes[start:] = [Mark(("![", *segments(inside, self.script), close), "word")]
            return end
        opened = Mark(("[",), "open", "link", lost=f"[{source(raws(inside))}{close}")
        self.nodes[start:] = [opened, *inside, Mark((close,), "close", "link", anew=anew)]
        for outer in takewhile(lambda each: each.active, reversed(self.brackets)):
            outer.active = outer.raw == "!["  # no link is within a link
        return end

    def destination(self, start: int, place: int) -> tuple[int, str]:
        """Where the link ends whose ] is at a place, and how its end is written should the text in it change."""
        if found := TARGET.match(self.text, place + 1):
            return found.end(), ""
        found, own = LABEL.match(self.text, place + 1), self.text[start:place]
        if found and found[1].strip():
            return (found.end(), "") if normalised(found[1]) in self.defined else (place, "")
        if normalised(own) in self.defined:  # the text is the label
            return found.end() if found else place + 1, f"][{' '.join(own.split())}]"
        return place, ""

    def raw(self, start: int, end: int) -> str:
        """A stretch of the text as it stands in the document."""
        return source(raws(self.lines(start, end)))

    def lines(self, start: int, end: int) -> Iterator[Atom]:
        first = bisect(self.newlines, start - 1)
        for number, line in enumerate(self.text[start:end].split("\n")):
            if number:
                yield self.breaks[first + number - 1]
            yield line


def single(found: re.Match[str], raw: str) -> Atom:
    """What needs no other half to be understood."""
    name = (found["name"] or "").lower()
    if found["escape"]:
        return Spelled(raw[1], raw)
    if found["entity"]:
        meant = html.unescape(raw)
        return raw if meant == raw else Spelled(meant, raw)
    if name == "br":
        return Spelled("\n", raw)
    if found["word"] or name in VOID or raw.endswith("/>"):
        return Mark((raw,), "word")
    if found["point"]:
        return Mark((raw,), "point")
    return Mark((raw,), "close" if raw.startswith("</") else "open", name, "" if name in EMPHASIS else None)


def code_ends(text: str) -> dict[int, int]:
    """Where a code span ends that begins at a run of `: after the next run of as many."""
    last: dict[int, int] = {}
    ends: dict[int, int] = {}
    for found in reversed(list(re.finditer("`+", text))):
        size = len(found[0])
        if size in last:
            ends[found.start()] = last[size]
        last[size] = found.end()
    return ends


def normalised(label: str) -> str:
    return " ".join(label.split()).casefold()


def literal(bracket: Bracket) -> Atom:
    return Spelled("[", "[") if bracket.raw == "[" else Spelled("![", "![")


def run(text: str, start: int, end: int) -> Run:
    """Whether it may open and close depends on what is around it (CommonMark 6.2, left- and right-flanking)."""
    before, after = kind(text[start - 1 : start]), kind(text[end : end + 1])
    left = after not in WHITE and (after not in PUNCTUATION or before in WHITE + PUNCTUATION)
    right = before not in WHITE and (before not in PUNCTUATION or after in WHITE + PUNCTUATION)
    size = end - start
    if text[start] == "_":  # within a word it is text
        left, right = left and (not right or before in PUNCTUATION), right and (not left or after in PUNCTUATION)
    return Run(text[start], size, left, right, size)


def kind(character: str) -> str:
    return "Z" if not character or character.isspace() else unicodedata.category(character)[0]


def emphasised(nodes: Sequence[Node]) -> list[Atom]:
    """Nodes as atoms: delimiter runs paired by CommonMark's algorithm, brackets that opened nothing as text."""
    waiting: list[Run] = []
    for node in nodes:
        if not isinstance(node, Run):
            continue
        while node.count and node.closes and (opener := opener_of(node, waiting)):
            size = node.count if node.character == "~" else min(2, node.count, opener.count)
            marks = opener.character * size
            opener.opened.append(Mark((marks,), "open", marks, lost=""))
            node.closed.append(Mark((marks,), "close", marks))
            opener.count, node.count = opener.count - size, node.count - size
            del waiting[waiting.index(opener) + bool(opener.count) :]
        if node.count and node.opens:
            waiting.append(node)
    done: list[Atom] = []
    for node in nodes:
        done += node.atoms() if isinstance(node, Run) else [literal(node) if isinstance(node, Bracket) else node]
    return done


def opener_of(closer: Run, waiting: Sequence[Run]) -> Run | None:
    for opener in reversed(waiting[-DEEPEST:]):
        odd = (opener.closes or closer.opens) and (opener.size + closer.size) % 3 == 0 and opener.size % 3
        if opener.character == closer.character and not odd:
            return opener
    return None
