"""Which way a pair is translated."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from regard.config import DataConfig
from regard.data.corpus import Pair
from regard.errors import ConfigError


class Directed(NamedTuple):
    """A pair and the language asked for; None where a run goes one way only."""

    source: str
    target: str
    to: str | None = None


def directed(pairs: Sequence[Pair], data: DataConfig) -> list[Directed]:
    """The pairs as they are to be learned: source → target, and target → source too where both ways are asked for."""
    if data.tags != "none":
        raise ConfigError(
            f"data.tags={data.tags} is of imported runs, and pairs are of two languages: "
            "leave it at none, or set data.both_ways"
        )
    if not data.both_ways:
        return [Directed(pair.source, pair.target) for pair in pairs]
    first, second = data.languages
    there = [Directed(pair.source, pair.target, second) for pair in pairs]
    back = [Directed(pair.target, pair.source, first) for pair in pairs]
    return [each for both in zip(there, back, strict=True) for each in both]


def set_aside(pairs: Sequence[Pair], size: int, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Training and validation parts that share no source and no target sentence; at most a tenth is set aside."""
    groups = linked(pairs)
    random.Random(f"{seed} set aside").shuffle(groups)
    size = min(size, len(pairs) // 10)
    aside: set[int] = set()
    for group in groups:
        if len(aside) + len(group) <= size:
            aside.update(group)
    train = [pair for index, pair in enumerate(pairs) if index not in aside]
    return train, [pairs[index] for index in sorted(aside)]


def linked(pairs: Sequence[Pair]) -> list[list[int]]:
    """Indices of the pairs in groups that hang together by a shared source or target sentence."""
    root = list(range(len(pairs)))

    def find(index: int) -> int:
        while root[index] != index:
            root[index] = root[root[index]]
            index = root[index]
        return index

    first: dict[tuple[int, str], int] = {}
    for index, pair in enumerate(pairs):
        for side, text in enumerate(pair[:2]):
            root[find(index)] = find(first.setdefault((side, text), index))
    groups: dict[int, list[int]] = {}
    for index in range(len(pairs)):
        groups.setdefault(find(index), []).append(index)
    return list(groups.values())
