"""Which word each token is a part of; words are what spaces part, as in Pharaoh's alignments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.tokens.text import UNKNOWN, TextTokenizer

SPACE = "▁"


def words_of(tokenizer: TextTokenizer, ids: Sequence[int]) -> np.ndarray:
    """The word of each token, counted from 0; −1 for tags, EOS and whatever else is no part of any."""
    numbers: list[int] = []
    word, begun = 0, False
    for id, piece in zip(ids, tokenizer.pieces(ids), strict=True):
        if id in tokenizer.control and id != UNKNOWN:
            numbers.append(-1)
            continue
        if begun and piece.startswith(SPACE):
            word, begun = word + 1, False
        begun = begun or piece != SPACE  # a space alone: its word follows, or none does
        numbers.append(word)
    return np.array([-1 if number == word and not begun else number for number in numbers], dtype=int)


def by_word(weights: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Weights between tokens as weights between the words of rows and columns and, last, what is no word.

    The sum over the tokens looked at, the mean over the tokens that look; (words, words + 1).
    """
    summed = np.zeros((rows.max(initial=-1) + 2, columns.max(initial=-1) + 2))
    np.add.at(summed, (rows[:, None], columns[None, :]), weights)  # −1, no word, is the last
    return summed[:-1] / np.bincount(rows[rows >= 0])[:, None]


def between_tokens(links: Sequence[tuple[int, int]], source: np.ndarray, target: np.ndarray) -> list[tuple[int, int]]:
    """Links between words as links between all of their tokens, given the word of each token."""
    return [
        (int(s), int(t))
        for one, other in links
        for s in np.flatnonzero(source == one)
        for t in np.flatnonzero(target == other)
    ]
