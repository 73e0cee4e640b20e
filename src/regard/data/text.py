"""Plain text from files, as documents; as one stream of ids; and that cut into blocks.

    the files ──▶ documents ──▶ ids of one </s> ids of the next </s> …  ──▶  blocks

Before a block stands what the network has read before it. That is the token before, and <s> at the beginning of a
document, where texts are parted; so <s> means that one begins. Where nothing parts them, every block opens with
<s>, which then means: somewhere in the text, as a prompt may be.

A file is read by the rules of `data.corpus`: UTF-8, plain or compressed, and a line ends at \\n alone. It is one
document, or one for every paragraph where blank lines part them, or for every line; only what is so parted is closed by
</s>.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from regard.data.batch import Batch
from regard.data.corpus import blank, read_lines
from regard.errors import DataError
from regard.tokens.text import BOS, EOS


class Prose(NamedTuple):
    """A text to learn from and one to validate with, both as documents."""

    train: Sequence[str]
    valid: Sequence[str]

    @property
    def characters(self) -> int:
        return sum(map(len, self.train))


def read_documents(paths: Iterable[str | Path], parted_by: str = "files") -> list[str]:
    """The documents of some files, in their order; every line but a document's last ends in a line break."""
    documents: list[str] = []
    for path in map(Path, paths):
        lines = read_lines(path)
        if not any(line.strip() for line in lines):
            raise DataError(f"{path} holds no text: give a file with some")
        if parted_by == "lines":
            documents += [line for line in lines if not blank(line)]
        elif parted_by == "blank-lines":
            parts = groupby(lines, key=blank)
            documents += ["\n".join(part) for empty, part in parts if not empty]
        else:
            documents.append("".join(f"{line}\n" for line in lines))
    return documents


def set_aside(documents: Sequence[str], share: float) -> Prose:
    """The last share of all characters for validation, and what is before it to learn from."""
    room = int(sum(map(len, documents)) * (1 - share))
    train, valid = [], []
    for document in documents:
        train.append(document[:room])
        valid.append(document[room:])
        room = max(0, room - len(document))
    return Prose([text for text in train if text], [text for text in valid if text])


class Reader(Protocol):
    def encode(self, text: str) -> list[int]: ...


def stream(documents: Sequence[str], reader: Reader) -> Tensor:
    """The ids of all documents one after the other, each closed by </s> where there are several, (N)."""
    ids = array("i")
    for document in documents:
        ids.extend(reader.encode(document))
        if len(documents) > 1:
            ids.append(EOS)
    return torch.tensor(ids)


class Block(NamedTuple):
    """A stretch of a stream: what is to be said, a token after the other, and the id that stands before it."""

    ids: Tensor  # (T)
    before: int = BOS

    @property
    def size(self) -> int:
        return len(self.ids)

    @property
    def likeness(self) -> tuple[int, ...]:
        return (self.size,)


def blocks(ids: Tensor, size: int, seed: str, parted: bool = False) -> list[Block]:
    """The stream cut into whole blocks, the first of which begins somewhere else for another seed.

    What is left over at both ends is left out; another seed has it.
    """
    size = min(size, len(ids))
    first = random.Random(seed).randrange(min(size, len(ids) - size + 1))
    starts = range(first, len(ids) - size + 1, size)
    before = [int(ids[start - 1]) if parted and start else BOS for start in starts]
    return [Block(ids[start : start + size], id) for start, id in zip(starts, before, strict=True)]


@dataclass(frozen=True)
class TextBatch(Batch):
    """Blocks of one length side by side. B blocks of T tokens."""

    reads: Tensor  # (B, T) what stands before the block, and the block but its last token; for every </s>, <s>
    labels: Tensor  # (B, T) the block: what is to be said next

    @property
    def tokens(self) -> int:
        return self.labels.numel()


def collate_blocks(examples: Sequence[Block]) -> TextBatch:
    labels = torch.stack([example.ids for example in examples]).long()
    return TextBatch(read_late(labels, torch.tensor([example.before for example in examples])), labels)


def read_late(labels: Tensor, before: Tensor) -> Tensor:
    """What a network reads that is to say the labels (B, T): each a step later, and first what is before them (B)."""
    reads = torch.cat([before.unsqueeze(1), labels[:, :-1]], dim=1)
    return reads.masked_fill(reads == EOS, BOS)
