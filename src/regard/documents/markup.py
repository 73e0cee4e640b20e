"""Markup as tokens that miss no character: what HTML and the XML formats are read as.

A token is a tag, some text or anything else (a comment, a declaration), with `raw`, how it stands in the file; all raws
together are the file. The standard library's parsers say where a token begins, and there the last one ends.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from typing import Literal, TextIO
from xml.parsers import expat

from regard.documents.atoms import Atom, Spelled
from regard.documents.inline import Script
from regard.errors import DataError
from regard.extras import needed

CHUNK = 1 << 17  # characters read at a time
TEXT = Script({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
SPELLED = re.compile(r"(&(?:#[xX][\da-fA-F]+|#\d+|\w+);?|[^\S\n]*\n\s*)")  # a reference; or a line break, for a space
CDATA, CDATA_END = "<![CDATA[", "]]>"


@dataclass
class Token:
    kind: Literal["start", "end", "text", "other"]
    name: str = ""  # of an element, without its namespace
    attributes: Mapping[str, str | None] = field(default_factory=dict)
    raw: str = ""


def atoms(raw: str) -> Iterator[Atom]:
    """Text as it is read, references resolved and lines joined."""
    if raw.startswith(CDATA):
        raw = html.escape(raw.removeprefix(CDATA).removesuffix(CDATA_END), quote=False)
    for index, piece in enumerate(SPELLED.split(raw)):
        meant = " " if "\n" in piece else html.unescape(piece)
        yield Spelled(meant, piece) if index % 2 and meant != piece else piece


class HTMLTokens(HTMLParser):
    """Tokens of HTML, which is fed in pieces: `done` has those that are whole, `token` is the one that is open."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.text, self.base = "", 0  # what is not in `done`, and its place in the file
        self.lines, self.number = [0], 1  # where lines begin in the file, and the number of the first of them
        self.token, self.begin = Token("other"), 0
        self.done: list[Token] = []

    def taken(self, chunk: str) -> list[Token]:
        """The tokens that are whole once this is read as well."""
        end = self.base + len(self.text)
        self.lines += [end + found.end() for found in re.finditer("\n", chunk)]
        self.text += chunk
        self.feed(chunk)
        return self.drained()

    def rest(self) -> list[Token]:
        self.close()
        self.finish(self.base + len(self.text))
        return self.drained()

    def drained(self) -> list[Token]:
        self.text, self.base = self.text[self.begin - self.base :], self.begin
        number = self.getpos()[0]
        del self.lines[: number - self.number]
        self.number = number
        done, self.done = self.done, []
        return done

    def add(self, token: Token) -> None:
        number, column = self.getpos()
        self.finish(self.lines[number - self.number] + column)
        self.token = token

    def finish(self, end: int) -> None:
        self.token.raw = self.text[self.begin - self.base : end - self.base]
        self.begin = end
        if self.token.raw:
            self.done.append(self.token)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.add(Token("start", tag, dict(attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self.add(Token("end", tag))

    def handle_data(self, data: str) -> None:
        if self.token.kind != "text":
            self.add(Token("text"))

    def handle_comment(self, data: str) -> None:
        self.add(Token("other"))

    def handle_decl(self, decl: str) -> None:
        self.add(Token("other"))

    def handle_pi(self, data: str) -> None:
        self.add(Token("other"))

    def unknown_decl(self, data: str) -> None:
        self.add(Token("other"))


def html_tokens(stream: TextIO) -> Iterator[Token]:
    parser = HTMLTokens()
    while chunk := stream.read(CHUNK):
        yield from parser.taken(chunk)
    yield from parser.rest()


def xml_tokens(stream: TextIO) -> Iterator[Token]:
    """Tokens of XML; a file that is not well-formed, or that declares entities, is refused before the first."""
    content = stream.read().encode()
    refuse_unsafe(content, stream.name)
    parser = expat.ParserCreate("utf-8", namespace_separator="}")
    begun = [(0, Token("other"))]
    in_cdata = False

    def add(token: Token) -> None:
        if not in_cdata:
            begun.append((parser.CurrentByteIndex, token))

    def text(_: str) -> None:
        if begun[-1][1].kind != "text" or content.startswith(CDATA.encode(), begun[-1][0]):
            add(Token("text"))  # else it goes on: references and line ends come singly

    def cdata(begins: bool) -> None:
        nonlocal in_cdata
        if begins:
            add(Token("text"))
        in_cdata = begins

    parser.StartElementHandler = lambda name, given: add(
        Token("start", local(name), {local(key): value for key, value in given.items()})
    )
    parser.EndElementHandler = lambda name: add(Token("end", local(name)))
    parser.CharacterDataHandler = text
    parser.StartCdataSectionHandler = lambda: cdata(True)
    parser.EndCdataSectionHandler = lambda: cdata(False)
    parser.CommentHandler = lambda _: add(Token("other"))
    parser.ProcessingInstructionHandler = lambda *_: add(Token("other"))
    for start in range(0, len(content), CHUNK):
        parser.Parse(content[start : start + CHUNK], start + CHUNK >= len(content))
        for (begin, token), (end, _) in pairwise(begun):
            token.raw = content[begin:end].decode()
            yield token
        del begun[:-1]
    begin, token = begun[-1]
    token.raw = content[begin:].decode()
    yield token


def local(name: str) -> str:
    return name.rpartition("}")[2]


class Nothing:
    """What a parser builds that is only to say whether it can read a file."""

    def close(self) -> None:
        pass


def refuse_unsafe(content: bytes, path: str) -> None:
    """Entities can make a small file as large as memory, or have others read; no translation file needs its own."""
    defused = needed("defusedxml.ElementTree", "files")
    try:
        parser = defused.XMLParser(target=Nothing(), encoding="utf-8")
        parser.feed(content)
        parser.close()
    except defused.ParseError as error:
        raise DataError(f"{path} is not well-formed XML: {error}") from None
    except ValueError:
        raise DataError(
            f"{path} declares entities of its own, which are not read: write them out in the text"
        ) from None
