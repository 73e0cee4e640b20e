"""Examples side by side, grouped by length under a token budget, in an order that can be taken up again.

Measured    an example of any task, as far as its place in a batch goes; Example is a translator's
Batch       a few of them as tensors, a row each; PairBatch is a translator's
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self, TypeVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from regard.tokens.text import BOS, PAD


class Measured(Protocol):
    """What can be put into a batch."""

    @property
    def size(self) -> int:
        """What it takes of a batch's budget."""
        ...

    @property
    def likeness(self) -> tuple[int, ...]:
        """What those that stand side by side should have in common; of one size first of all."""
        ...


class Example(NamedTuple):
    """One pair as ids, each side ending in EOS; a language tag, if there is one, opens the source."""

    source: list[int]
    target: list[int]
    links: Sequence[tuple[int, int]] = ()  # gold, (source token, target token)

    @property
    def size(self) -> int:
        """What it takes of a batch's budget: its longer side."""
        return max(len(self.source), len(self.target))

    @property
    def likeness(self) -> tuple[int, ...]:
        return self.size, len(self.target) - len(self.source)


E = TypeVar("E", bound=Measured)
B = TypeVar("B", bound="Batch")
Epochs = Callable[[int], Sequence[E]]  # a corpus as it is to be read in epoch 0, 1, …


@dataclass(frozen=True)
class Batch(ABC):
    """Examples side by side: tensors, each with a row for every example."""

    @property
    @abstractmethod
    def tokens(self) -> int:
        """What there is to learn from: the labels."""

    @property
    def work(self) -> int:
        """How much there is to compute, in tokens; where few labels stand for much that is read, more than these."""
        return self.tokens

    def to(self, device: torch.device) -> Self:
        return type(self)(*(tensor.to(device) for tensor in vars(self).values()))

    def cut(self, parts: int) -> Sequence[Self]:
        """As many batches, or fewer where there are fewer rows, with about as many rows each."""
        return self.cut_at(min(parts, len(next(iter(vars(self).values())))))

    def cut_at(self, places: int | list[int]) -> Sequence[Self]:
        """Cut before these rows, or into so many parts of like length."""
        columns = (tensor.tensor_split(places) for tensor in vars(self).values())
        return [type(self)(*part) for part in zip(*columns, strict=True)]


@dataclass(frozen=True)
class PairBatch(Batch):
    """Sentence pairs side by side, padded at the end. B sentences, S and T the longest source and target."""

    source: Tensor  # (B, S) ids
    readable: Tensor  # (B, S) True where the source is a token
    target: Tensor  # (B, T) BOS and the target: what the decoder reads
    labels: Tensor  # (B, T) the target and EOS: what it is to say next
    wanted: Tensor  # (B, T) True where there is a label
    gold: Tensor  # (B, T, S) where the step that reads a token is to look; (B, 0, 0) where no links are known

    @property
    def tokens(self) -> int:
        """Target tokens."""
        return int(self.wanted.sum())

    def cut(self, parts: int) -> Sequence[Self]:
        """As many batches, each without the padding that only the others need, with about as much to compute."""
        lengths = torch.stack([self.readable.sum(1), self.wanted.sum(1)], dim=1)
        return [part.trimmed() for part in self.cut_at(even(lengths, min(parts, len(lengths))))]

    def trimmed(self) -> Self:
        s, t = (int(taken.sum(1).max()) for taken in (self.readable, self.wanted))
        sides = self.source[:, :s], self.readable[:, :s], self.target[:, :t], self.labels[:, :t], self.wanted[:, :t]
        return type(self)(*sides, self.gold[:, :t, :s])


def even(lengths: Tensor, parts: int) -> list[int]:
    """Where to cut rows of some lengths (B, sides) into so many parts of like area, padding included; none is empty."""
    places = [0]
    for others in range(parts - 1, 0, -1):
        rest = lengths[places[-1] :]
        rows = torch.arange(1, len(rest) + 1)
        first, last = (side.cummax(0).values.sum(1) * rows for side in (rest, rest.flip(0)))  # areas of 1, 2, … rows
        unlike = (first[:-1] * others - last.flip(0)[1:]).abs()  # if the next part has 1, 2, … rows
        places.append(places[-1] + 1 + int(unlike[: len(rest) - others].argmin()))
    return places[1:]


def pad(rows: Sequence[Sequence[int]]) -> Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)  # (B, longest)


def collate(examples: Sequence[Example]) -> PairBatch:
    source = pad([example.source for example in examples])
    labels = pad([example.target for example in examples])
    target = pad([[BOS, *example.target[:-1]] for example in examples])
    lengths = torch.tensor([[len(example.source), len(example.target)] for example in examples])
    readable = torch.arange(source.size(1)) < lengths[:, :1]
    wanted = torch.arange(labels.size(1)) < lengths[:, 1:]
    return PairBatch(source, readable, target, labels, wanted, gold(examples, (*labels.shape, source.size(1))))


def gold(examples: Sequence[Example], shape: tuple[int, ...]) -> Tensor:
    """Weights, equal over the source tokens that a target token is linked to, at the step that reads it.

    That step is one later than the token's own; a token without links has no weight at all.
    """
    if not any(example.links for example in examples):
        return torch.zeros(len(examples), 0, 0)
    weights = torch.zeros(shape)  # (B, T, S)
    for row, example in enumerate(examples):
        for source, target in example.links:
            weights[row, target + 1, source] = 1.0
    return weights / weights.sum(-1, keepdim=True).clamp(min=1.0)


def grouped(examples: Sequence[Measured], budget: int, order: Sequence[int]) -> list[list[int]]:
    """Indices in groups of like length: rows × largest size ≤ budget, and every index once.

    A single example over the budget stands alone rather than be lost; corpora are cut to `data.max_tokens` before.
    Within one length the given order holds, so that a shuffled order gives other neighbours each time.
    """
    groups: list[list[int]] = []
    longest = 0
    for index in sorted(order, key=lambda i: examples[i].likeness):
        longest = max(longest, examples[index].size)
        if not groups or longest * (len(groups[-1]) + 1) > budget:
            groups.append([])
            longest = examples[index].size
        groups[-1].append(index)
    return groups


@dataclass
class Place:
    """How far training has read: the next batch is number `batch` of epoch `epoch`."""

    epoch: int = 0
    batch: int = 0


def endless(
    corpus: Epochs[E], collate: Callable[[Sequence[E]], B], budget: int, seed: int, place: Place
) -> Iterator[B]:
    """Batches for ever, each epoch in an order of its own that depends on seed and epoch alone; moves `place` along."""
    while True:
        examples = corpus(place.epoch)
        shuffle = random.Random(f"{seed} {place.epoch}")
        order = list(range(len(examples)))
        shuffle.shuffle(order)
        groups = grouped(examples, budget, order)
        shuffle.shuffle(groups)
        while place.batch < len(groups):
            group = groups[place.batch]
            place.batch += 1
            yield collate([examples[i] for i in group])
        place.epoch, place.batch = place.epoch + 1, 0


def in_order(examples: Sequence[E], collate: Callable[[Sequence[E]], B], budget: int) -> Iterator[B]:
    """Every example once, shortest first: for validation."""
    for group in grouped(examples, budget, range(len(examples))):
        yield collate([examples[i] for i in group])
