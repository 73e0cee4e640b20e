"""Dropout that a CPU can afford."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BYTE = 256


class Dropout(nn.Module):
    """Sets each number to 0 with probability p while training, and scales the others so that the mean stays.

    On a CPU torch spends about 8 ns on each Bernoulli draw, more than on the number's share of the matmuls around it in
    a small network. Here every number gets one byte of a 64-bit draw, so p is rounded to a multiple of 1/256, and the
    scale with it. On other devices this is torch's own dropout.
    """

    def __init__(self, p: float = 0.0):
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.p:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        return Dropped.apply(x, min(max(round(self.p * BYTE), 1), BYTE - 1))

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Dropped(torch.autograd.Function):
    """x · keep · scale, where keep is 0 for `of_256` in 256 of the numbers."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, of_256: int) -> Tensor:
        keep = random_bytes(x.numel()).ge_(of_256).view(x.shape)  # 0 or 1 in each byte
        ctx.save_for_backward(keep)
        ctx.scale = BYTE / (BYTE - of_256)
        return (x * keep).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (keep,) = ctx.saved_tensors
        return (gradients[0] * keep).mul_(ctx.scale), None


class Source(threading.local):
    """Where this thread draws from: a generator of its own, or torch's."""

    generator: torch.Generator | None = None


SOURCE = Source()


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Within, this thread's dropout draws from the generator, so that other threads' draws do not change it."""
    SOURCE.generator = generator
    try:
        yield
    finally:
        SOURCE.generator = None


def random_bytes(count: int) -> Tensor:
    """As many uniform bytes, eight from each draw."""
    draws = torch.empty(-(-count // 8), dtype=torch.int64).random_(-(2**63), None, generator=SOURCE.generator)
    return draws.view(torch.uint8)[:count]
