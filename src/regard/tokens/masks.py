"""Text with something missing, as ids: each typed [MASK] becomes the one id that hides a token.

A space before a mask goes with it where tokens bring the spaces before them, as it goes with the word that is missing.
"""

from __future__ import annotations

from typing import Any

from regard.errors import DataError
from regard.tokens.characters import CharacterTokenizer
from regard.tokens.text import TextTokenizer

MASK = "[MASK]"  # as it is typed
STAND_INS = [chr(code) for code in range(0xFDD0, 0xFDF0)]  # Unicode's noncharacters, which are no text


def read_masked(tokenizer: Any, text: str) -> list[int]:
    """The ids of a text, as `encode` gives them, with the tokenizer's mask for every [MASK]."""
    if isinstance(tokenizer, TextTokenizer):
        return cut_whole(tokenizer, text)
    parts = text.split(MASK)
    if not isinstance(tokenizer, CharacterTokenizer):
        parts = [*(part.rstrip() for part in parts[:-1]), parts[-1]]
    first, *others = ([token.id for token in tokenizer.steps(part).tokens] for part in parts)
    return tokenizer.encode("") + first + [id for other in others for id in (tokenizer.mask, *other)]


def cut_whole(tokenizer: TextTokenizer, text: str) -> list[int]:
    """The same where the text has to be cut as one, or what follows a mask at once, a full stop, would begin a word.

    In the place of each mask stands a character that is in no other token.
    """
    free = next((character for character in STAND_INS if character not in text), None)
    if free is None:
        raise DataError("the text holds every character that could stand for a mask: remove U+FDD0 to U+FDEF from it")
    steps = tokenizer.steps(text.replace(MASK, free))
    ids: list[int] = []
    masked = -1  # where the last mask is
    for token in steps.tokens:
        if steps.normalised[token.start : token.end] != free:
            ids.append(token.id)
        elif token.start != masked:  # the bytes of one character share its place
            masked = token.start
            if tokenizer.pieces(ids[-1:]) == ["▁"]:
                ids.pop()
            ids.append(tokenizer.mask)
    return ids


def shown(tokenizer: Any, ids: list[int]) -> str:
    """How ids look to a reader, with [MASK] where a token is hidden."""
    pieces = (
        f"▁{MASK}" if id == tokenizer.mask else piece for id, piece in zip(ids, tokenizer.pieces(ids), strict=True)
    )
    return "".join(pieces).replace("▁", " ").strip()
