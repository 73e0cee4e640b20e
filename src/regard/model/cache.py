"""Keys and values kept between decoding steps, so that each step computes only what is new."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


class Kept:
    """What one attention keeps: keys and values, each (B, H, S, d)."""

    def __init__(self) -> None:
        self.pair: tuple[Tensor, Tensor] | None = None

    @property
    def length(self) -> int:
        """Positions already seen."""
        return 0 if self.pair is None else self.pair[0].size(2)

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values so far, the new ones last: a sequence that looks at itself as it grows."""
        if self.pair is not None:
            keys, values = torch.cat([self.pair[0], keys], dim=2), torch.cat([self.pair[1], values], dim=2)
        self.pair = keys, values
        return self.pair

    def once(self, compute: Callable[[], tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        """The keys and values of a memory, computed at the first step: a memory does not grow."""
        if self.pair is None:
            self.pair = compute()
        return self.pair

    def select(self, rows: Tensor) -> None:
        if self.pair is not None:
            self.pair = self.pair[0].index_select(0, rows), self.pair[1].index_select(0, rows)


class BlockCache:
    """What the two attentions of one block keep."""

    def __init__(self) -> None:
        self.own, self.memory = Kept(), Kept()


class Cache:
    """What a stack keeps, block by block."""

    def __init__(self, layers: int) -> None:
        self.blocks = [BlockCache() for _ in range(layers)]

    @property
    def length(self) -> int:
        return self.blocks[0].own.length

    def select_own(self, rows: Tensor) -> None:
        """Of what was written, keep these batch rows in this order; one may be taken twice (hypotheses that branch)."""
        for block in self.blocks:
            block.own.select(rows)

    def select_memory(self, rows: Tensor) -> None:
        """Of what is read, keep these batch rows in this order."""
        for block in self.blocks:
            block.memory.select(rows)
