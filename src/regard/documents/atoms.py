"""A passage as atoms: text; text that the format spells in another way (&amp; for &); and marks, kept as they stand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from regard.documents.parts import Part, source

LOOKALIKE = re.compile(r"<(?=/?[bx]\d)|\{(?=x\d)")  # typed, it could be taken for a placeholder


@dataclass(frozen=True)
class Spelled:
    """Text that the document writes in another way: &amp; for &, or a line break and indentation for a space."""

    said: str
    raw: str


@dataclass(frozen=True)
class Mark:
    """Something in a passage that is no text.

    An `open` and a `close` come in pairs, a `word` stands for a word, a `point` for nothing that is read. In `raw`
    there may be text to translate, as of a picture that is described.
    """

    raw: tuple[Part, ...]
    side: Literal["open", "close", "word", "point"]
    name: str = ""  # a close belongs to the last open of its name
    lost: str | None = None  # of an open: what is written where the pair was lost; None is the two marks, empty
    anew: str = ""  # what is written in its place if the sentence changes, which it is then always handed over with


Atom = str | Spelled | Mark


def said(atom: Atom) -> str:
    """An atom as it is read."""
    return atom if isinstance(atom, str) else "" if isinstance(atom, Mark) else atom.said


def raw(atom: Atom) -> tuple[Part, ...]:
    """An atom as it is written."""
    return (atom,) if isinstance(atom, str) else atom.raw if isinstance(atom, Mark) else (atom.raw,)


def raws(atoms: Iterable[Atom]) -> list[Part]:
    return [part for atom in atoms for part in raw(atom)]


STAND_INS = {"open": "<b0>", "close": "</b0>", "word": "{x0}", "point": "<x0/>"}


def stand_in(atom: Atom) -> str:
    """An atom as sentences are split with it."""
    return STAND_INS[atom.side] if isinstance(atom, Mark) else said(atom)


def cut(atoms: Sequence[Atom], lengths: Iterable[int]) -> Iterator[list[Atom]]:
    """Atoms in lists whose stand-ins are so long; only plain text is cut in two."""
    index = offset = over = 0
    for length in lengths:
        taken: list[Atom] = []
        over -= length  # how much more was taken than asked for
        while over < 0:
            atom = atoms[index]
            size = len(stand_in(atom)) - offset
            used = min(size, -over) if isinstance(atom, str) else size
            taken.append(atom[offset : offset + used] if isinstance(atom, str) else atom)
            index, offset = (index + 1, 0) if used == size else (index, offset + used)
            over += used
        yield taken


def fused(atoms: Iterable[Atom]) -> list[Atom]:
    """A pair of marks with nothing between them to read is one mark."""
    done: list[Atom] = []
    for atom in atoms:
        if isinstance(atom, Mark) and atom.side == "close":
            start = len(done) - 1
            while start > 0 and not isinstance(done[start], Mark) and not said(done[start]).strip():
                start -= 1
            opened = done[start] if done else ""
            if isinstance(opened, Mark) and (opened.side, opened.name) == ("open", atom.name):
                done[start:] = [Mark(tuple(raws([*done[start:], atom])), "point")]
                continue
        if atom != "":
            done.append(atom)
    return done


def shielded(atoms: Sequence[Atom]) -> list[Atom]:
    """Atoms in which no text can be taken for a placeholder: a typed <b1> opens with a mark."""
    text = "".join("\0" * len(stand_in(atom)) if isinstance(atom, Mark) else said(atom) for atom in atoms)
    bounds = [0, *(place for found in LOOKALIKE.finditer(text) for place in found.span()), len(text)]
    pieces = cut(atoms, (end - start for start, end in pairwise(bounds)))
    return [each for i, piece in enumerate(pieces) for each in ([Mark(tuple(raws(piece)), "word")] if i % 2 else piece)]


def partners(atoms: Sequence[Atom]) -> dict[int, int]:
    """Which mark closes which, both ways, by their places; marks whose other half is in another sentence have none."""
    found: dict[int, int] = {}
    opened: list[tuple[str, int]] = []
    names: Counter[str] = Counter()
    for index, atom in enumerate(atoms):
        if not isinstance(atom, Mark):
            continue
        if atom.side == "open":
            opened.append((atom.name, index))
            names[atom.name] += 1
        elif atom.side == "close" and names[atom.name]:
            name = None
            while name != atom.name:  # what is still open within the two has lost its other half
                name, start = opened.pop()
                names[name] -= 1
                found |= {start: index, index: start} if name == atom.name else {}
    return found


def never_lost(atoms: Sequence[Atom], name: str) -> list[Atom]:
    """Atoms in which the pairs of that name, if a translation loses them, are put at its end as they stand here."""
    kept = list(atoms)
    for start, end in partners(atoms).items():
        mark = atoms[start]
        if start < end and isinstance(mark, Mark) and mark.name == name:
            kept[start] = replace(mark, lost=source(raws(atoms[start : end + 1])))
    return kept


def peeled(atoms: Sequence[Atom]) -> tuple[list[Atom], list[Atom], list[Atom]]:
    """What comes before a sentence, the sentence, what comes after: marks around all of it are not handed over."""
    partner = partners(atoms)

    def loose(index: int) -> bool:
        atom = atoms[index]
        return atom.side != "word" and index not in partner if isinstance(atom, Mark) else not said(atom).strip()

    start, end = 0, len(atoms)
    while start < end:
        if loose(start):
            start += 1
        elif loose(end - 1):
            end -= 1
        elif isinstance(last := atoms[end - 1], Mark) and partner.get(start) == end - 1 and not last.anew:
            start, end = start + 1, end - 1
        else:
            break
    before, core, after = list(atoms[:start]), list(atoms[start:end]), list(atoms[end:])
    if core and isinstance(first := core[0], str) and first[0].isspace():
        core[0] = first.lstrip()
        before.append(first.removesuffix(core[0]))
    if core and isinstance(last := core[-1], str) and last[-1].isspace():
        core[-1] = last.rstrip()
        after.insert(0, last.removeprefix(core[-1]))
    return before, core, after


def tokens(atoms: Sequence[Atom]) -> list[str]:
    """A placeholder for each mark, "" for text."""
    partner = partners(atoms)
    given: dict[int, str] = {}
    number = 0
    for index, atom in enumerate(atoms):
        if not isinstance(atom, Mark) or index in given:
            continue
        number += 1
        if index in partner:
            given |= {index: f"<b{number}>", partner[index]: f"</b{number}>"}
        else:
            given[index] = f"{{x{number}}}" if atom.side == "word" else f"<x{number}/>"
    return [given.get(index, "") for index in range(len(atoms))]
