"""A passage with marks in it, as the sentences that a translator is handed, and back.

    Read **the manual** of `ls`.   ──▶   Read <b1>the manual</b1> of {x2}.   ──▶   Lies <b1>das Handbuch</b1> zu {x2}.

In the sentence a pair of marks becomes <b1> … </b1>, a mark that stands for a word {x2}, any other <x3/>, numbered from
1: forms that `regard.translate(…, keep=True)` keeps. A translator should give each of them back once. Where it does
not, the document stays whole all the same: emphasis that lost its place is dropped, everything else is put at the end
of the sentence, and the report counts it.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, cycle
from typing import NamedTuple

from regard.documents.atoms import Atom, Mark, Spelled, cut, fused, peeled, raw, raws, said, shielded, stand_in, tokens
from regard.documents.parts import Part, Report, source, texts, write
from regard.documents.sentences import split

PLACEHOLDER = re.compile(r"(<b\d+>|</b\d+>|<x\d+/>|\{x\d+\})")
INWARD = re.compile(r"\s*((?:<b\d+>)+)\s+")  # white space on the wrong side of a mark
OUTWARD = re.compile(r"\s+((?:</b\d+>)+)\s*")
UNWRITABLE = re.compile("[\0-\x08\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")  # in XML; no text needs them
BREAKS = re.compile("[\n\v\f\r\x85\u2028\u2029]+")
SPACES = re.compile("  +")
NOWHERE = re.compile("(?!)")
WIDE = "\u2e80"  # from here on, scripts that put no space between sentences


def unchanged(text: str) -> str:
    return text


@dataclass(frozen=True)
class Script:
    """How a format writes text: the characters it spells in another way, and what would mislead at a line's start."""

    escapes: Mapping[str, str] = field(default_factory=dict)
    at_start: Callable[[str], str] = unchanged
    bare: re.Pattern[str] = NOWHERE  # what is text there without an escape, and has none if the sentence had it so


PLAIN = Script()


def segments(atoms: Iterable[Atom], script: Script = PLAIN) -> Iterator[Part]:
    """The passage as parts, sentence by sentence; what has no letter in it is not handed over."""
    atoms = shielded(fused(atoms))
    bins = [len(piece) for pair in split("".join(map(stand_in, atoms))) for piece in pair]  # sentence, gap, sentence …
    pieces = list(cut(atoms, bins))
    at_start = True
    for index in range(0, len(pieces), 2):
        before, core, after = peeled(pieces[index])
        gap = pieces[index + 1]
        yield from raws(before)
        if any(not isinstance(atom, Mark) and any(map(str.isalpha, said(atom))) for atom in core):
            glued = index + 2 < len(pieces) and not gap and not after
            yield Segment(core, script, at_start and not "".join(map(stand_in, before)).strip(), glued)
        else:
            yield from raws(core)
        yield from raws(after + gap)
        at_start = any("\n" in each for each in raws(gap) if isinstance(each, str))


class Segment:
    """A sentence with its marks. `text` is what is handed over."""

    def __init__(self, atoms: Sequence[Atom], script: Script, at_start: bool, glued: bool):
        self.atoms = atoms
        self.script = script
        self.at_start = at_start  # of a line
        self.glued = glued  # to the next sentence, as Chinese ones are
        self.tokens = tokens(atoms)  # a placeholder for each mark, "" for text
        self.text = "".join(token or said(atom) for token, atom in zip(self.tokens, atoms, strict=True))

    @property
    def source(self) -> str:
        return source(raws(self.atoms))

    @property
    def texts(self) -> list[str]:
        return [*texts(raws(self.atoms)), self.text]

    def written(self, given: Iterator[str], report: Report) -> str:
        stood = [write(raw(atom), given, report) for atom in self.atoms]  # what is in the marks comes first
        translation = next(given)
        report.segments += 1
        if translation == self.text:
            return "".join(stood)
        each = zip(self.tokens, self.atoms, stood, strict=True)
        marks = {token: Placed(atom, atom.anew or text) for token, atom, text in each if isinstance(atom, Mark)}
        text = self.restored(UNWRITABLE.sub("", BREAKS.sub(" ", translation)), marks, report)
        return f"{text} " if self.glued and text[-1:] < WIDE else text

    def restored(self, translation: str, marks: Mapping[str, Placed], report: Report) -> str:
        """The translation with marks in the place of their placeholders, in the document's own spelling."""
        pieces = PLACEHOLDER.split(OUTWARD.sub(r"\1 ", INWARD.sub(r" \1", translation)))  # text, placeholder, text, …
        kept = well_placed(pieces, marks)
        front, end = strays(marks, {pieces[index] for index in kept})
        if len(kept) < max(len(marks), len(pieces) // 2):  # something is lost, or was made up
            report.mend(self.text)
            pieces = [SPACES.sub(" ", "".join(piece for i, piece in enumerate(pieces) if i % 2 == 0 or i in kept))]
        pieces = PLACEHOLDER.split(self.laid_out("".join(pieces).strip()))
        pieces[1::2] = [marks[token].stood for token in pieces[1::2]]
        pieces[::2] = self.spelled(pieces[::2])
        return "".join([*front, *pieces, *end])

    def spelled(self, texts: Sequence[str]) -> Iterator[str]:
        """Text as the document writes it: characters as this sentence spelled them, else as the script has them."""
        single = [atom for atom in self.atoms if isinstance(atom, Spelled) and len(atom.said.strip()) == 1]
        own = {atom.said: atom.raw for atom in single if atom.raw != atom.said}
        table = str.maketrans({**self.script.escapes, **own})
        had = "".join(said(atom) if raw(atom) == (said(atom),) else "\0" for atom in self.atoms)
        breaks = (stood for _, stood in self.breaks)
        for index, text in enumerate(texts):
            text = "".join(
                piece if bare and piece in had and own.keys().isdisjoint(piece) else piece.translate(table)
                for piece, bare in zip(self.script.bare.split(text), cycle([False, True]), strict=False)
            )
            first, *lines = text.split("\n")
            first = self.script.at_start(first) if self.at_start and index == 0 else first
            yield "".join([first, *(next(breaks) + self.script.at_start(line) for line in lines)])

    @property
    def breaks(self) -> list[tuple[float, str]]:
        """The line breaks in the sentence: after which share of it each stands, and how it is written."""
        ends = accumulate(len(token or said(atom)) for token, atom in zip(self.tokens, self.atoms, strict=True))
        broken = ((end, atom) for end, atom in zip(ends, self.atoms, strict=True) if isinstance(atom, Spelled))
        return [((end - 1) / len(self.text), atom.raw) for end, atom in broken if atom.said == " " and "\n" in atom.raw]

    def laid_out(self, translation: str) -> str:
        """The translation with \n for the spaces that are nearest to where the lines were broken."""
        spaces = [index for index, character in enumerate(translation) if character == " "]
        characters, first = list(translation), 0
        for share, _ in self.breaks:
            ideal = share * len(translation)
            after = bisect(spaces, ideal, lo=first)
            nearest = min(
                range(max(first, after - 1), min(after + 1, len(spaces))),
                key=lambda i: abs(spaces[i] - ideal),
                default=None,
            )
            if nearest is None:
                break
            characters[spaces[nearest]], first = "\n", nearest + 1
        return "".join(characters)


class Placed(NamedTuple):
    """A mark and what stands for it in the document, with what is in it translated."""

    mark: Mark
    stood: str

    def half(self, token: str) -> bool:
        """Whether the mark that goes by this placeholder is one of two whose other is in another sentence."""
        return token.startswith("<x") and self.mark.side in ("open", "close")


def well_placed(pieces: Sequence[str], marks: Mapping[str, Placed]) -> set[int]:
    """Places of the placeholders that may stay: known, not seen before, in pairs that hold text and cross no other.

    Halves, whose other half is in another sentence, may stay if all are there, in order, and outside of every pair.
    """
    places: dict[str, int] = {}
    opened: list[str] = []
    pairs: list[tuple[int, int]] = []
    for index in range(1, len(pieces), 2):
        token = pieces[index]
        if token not in marks or token in places:
            continue
        places[token] = index
        if token.startswith("<b"):
            opened.append(token)
        elif token.startswith("</") and (start := f"<{token[2:]}") in opened:
            del opened[opened.index(start) :]
            pairs.append((places[start], index))
    alone = {place for token, place in places.items() if token[1] == "x" and not marks[token].half(token)}
    filled = list(accumulate(i in alone if i % 2 else bool(piece.strip()) for i, piece in enumerate(pieces)))
    pairs = [(start, end) for start, end in pairs if filled[end] > filled[start]]
    halves = [places.get(token, 0) for token, placed in marks.items() if placed.half(token)]
    within = any(start < place < end for place in halves for start, end in pairs)
    in_order = halves == sorted(halves) and not within
    settled = all(halves) and (in_order or pieces[1::2] == list(marks))
    return alone.union(*pairs, halves if settled else ())


def strays(marks: Mapping[str, Placed], kept: Container[str]) -> tuple[list[str], list[str]]:
    """What is put before and after a sentence for the marks that its translation lost."""
    lost = {token: placed for token, placed in marks.items() if token not in kept}
    end: list[str] = []
    quoted = ""  # the close of a pair that is put there with all that is in it
    for token, (mark, stood) in lost.items():
        if quoted or token.startswith("</") or marks[token].half(token):
            quoted = "" if token == quoted else quoted
            continue
        if token.startswith("<b"):
            close = f"</{token[1:]}"
            stood = stood + marks[close].stood if mark.lost is None else mark.lost
            quoted = close if mark.lost else ""
        if stood:
            end.append(stood if mark.side == "point" else f" {stood}")
    halves = [placed for token, placed in lost.items() if placed.half(token)]
    closes, opens = ([placed.stood for placed in halves if placed.mark.side == side] for side in ("close", "open"))
    return ([], end + closes + opens) if closes else (opens, end)
