"""Words with a tag each, sentence by sentence: names in news, parts of speech.

Ada      B-PER        a line for each word: the word, tab or spaces, its tag; of more columns the last is the tag
Lovelace I-PER
wrote    O
                      a blank line after each sentence
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.data.corpus import blank, read_lines
from regard.data.marked import Marked
from regard.errors import DataError
from regard.tokens.text import BOS, EOS, UNKNOWN, normalise

WORD = re.compile("[^ ]+")
OUTSIDE = "O"  # the tag of what is nothing


class Sentence(NamedTuple):
    words: tuple[str, ...]
    tags: tuple[str, ...]


def read_tagged(path: Path) -> list[Sentence]:
    """The sentences of a file of words and tags."""
    sentences: list[Sentence] = []
    words, tags = list[str](), list[str]()
    for number, line in enumerate([*read_lines(path), ""], start=1):
        if not blank(line):
            columns = columns_of(line)
            if len(columns) < 2:
                raise DataError(
                    f"{path}, line {number}: {line.strip()!r} has no tag: write word, tab, tag on each line"
                )
            words.append(columns[0])
            tags.append(columns[-1])
        elif words:
            sentences.append(Sentence(tuple(words), tuple(tags)))
            words, tags = [], []
    if not sentences:
        raise DataError(
            f"{path} is empty: give a file with word, tab, tag on each line, a blank line after each sentence"
        )
    return sentences


def columns_of(line: str) -> list[str]:
    """Between tabs, or else between spaces: another white space, as in 10 000, is part of a word."""
    line = line.strip(" \t")
    columns = (column.strip(" ") for column in line.split("\t" if "\t" in line else " "))
    return [column for column in columns if column]


def marked(tokenizer: Any, words: Sequence[str], labels: Sequence[int], most: int) -> Marked:
    """A sentence as ids, with the label of each word at its first token          Devlin et al. 2019, section 5.3

    A word of which the tokenizer leaves nothing, as BERT's of an invisible character, is an unknown one. Of a sentence
    that is longer than `most` tokens only the first are read.
    """
    steps = tokenizer.steps(" ".join(normalise(word).replace(" ", "") or "\ufffd" for word in words))
    ends = [word.end() for word in WORD.finditer(steps.normalised)]
    ids, places = [BOS, *tokenizer.encode("")], list[int]()

    def pass_over(word: int) -> None:
        """Words before this one that have no token."""
        while len(places) < word:
            places.append(len(ids))
            ids.append(UNKNOWN)

    for token in steps.tokens:
        if steps.normalised[max(0, token.end - 1) : token.end].strip(" "):  # one that is but a space is of no word
            word = bisect_left(ends, token.end)  # that it ends in
            pass_over(word)
            if len(places) == word:
                places.append(len(ids))
        ids.append(token.id)
    pass_over(len(ends))
    kept = [place for place in places if place < most - 1]
    return Marked([*ids[: most - 1], EOS], kept, list(labels[: len(kept)]))


def spans(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """What a sentence's tags say there is: first word, end and kind of each.

    B- opens one and I- of the same kind goes on with it, or else opens one itself, as in CoNLL 2003; a tag without
    either is one of a single word.
    """
    found: set[tuple[int, int, str]] = set()
    start, kind = 0, ""
    for place, tag in enumerate([*tags, OUTSIDE]):
        prefix, dash, rest = tag.partition("-")
        inside = bool(dash) and prefix in ("B", "I")
        if kind and not (inside and prefix == "I" and rest == kind):
            found.add((start, place, kind))
            kind = ""
        if inside and not kind:
            start, kind = place, rest
        elif not inside and tag != OUTSIDE:
            found.add((place, place + 1, tag))
    return found
