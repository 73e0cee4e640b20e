"""Markdown, block by block: prose, headings, lists, quotations and tables are translated, all else stays as it is.

The scanner reads line by line and keeps every character: what opens a block (>, -, 1., #) is kept, the lines of a
paragraph are one passage. Fenced and indented code, HTML, front matter, definitions of links and lines of --- are kept.
It follows CommonMark 0.31 (sections 4 and 5) and GitHub's tables.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple, TextIO

from regard.documents.atoms import Spelled, never_lost
from regard.documents.inline import Script, segments
from regard.documents.options import Options
from regard.documents.parts import Part
from regard.documents.spans import CELL, LINE, PARAGRAPH, Spans, normalised

QUOTE = re.compile(r"(?:[ \t]{0,3}> ?)*")
MARKER = re.compile(r"[ \t]*(?:[-+*]|(?P<number>\d{1,9})[.)]|(?P<quote>>))(?=[ \t]|\Z)")
TASK = re.compile(r"[ \t]+\[[ xX]\](?=[ \t])")
NOTE = re.compile(r"\[\^[^\]\s]+\]:[ \t]*")
RULE = re.compile(r"[ \t]*([-*_=])(?:[ \t]*\1)*[ \t]*\Z")
KEPT = re.compile(r":{3,}|\[![A-Za-z]+\][+-]?[ \t]*\Z|%%|\{%[^{}]*%\}\s*\Z")  # lines of directives and callouts
FENCE = re.compile(r"`{3,}(?=[^`]*\Z)|~{3,}|\$\$(?=[^$]*\Z)")
HEADING = re.compile(r"(#{1,6}(?:[ \t]+|\Z))(.*?)((?:[ \t]+#+)?(?:[ \t]*\{[#.:][^{}]*\})?[ \t]*)\Z")
DEFINITION = re.compile(r"""\[(?!\^)((?:[^\[\]\\]|\\.)+)\]:[ \t]*(?:<[^<>]*>|\S+)(?:[ \t]+["'(].*)?\s*\Z""")
TITLE = re.compile(r"""[ \t>]*(?:"[^"]*"|'[^']*'|\([^()]*\))\s*\Z""")
DELIMITERS = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\Z")
PIPE = re.compile(r"(?<!\\)(\|)")
HARD = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")  # a backslash that ends a line
FRONT = {"---": ("---", "..."), "+++": ("+++",)}
LONGEST_FRONT = 1000  # lines
CODE = 4  # columns of indentation that make code

# HTML blocks (CommonMark 4.6): what opens one, and what its last line holds; "" is a blank line.
BLOCKS = (
    "address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link "
    "main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th thead "
    "title tr track ul"
).replace(" ", "|")
HTML = [
    (r"<(?:script|pre|style|textarea)(?:[\s>]|\Z)", r"</(?:script|pre|style|textarea)>"),
    (r"<!--", r"-->"),
    (r"<\?", r"\?>"),
    (r"<!\[CDATA\[", r"\]\]>"),
    (r"<![A-Za-z]", r">"),
    (rf"</?(?:{BLOCKS})(?:\s|/?>|\Z)", r"\A\s*\Z"),
    (r"</?[a-zA-Z][a-zA-Z0-9-]*(?:\s[^<>]*)?/?>[ \t]*\Z", r"\A\s*\Z"),  # the last may not interrupt a paragraph
]
HTML_BLOCKS = [(re.compile(start, re.IGNORECASE), re.compile(end, re.IGNORECASE)) for start, end in HTML]


def parts(stream: TextIO, options: Options) -> Iterator[Part]:
    start = stream.tell()
    found = (DEFINITION.match(line.lstrip(" \t>")) for line in stream)
    defined = {normalised(each[1]) for each in found if each}
    stream.seek(start)
    return Blocks(stream, defined).parts()


class Line(NamedTuple):
    """A line of a paragraph: what its blocks put before the text, the text, and its end."""

    prefix: str
    text: str
    end: str


class Blocks:
    """The blocks of a document. Open are a paragraph, so many quotations, list items (where their text begins)."""

    def __init__(self, stream: TextIO, defined: Container[str]):
        self.stream = stream
        self.defined = defined
        self.unread: list[str] = []
        self.paragraph: list[Line] = []
        self.depth = 0
        self.items: list[int] = []

    def parts(self) -> Iterator[Part]:
        yield from self.front_matter()
        while line := self.next():
            yield from self.block(line)
        yield from self.flushed()

    def next(self) -> str:
        return self.unread.pop() if self.unread else self.stream.readline()

    def front_matter(self) -> Iterator[str]:
        lines = [self.next()]
        ends = FRONT.get(lines[0].rstrip(), ())
        while ends and lines[-1] and len(lines) < LONGEST_FRONT:
            lines.append(self.next())
            if lines[-1].rstrip() in ends:
                yield "".join(lines)
                return
        self.unread = lines[::-1]

    def block(self, line: str) -> Iterator[Part]:
        text = line.rstrip("\r\n")
        quote = QUOTE.match(text)[0]  # type: ignore[index]
        rest, depth = text[len(quote) :], quote.count(">")
        if depth > self.depth or (depth < self.depth and not self.paragraph):
            yield from self.flushed()
            self.depth, self.items = depth, []
        if not rest.strip() or RULE.match(rest):
            yield from self.flushed()
            yield line
            return
        indent = columns(rest)
        if not self.paragraph:
            self.leave_items(indent)
            if indent - (self.items[-1] if self.items else 0) >= CODE:
                yield line
                return
        opened = self.opened(rest, indent)
        if opened:
            yield from self.flushed()
        body = rest[opened:].lstrip(" \t")
        prefix = text[: len(text) - len(body)]
        yield from self.leaf(Line(prefix, body, line[len(text) :]))

    def leave_items(self, indent: int) -> None:
        while self.items and indent < self.items[-1]:
            self.items.pop()

    def opened(self, rest: str, indent: int) -> int:
        """How many characters open list items, and quotations in them."""
        end = 0
        while found := MARKER.match(rest, end):
            counts_up = found["number"] not in (None, "1")
            if self.paragraph and not end and counts_up and not (self.items and indent < self.items[-1]):
                break  # such a number in a paragraph is text
            if not end:
                self.leave_items(indent)
            end = found.end()
            if not found["quote"]:
                self.items.append(columns(rest[end:]) + len(rest[:end].expandtabs(4)))
        task = TASK.match(rest, end) if end else None
        return task.end() if task else end

    def leaf(self, line: Line) -> Iterator[Part]:
        """A line whose containers are dealt with: a block that ends with it, or begins, or goes on."""
        raw, body = "".join(line), line.text
        lone = len(HTML_BLOCKS) - bool(self.paragraph)
        html_end = next((end for start, end in HTML_BLOCKS[:lone] if start.match(body)), None)
        if fence := FENCE.match(body):
            yield from self.flushed()
            yield raw
            yield from self.until(re.compile(rf"[ \t>]*{re.escape(fence[0][0])}{{{len(fence[0])},}}[ \t]*\Z"))
        elif html_end:
            yield from self.flushed()
            yield raw
            if not html_end.search(body):
                yield from self.until(html_end)
        elif heading := HEADING.match(body):
            yield from self.flushed()
            yield line.prefix + heading[1]
            yield from self.prose(heading[2], (), LINE)
            yield heading[3] + line.end
        elif KEPT.match(body):
            yield from self.flushed()
            yield raw
        elif DEFINITION.match(body):
            yield from self.flushed()
            yield raw
            following = self.next()
            self.unread.append(following)
            if TITLE.match(following):
                yield self.next()
        elif "|" in body and self.heads_a_table(body):
            yield from self.flushed()
            yield from self.table(line)
        else:
            if note := NOTE.match(body):
                yield from self.flushed()
                line = Line(line.prefix + note[0], body[note.end() :], line.end)
            self.paragraph.append(line)

    def until(self, end: re.Pattern[str]) -> Iterator[str]:
        """Lines as they stand, up to the one in which the end is found, or the end of a quotation they are in."""
        while line := self.next():
            quote = QUOTE.match(line)[0]  # type: ignore[index]
            if quote.count(">") < self.depth:
                self.unread.append(line)
                return
            yield line
            if end.search(line[len(quote) :].rstrip("\r\n")):
                return

    def heads_a_table(self, body: str) -> bool:
        following = self.next()
        self.unread.append(following)
        delimiters = following.lstrip(" \t>").rstrip()
        return bool(DELIMITERS.match(delimiters)) and len(cells(delimiters)) == len(cells(body))

    def table(self, head: Line) -> Iterator[Part]:
        yield from self.row(head)
        yield self.next()
        while line := self.next():
            text = line.rstrip("\r\n")
            body = text.lstrip(" \t>")
            if "|" not in body or text[: len(text) - len(body)].count(">") != self.depth:
                self.unread.append(line)
                return
            yield from self.row(Line(text[: len(text) - len(body)], body, line[len(text) :]))

    def row(self, line: Line) -> Iterator[Part]:
        yield line.prefix
        for cell in PIPE.split(line.text):
            yield from [cell] if cell == "|" else self.prose(cell, (), CELL)
        yield line.end

    def flushed(self) -> Iterator[Part]:
        """The paragraph that is open, which ends here."""
        lines, self.paragraph = self.paragraph, []
        if not lines:
            return
        texts = [line.text.rstrip(" \t") for line in lines]
        tails = [line.text[len(text) :] + line.end for line, text in zip(lines, texts, strict=True)]
        breaks: list[Spelled] = []
        for index, following in enumerate(lines[1:]):
            slash = "\\" if HARD.search(texts[index]) and texts[index] == lines[index].text else ""
            texts[index] = texts[index].removesuffix(slash)
            hard = slash or tails[index].startswith("  ")
            breaks.append(Spelled("\n" if hard else " ", slash + tails[index] + following.prefix))
        yield lines[0].prefix
        yield from self.prose("\n".join(texts), breaks, PARAGRAPH)
        yield tails[-1]

    def prose(self, text: str, breaks: Sequence[Spelled], script: Script) -> Iterator[Part]:
        return segments(never_lost(Spans(text, breaks, self.defined, script).atoms(), "a"), script)


def columns(text: str) -> int:
    """How far a text is indented."""
    return len(text[: len(text) - len(text.lstrip(" \t"))].expandtabs(4))


def cells(row: str) -> list[str]:
    return PIPE.split(row.strip().removeprefix("|").removesuffix("|"))
