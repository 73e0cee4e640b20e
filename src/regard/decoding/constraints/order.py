"""What the model reads in the place of a text with demands: a stand-in for each literal, and no tags.

Hi {name}, the <b>dog</b> is here.  ──▶  Hi Paris, the dog is here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, pairwise

from regard.decoding.constraints.terms import Span
from regard.tokens.text import normalise

SENTENCE_ENDS = tuple(".!?…。！？")

Atom = str | int  # a sign, or a literal by its place among the spans


@dataclass(frozen=True)
class Order:
    """A text, what it demands, and what the model reads."""

    text: str
    spans: tuple[Span, ...]
    standing: dict[int, int]  # the id that stands for each literal, which goes by its place among the spans
    reads: str  # normalised
    at: tuple[int, ...]  # where in that each span stands
    touching: frozenset[tuple[Atom, Atom]]  # literals and what has no space between it and them
    wordless: bool  # there is nothing to translate


def ordered(text: str, found: Sequence[Span], words: Mapping[int, str]) -> Order:
    """An order, given the words that may stand for literals, by their ids."""
    found = [
        replace(span, kind="mark") if span.kind == "literal" and (not words or apart(text, span, found)) else span
        for span in found
    ]
    standing = stood_for(text, found, words)
    reads, at, atoms, end = "", list[int](), list[Atom](), 0
    for index, span in enumerate(found):
        before, after = text[end : span.start], text[span.end : span.end + 1]
        reads, atoms, end = reads + before, [*atoms, *before], span.end
        at.append(len(normalise(reads)))
        if span.kind == "literal":
            reads += " " * reads[-1:].isalnum() + words[standing[index]] + " " * after.isalnum()
            atoms.append(index)
        elif span.kind == "term":
            reads, atoms = reads + text[span.start : span.end], [*atoms, *text[span.start : span.end]]
        elif span.kind == "mark":
            reads, atoms = reads + " " * after.isalnum(), [*atoms, " "]
    reads, atoms = reads + text[end:], [*atoms, *text[end:]]
    touching = frozenset(pair for pair in pairwise(map(alike, atoms)) if int in map(type, pair))
    wordless = not any(atom.isalnum() for atom in atoms if isinstance(atom, str)) and (bool(found) or not text.strip())
    return Order(text, tuple(found), standing, normalise(reads), tuple(at), touching, wordless)


def apart(text: str, span: Span, found: Sequence[Span]) -> bool:
    """Does it stand behind the sentence, as an address may? Then it means no word of it."""
    for other in found:
        if other.kind != "term":
            text = text[: other.start] + " " * (other.end - other.start) + text[other.end :]
    return text[: span.start].rstrip().endswith(SENTENCE_ENDS) and not any(map(str.isalnum, text[span.end :]))


def stood_for(text: str, found: Sequence[Span], words: Mapping[int, str]) -> dict[int, int]:
    """An id for each literal, equal ones alike, of a word that is not in the text; if there are too few, in turn."""
    literals = {index: span.wanted[0] for index, span in enumerate(found) if span.kind == "literal"}
    shown = " ".join([text, *(term for span in found for term in span.wanted)]).casefold()
    free = [id for id, word in words.items() if word.casefold() not in shown] or list(words)
    chosen = dict(zip(dict.fromkeys(literals.values()), cycle(free), strict=False))
    return {index: chosen[literal] for index, literal in literals.items()}


def alike(atom: Atom) -> Atom:
    """Signs that take each other's places between languages are one: quotation marks."""
    quotes = isinstance(atom, str) and (atom in "\"'„‚" or unicodedata.category(atom) in ("Pi", "Pf"))
    return '"' if quotes else atom
