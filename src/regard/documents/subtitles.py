"""Subtitles (.srt), cue by cue: numbers and times stay as they are, and a cue keeps its number of lines.

The lines of a cue are one passage, since sentences run on over them, but for a line that opens with a dash, where
another person speaks. Tags such as <i> and {\\an8} are marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TextIO

from regard.documents.atoms import Atom, Mark, Spelled
from regard.documents.inline import segments
from regard.documents.options import Options
from regard.documents.parts import Part
from regard.errors import DataError
from regard.extras import needed

NUMBER = re.compile(r"\s*\d+\s*")
TIMES = re.compile(r"\s*\d[\d:.,]* *-[ -] *> *\d[\d:.,]*.*", re.DOTALL)
TAG = re.compile(r"(</?[a-zA-Z][^<>\n]*>|\{\\[^{}\n]*\})")
SPEAKER = re.compile(r"\s*[-–—‐]\s*")


def parts(stream: TextIO, options: Options) -> Iterator[Part]:
    srt = needed("srt", "files")
    for first, cue in cues(stream):
        try:
            list(srt.parse("".join(cue)))
        except (srt.SRTParseError, ValueError):
            raise DataError(f"{stream.name}, line {first}: there is no cue, as of a number, times and text") from None
        head = 0
        while head < len(cue) and not TIMES.fullmatch(cue[head]):
            head += 1
        yield "".join(cue[: head + 1])
        yield from segments(passage(cue[head + 1 :]))


def cues(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Cues as their lines, each with the number of its first; one opens with times, or with its number before them."""
    cue: list[str] = []
    first = 1
    for number, line in enumerate(lines, start=1):
        if TIMES.fullmatch(line):
            back = 1 if cue and NUMBER.fullmatch(cue[-1]) else 0
            done, cue = cue[: len(cue) - back], cue[len(cue) - back :]
            if "".join(done).strip():
                yield first, done
            elif done:
                cue = done + cue
            first = number - len(cue)
        cue.append(line)
    if cue:
        yield first, cue


def passage(lines: Iterable[str]) -> Iterator[Atom]:
    """The text of a cue: a line break is a space, or, where another speaks or a line is blank, a break."""
    end = ""
    for line in lines:
        text = line.rstrip("\r\n")
        if end:
            yield Spelled("\n" if SPEAKER.match(text) or not text.strip() else " ", end)
        if speaker := SPEAKER.match(text):
            yield Mark((speaker[0],), "point")
        yield from (atom(piece) for piece in TAG.split(text[speaker.end() if speaker else 0 :]) if piece)
        end = line[len(text) :]
    yield end


def atom(piece: str) -> Atom:
    if not TAG.fullmatch(piece):
        return piece
    if piece.startswith("{"):
        return Mark((piece,), "point")
    name = piece.strip("</>").split()[0].lower()
    return Mark((piece,), "close" if piece.startswith("</") else "open", name, lost="")
