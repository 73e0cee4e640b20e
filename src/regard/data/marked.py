"""Texts of which some tokens have a label, as examples and as batches: what was hidden there, or the tag of a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from regard.data.batch import Batch, pad


class Marked(NamedTuple):
    """A text as ids, and the labels of some of them."""

    ids: list[int]
    places: list[int]  # of the tokens with labels, in their order
    labels: list[int]

    @property
    def size(self) -> int:
        return len(self.ids)

    @property
    def likeness(self) -> tuple[int, ...]:
        return (self.size,)


@dataclass(frozen=True)
class MarkedBatch(Batch):
    """Such texts side by side, padded at the end. B texts, T the longest."""

    ids: Tensor  # (B, T)
    readable: Tensor  # (B, T) True where there is a token
    labels: Tensor  # (B, T)
    wanted: Tensor  # (B, T) True where there is a label

    @property
    def tokens(self) -> int:
        return int(self.wanted.sum())

    @property
    def work(self) -> int:
        return self.ids.numel()


def collate_marked(examples: Sequence[Marked]) -> MarkedBatch:
    ids = pad([example.ids for example in examples])
    readable = torch.arange(ids.size(1)) < torch.tensor([[example.size] for example in examples])
    labels, wanted = torch.zeros_like(ids), torch.zeros_like(readable)
    for row, example in enumerate(examples):
        labels[row, example.places] = torch.tensor(example.labels, dtype=torch.long)
        wanted[row, example.places] = True
    return MarkedBatch(ids, readable, labels, wanted)
