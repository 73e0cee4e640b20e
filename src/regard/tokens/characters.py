"""Text ⇄ ids, a character each: the smallest vocabulary there is, and nothing to learn but which characters there are.

    "Né.\n"  ──encode──▶  [N, <0xC3>, <0xA9>, ., ↵] as ids, where the corpus had no é

A character that the corpus did not have is spelled in its UTF-8 bytes, so decode(encode(text)) == text for every str
without lone surrogates; spaces and line breaks are characters like any other. The control ids are those of
`tokens.text`: typed text never reaches them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from regard.errors import DataError, RunError
from regard.tokens.text import BOS, BYTES, EOS, FILE_LIMIT, PAD, SURROGATES, UNKNOWN, Steps, Token

CONTROL = ("<pad>", "<unk>", "<s>", "</s>")
SHOWN = {" ": "▁", "\n": "↵", "\t": "⇥"}  # as pictures show what cannot be seen


class CharacterTokenizer:
    """Control ids, the 256 bytes, and then every character of a corpus, in Unicode's order."""

    mask = UNKNOWN  # what hides a token: no text has it

    def __init__(self, characters: str):
        if sorted(set(characters)) != list(characters) or SURROGATES.search(characters) or not characters:
            raise ValueError("it does not hold different characters in their order")
        self.characters = characters
        self.first = EOS + 1 + BYTES  # the id of the first character
        self.ids = {character: self.first + place for place, character in enumerate(characters)}
        self.control = frozenset((PAD, UNKNOWN, BOS, EOS))

    @classmethod
    def learn(cls, texts: Iterable[str]) -> CharacterTokenizer:
        """Every character of the texts."""
        found = set[str]().union(*(SURROGATES.sub("\ufffd", text) for text in texts))
        if not found:
            raise DataError("there is no text to learn a tokenizer from: the corpus is empty")
        return cls("".join(sorted(found)))

    def __len__(self) -> int:
        return self.first + len(self.characters)

    @property
    def unwritten(self) -> list[int]:
        """Ids that mean something to the machine and nothing to a reader."""
        return [PAD, UNKNOWN, BOS]

    def plain(self, text: str) -> str:
        """The text that decode gives back: with U+FFFD for a lone surrogate, which UTF-8 cannot hold."""
        return SURROGATES.sub("\ufffd", text)

    def encode(self, text: str) -> list[int]:
        """The ids of a text; no control id is ever among them."""
        return [id for character in self.plain(text) for id in self.spelled(character)]

    def spelled(self, character: str) -> list[int]:
        known = self.ids.get(character)
        return [EOS + 1 + byte for byte in character.encode()] if known is None else [known]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, control ids left out; bytes that are no text become U+FFFD."""
        return b"".join(self.bytes_of(int(id)) for id in ids if int(id) not in self.control).decode(errors="replace")

    def bytes_of(self, id: int) -> bytes:
        return bytes([id - EOS - 1]) if id < self.first else self.characters[id - self.first].encode()

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """What each id looks like: a, ▁, ↵, <0xE2>, </s>."""
        return [self.piece(int(id)) for id in ids]

    def piece(self, id: int) -> str:
        if id < len(CONTROL):
            return CONTROL[id]
        if id < self.first:
            return f"<0x{id - EOS - 1:02X}>"
        character = self.characters[id - self.first]
        return SHOWN.get(character, character)

    def steps(self, text: str) -> Steps:
        """How encode comes to its ids: where in the text each token lies; the bytes of a character share its place."""
        read = self.plain(text)
        tokens = [
            Token(self.piece(id), id, place, place + 1)
            for place, character in enumerate(read)
            for id in self.spelled(character)
        ]
        return Steps(text, read, tuple(tokens))

    def save(self, path: Path) -> None:
        path.write_text(json.dumps({"characters": self.characters}) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> CharacterTokenizer:
        try:
            if path.stat().st_size > FILE_LIMIT:
                raise RunError(f"{path} is larger than {FILE_LIMIT:,} bytes, which no tokenizer is: copy the run again")
            return cls(json.loads(path.read_text(encoding="utf-8"))["characters"])
        except FileNotFoundError:
            raise RunError(f"{path} does not exist: a run keeps its tokenizer there, so copy the run again") from None
        except OSError as error:
            raise RunError(f"{path} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise RunError(f"{path} is damaged or not a tokenizer of regard: copy the run again") from None
