"""Ids as lines of tokens, and the words that they spell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from regard.insight.contract import Line, Token, Word
from regard.insight.words import CONTROL, spell, words


def spelled_out(ids: Sequence[int], pieces: Sequence[str]) -> Line:
    """Tokens, joined to words where they make one."""
    places = [slice(word.start, word.end) for word in words(pieces)]
    return joined((ids[place], pieces[place]) for place in places)


def grouped(words: Iterable[Sequence[int]], pieces: Callable[[Sequence[int]], list[str]]) -> Line:
    """Tokens whose words are known."""
    return joined((ids, pieces(ids)) for ids in words)


def joined(groups: Iterable[tuple[Sequence[int], Sequence[str]]]) -> Line:
    """Groups of ids and pieces as words, one after the other."""
    tokens: list[Token] = []
    found: list[Word] = []
    for ids, pieces in groups:
        start = len(tokens)
        tokens += [Token(id, piece, len(found)) for id, piece in zip(ids, pieces, strict=True)]
        found.append(Word(spell(pieces), start, len(tokens), bool(CONTROL.fullmatch(pieces[0]))))
    return Line(tokens, found)
