"""Plain text: a line is a passage, and lines, blank ones and white space at either end stay as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from regard.documents.atoms import Atom, Spelled
from regard.documents.inline import segments
from regard.documents.options import Options
from regard.documents.parts import Part


def parts(stream: TextIO, options: Options) -> Iterator[Part]:
    """Line by line; where lines are wrapped, a paragraph at a time, its line breaks set anew where it comes to most."""
    paragraph: list[Atom] = []
    for line in stream:
        text = line.rstrip("\r\n")
        if options.wrapped and text.strip():
            paragraph += [text, Spelled(" ", line[len(text) :])]
            continue
        yield from segments(paragraph)
        yield from segments([text, line[len(text) :]])
        paragraph = []
    yield from segments(paragraph)
