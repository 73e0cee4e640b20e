"""Text ⇄ ids with another's vocabulary: WordPiece, byte-level BPE and whatever else a `tokenizer.json` describes.

The file is that of the `tokenizers` library, which cuts the text. Its ids were put into our order when it was imported:
<pad> <unk> <s> </s> come first, under whatever names they have there, such as [PAD] [UNK] [CLS] [SEP]. What a user
types is text, whatever it looks like: no special token is ever read from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any

from regard.errors import ConfigError, RunError
from regard.extras import needed
from regard.tokens.text import BOS, EOS, FILE_LIMIT, PAD, SURROGATES, UNKNOWN, Steps, Token

COPIES = ("<copy:pad>", "<copy:unknown>", "<copy:start>", "<copy:end>")  # our first ids, where a vocabulary lacks them
MASK = re.compile(r"\W*mask\W*", re.IGNORECASE)
SEEN = str.maketrans({" ": "▁", "\n": "↵", "\t": "⇥"})  # as pictures show what cannot be seen
Shown = Callable[[str, bool], tuple[str, bool]]  # a token, whether a word begins → how it looks, whether one does then


class ImportedTokenizer:
    """A tokenizer.json whose first ids are ours."""

    def __init__(self, model: str):
        self.model, self.described = model, json.loads(model)
        self.tokenizer = needed("tokenizers", "import").Tokenizer.from_str(model)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.tokenizer.encode_special_tokens = True  # those that a user types are text
        ids = self.tokenizer.get_vocab()
        self.names = sorted(ids, key=ids.__getitem__)  # of its ids, no two alike
        if [ids[name] for name in self.names] != list(range(len(ids))) or len(ids) <= EOS:
            raise ValueError("its ids are not 0, 1, 2 …")
        special = (id for id, token in self.tokenizer.get_added_tokens_decoder().items() if token.special)
        self.control = frozenset((PAD, UNKNOWN, BOS, EOS, *special))
        self.mask = next((id for id in sorted(self.control) if MASK.fullmatch(self.names[id])), UNKNOWN)
        around = self.tokenizer.encode("").ids  # what it puts before a text and after it; <s> and </s> are put by us
        self.opening = list(takewhile(lambda id: id not in (BOS, EOS), around))
        self.shown = shown_by(self.described.get("decoder") or {})
        self.tags: dict[str, int] = {}
        self.languages: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @property
    def identity(self) -> str:
        """What it shares with those alone that give a text the same ids."""
        return self.model

    def knows(self, piece: str) -> bool:
        """Whether a token of text looks like this where a word begins: ▁animal."""
        return piece in self.looks

    @cached_property
    def looks(self) -> frozenset[str]:
        return frozenset(self.pieces([id])[0] for id in range(len(self)) if id not in self.control)

    def tag(self, language: str) -> int:
        raise ConfigError(f"the tokenizer has no language {language!r}: it was imported without languages")

    @property
    def unwritten(self) -> list[int]:
        """Ids that mean something to the machine and nothing to a reader; </s> too, where they have none."""
        ends = () if self.names[EOS] in COPIES else (EOS,)
        return sorted(self.control - {*ends, *self.opening})

    def plain(self, text: str) -> str:
        """The text that decode gives back: of some vocabularies in small letters, or with other spaces."""
        return self.decode(self.encode(text))

    def encode(self, text: str, sampling: float = 0.0) -> list[int]:
        """The ids of a text, opened as they open it; there is but one way to cut it, whatever is sampled."""
        return [*self.opening, *(token.id for token in self.cut(text))]

    def cut(self, text: str) -> list[Token]:
        found = self.tokenizer.encode(SURROGATES.sub("\ufffd", text), add_special_tokens=False)
        ids = [UNKNOWN if id in self.control else id for id in found.ids]
        return [Token(p, id, *place) for p, id, place in zip(self.pieces(ids), ids, found.offsets, strict=True)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, control ids left out."""
        return self.tokenizer.decode([int(id) for id in ids if int(id) not in self.control], skip_special_tokens=False)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """What each id looks like in its place: ▁animal, ing, [SEP]; ▁ is where a word begins."""
        found, begins = [], True
        for id in map(int, ids):
            if id in self.control:
                piece, begins = self.names[id], True
            else:
                piece, begins = self.shown(self.names[id], begins)
            found.append(piece)
        return found

    def steps(self, text: str) -> Steps:
        """How encode comes to its ids: where in the text each token lies."""
        return Steps(text, SURROGATES.sub("\ufffd", text), tuple(self.cut(text)))

    def save(self, path: Path) -> None:
        path.write_text(self.model, encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> ImportedTokenizer:
        needed("tokenizers", "import")
        try:
            if path.stat().st_size > FILE_LIMIT:
                raise RunError(f"{path} is larger than {FILE_LIMIT:,} bytes, which no tokenizer is: copy the run again")
            return cls(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunError(f"{path} does not exist: a run keeps its tokenizer there, so copy the run again") from None
        except OSError as error:
            raise RunError(f"{path} cannot be read: {error.strerror}") from None
        except RunError:
            raise
        except Exception:  # the library raises Exception itself
            raise RunError(f"{path} is damaged or not a tokenizer of regard: copy the run again") from None


def shown_by(decoder: dict[str, Any]) -> Shown:
    """How tokens look, by what puts them together again."""
    match decoder:
        case {"type": "WordPiece", "prefix": str(prefix)}:
            return lambda token, _: (token.removeprefix(prefix) if token.startswith(prefix) else f"▁{token}", False)
        case {"type": "BPEDecoder", "suffix": str(suffix)}:
            return lambda token, begins: ("▁" * begins + token.removesuffix(suffix), token.endswith(suffix))
        case {"type": "ByteLevel"}:
            spelled = needed("tokenizers", "import").decoders.ByteLevel()

            def bytewise(token: str, _: bool) -> tuple[str, bool]:
                text = spelled.decode([token])
                return (token if "\ufffd" in text else text).translate(SEEN), False

            return bytewise
        case _:
            return lambda token, _: (token.translate(SEEN), False)
