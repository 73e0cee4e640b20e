"""Subwords for text of many lines: each line by itself, and a line break between them.

To `TextTokenizer` a line break is a space, as it reads sentences. What is to be written in lines needs them, and its
vocabulary has an id to spare: the byte <0x0A>, which no normalised sentence contains.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from regard.tokens.text import TextTokenizer, normalise

BREAK = "<0x0A>"


class Writer(Protocol):
    """What text is written with."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: Iterable[int]) -> str: ...

    def plain(self, text: str) -> str:
        """The text that decode gives back."""
        ...


class Lines:
    """A TextTokenizer that keeps line breaks: decode(encode(text)) == plain(text)."""

    def __init__(self, tokenizer: TextTokenizer):
        self.tokenizer = tokenizer
        self.line_break = tokenizer.processor.piece_to_id(BREAK)

    def plain(self, text: str) -> str:
        """Each line normalised."""
        return "\n".join(map(normalise, text.split("\n")))

    def encode(self, text: str) -> list[int]:
        first, *others = (self.tokenizer.encode(line) for line in text.split("\n"))
        return first + [id for line in others for id in (self.line_break, *line)]

    def decode(self, ids: Iterable[int]) -> str:
        lines: list[list[int]] = [[]]
        for id in ids:
            if int(id) == self.line_break:
                lines.append([])
            else:
                lines[-1].append(int(id))
        return "\n".join(map(self.tokenizer.decode, lines))
