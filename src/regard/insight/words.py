"""Tokens joined to words again, for people to read, and weights between tokens as weights between words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from regard.errors import DataError

SPACE = "▁"
CONTROL = re.compile(r"<pad>|<unk>|<s>|</s>|<class>|>>[\w-]+<<|__[a-z][\w-]*__|\[MASK\]")
BYTE = re.compile(r"<0x([0-9A-F]{2})>")
UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")  # Thai, Lao, kana, Han

ELISION = re.compile("(?:[cdjlmnst]|qu)['’]", re.IGNORECASE)  # a vowel dropped before another word
ELIDED = 6  # tokens at most that spell one: a space, q, u, and an apostrophe of three bytes


class Word(NamedTuple):
    """tokens[start:end], as text."""

    text: str
    start: int
    end: int
    spaced: bool  # from what stands before it

    @property
    def control(self) -> bool:
        """Put in by us, and no text."""
        return bool(CONTROL.fullmatch(self.text))


def words(tokens: Sequence[str]) -> list[Word]:
    """The words that tokens spell; together they cover all tokens. Marks before and after a word stand alone."""
    starts = [index for index in range(len(tokens)) if begins(tokens, index)]
    groups = [range(start, end) for start, end in pairwise([*starts, len(tokens)])]
    parts = [part for group in groups for bare in without_marks(tokens, group) for part in unelided(tokens, bare)]
    return [
        Word(spell(tokens[part.start : part.stop]), part.start, part.stop, is_spaced(tokens, part.start))
        for part in parts
    ]


def is_spaced(tokens: Sequence[str], index: int) -> bool:
    nearby = tokens[max(index - 1, 0) : index + 1]
    return tokens[index].startswith(SPACE) or any(CONTROL.fullmatch(token) for token in nearby)


def begins(tokens: Sequence[str], index: int) -> bool:
    token, before = tokens[index], tokens[index - 1] if index else "</s>"
    alone = CONTROL.fullmatch(token) or CONTROL.fullmatch(before) or UNSPACED.search(token) or UNSPACED.search(before)
    return token.startswith(SPACE) or bool(alone and before != SPACE)


def without_marks(tokens: Sequence[str], group: range) -> list[range]:
    """["▁(", "see", ")", "."] in three parts; 3.5 and didn't keep the marks inside them."""
    first, last = group.start, group.stop
    while last - 1 > first and is_mark(tokens[last - 1]):
        last -= 1
    while first < last - 1 and is_mark(tokens[first]):
        first += 1
    if not spell(tokens[first:last]):
        return [group]
    return [part for part in (range(group.start, first), range(first, last), range(last, group.stop)) if part]


def unelided(tokens: Sequence[str], part: range) -> list[range]:
    """["▁qu", "'", "il"] in two parts, qu' and il, as French would count them."""
    for cut in range(part.start + 1, min(part.start + ELIDED + 1, part.stop)):
        if ELISION.fullmatch(spell(tokens[part.start : cut])):
            return [range(part.start, cut), range(cut, part.stop)]
    return [part]


def is_mark(token: str) -> bool:
    """Punctuation only, as Unicode has it."""
    text = token.removeprefix(SPACE)
    return bool(text) and not BYTE.fullmatch(text) and all(unicodedata.category(c)[0] == "P" for c in text)


def spell(tokens: Sequence[str]) -> str:
    """The text of a word, its bytes put together; what cannot be printed shows as �."""
    spelled = b"".join(bytes.fromhex(m[1]) if (m := BYTE.fullmatch(token)) else token.encode() for token in tokens)
    text = spelled.decode(errors="replace").replace(SPACE, "")
    return "".join(c if c.isprintable() or c == "\u00a0" else "\ufffd" for c in text)


def by_word(weights: np.ndarray, rows: Sequence[Word], columns: Sequence[Word]) -> np.ndarray:
    """(…, tokens, tokens) → (…, words, words): the sum over the tokens looked at, the mean over those that look."""
    summed = np.add.reduceat(weights, [word.start for word in columns], axis=-1)
    lengths = np.array([word.end - word.start for word in rows])
    return np.add.reduceat(summed, [word.start for word in rows], axis=-2) / lengths[:, None]


def index_of(word: str | int, among: Sequence[Word]) -> int:
    """Where a word stands: the first of that text, upper or lower case; a number is taken as it is."""
    if isinstance(word, int):
        if not -len(among) <= word < len(among):
            raise DataError(f"there is no word number {word}: there are {len(among)}, counted from 0")
        return word % len(among)
    for index, each in enumerate(among):
        if each.text.casefold() == word.casefold():
            return index
    raise DataError(f"there is no word {word!r} among: {' '.join(each.text for each in among)}")
