"""What is to be told apart: texts or pictures with a class each, as corpora, as examples and as batches.

A file of labelled texts is a TSV, text, tab, label on each line, read by the rules of `data.corpus`; a label is one
word or several. `data.pictures` reads pictures. Whatever it is, a batch says what its network takes in, and its labels.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import Batch, pad
from regard.data.corpus import blank, read_lines
from regard.data.pictures import places_among
from regard.errors import DataError
from regard.tokens.image import to_tensor


@dataclass(frozen=True)
class Texts:
    """Texts with a class each."""

    texts: tuple[str, ...]
    labels: np.ndarray  # (N,) places in names
    names: tuple[str, ...]  # of the classes

    def __len__(self) -> int:
        return len(self.texts)

    def at(self, places: np.ndarray) -> Texts:
        """Those at some places, in that order."""
        return replace(self, texts=tuple(self.texts[place] for place in places), labels=self.labels[places])

    def under(self, names: Sequence[str]) -> Texts:
        """The same with their classes numbered as in `names`, which a model has learned."""
        return replace(self, labels=places_among(names, self.names)[self.labels], names=tuple(names))


def read_labelled(path: Path) -> Texts:
    """The texts of a TSV, their classes in the order of their names."""
    texts, labels = [], []
    for number, line in enumerate(read_lines(path), start=1):
        text, tab, label = line.rpartition("\t")
        if not tab:
            raise DataError(f"{path}, line {number}: there is no tab: write text, tab, label on each line")
        if blank(text) or blank(label):
            raise DataError(f"{path}, line {number}: the text or its label is empty: write both, or remove the line")
        texts.append(text)
        labels.append(label.strip())
    if not texts:
        raise DataError(f"{path} is empty: give a file with text, tab, label on each line")
    names, places = np.unique(labels, return_inverse=True)
    return Texts(tuple(texts), places, tuple(map(str, names)))


S = TypeVar("S")


class Parts(NamedTuple, Generic[S]):
    """A corpus in two: what is learned from, and what validates it."""

    train: S
    valid: S


class Text(NamedTuple):
    """A text as ids, and its class."""

    ids: list[int]
    label: int

    @property
    def size(self) -> int:
        return len(self.ids)

    @property
    def likeness(self) -> tuple[int, ...]:
        return (self.size,)


class Picture(NamedTuple):
    """A picture, its class, and how many patches a network cuts it into."""

    pixels: np.ndarray  # (H, W, C), 0 … 255
    label: int
    size: int

    @property
    def likeness(self) -> tuple[int, ...]:
        return (self.size,)


@dataclass(frozen=True)
class LabelledBatch(Batch):
    labels: Tensor  # (B,)

    @property
    @abstractmethod
    def inputs(self) -> tuple[Tensor, ...]:
        """What the network reads."""

    @property
    def tokens(self) -> int:
        return len(self.labels)

    @property
    def work(self) -> int:
        return self.inputs[0].numel()


@dataclass(frozen=True)
class LabelledTexts(LabelledBatch):
    """Texts side by side, padded at the end. B texts, T tokens of the longest."""

    ids: Tensor  # (B, T)
    readable: Tensor  # (B, T) True where there is a token

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self.ids, self.readable


@dataclass(frozen=True)
class LabelledPictures(LabelledBatch):
    pictures: Tensor  # (B, C, H, W), −1 … 1

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return (self.pictures,)


def collate_texts(examples: Sequence[Text]) -> LabelledTexts:
    ids = pad([example.ids for example in examples])
    lengths = torch.tensor([[example.size] for example in examples])
    labels = torch.tensor([example.label for example in examples])
    return LabelledTexts(labels, ids, torch.arange(ids.size(1)) < lengths)


def collate_pictures(examples: Sequence[Picture]) -> LabelledPictures:
    pixels = np.stack([example.pixels for example in examples])
    return LabelledPictures(torch.tensor([example.label for example in examples]), to_tensor(pixels))
