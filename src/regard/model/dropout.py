"""Dropout that a CPU can afford, by a kernel in C where there is one."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.compiled import Kernel, kernel_of, opened, plain

SOURCE = Path(__file__).with_suffix(".c")
CHECK = "import sys; from regard.model.dropout import check; check(sys.argv[1])"
SIZE, NUMBERS = ctypes.c_int64, ctypes.c_void_p
TAKES = {"drop": [SIZE, NUMBERS, NUMBERS, SIZE, NUMBERS, NUMBERS]}
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

    def forward(self, x: Tensor, onto: Tensor | None = None) -> Tensor:
        """What is left of x, added to what went past it, if something did."""
        if not self.training or not self.p:
            return x if onto is None else onto + x
        if x.device.type == "cpu":
            return Dropped.apply(x, onto, random_bytes(x.numel()), min(max(round(self.p * BYTE), 1), BYTE - 1))
        left = F.dropout(x, self.p)
        return left if onto is None else onto + left

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Dropped(torch.autograd.Function):
    """onto + x · keep · scale, where keep is 0 for the numbers whose byte is less than `of_256`.

    The gradient is dropped as x was: by the same bytes.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, onto: Tensor | None, draws: Tensor, of_256: int) -> Tensor:
        ctx.save_for_backward(draws)
        ctx.of_256 = of_256
        ours = library(x, onto)
        if ours:
            return dropped(ours, x, onto, draws, of_256)
        left = (x * (draws >= of_256).view(x.shape)).mul_(BYTE / (BYTE - of_256))
        return left if onto is None else onto + left

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (draws,) = ctx.saved_tensors
        (gradient,), (_, past, _, _) = gradients, ctx.needs_input_grad
        return Dropped.apply(gradient, None, draws, ctx.of_256), gradient if past else None, None, None


def library(x: Tensor, onto: Tensor | None) -> ctypes.CDLL | None:
    """Our kernel, if it is one for these, for a thread that computes by itself."""
    if torch.get_num_threads() > 1 or not (plain(x) and x.is_contiguous()):
        return None
    if onto is not None and not (plain(onto) and onto.is_contiguous() and onto.shape == x.shape):
        return None
    return kernel().library


def dropped(ours: ctypes.CDLL, x: Tensor, onto: Tensor | None, draws: Tensor, of_256: int) -> Tensor:
    y = torch.empty_like(x)
    past = None if onto is None else onto.data_ptr()
    ours.drop(x.numel(), x.data_ptr(), draws.data_ptr(), of_256, past, y.data_ptr())
    return y


class Draws(threading.local):
    """Where this thread draws from: a generator of its own, or torch's."""

    generator: torch.Generator | None = None


DRAWS = Draws()


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Within, this thread's dropout draws from the generator, so that other threads' draws do not change it."""
    DRAWS.generator = generator
    try:
        yield
    finally:
        DRAWS.generator = None


def random_bytes(count: int) -> Tensor:
    """As many uniform bytes, eight from each draw."""
    draws = torch.empty(-(-count // 8), dtype=torch.int64).random_(-(2**63), None, generator=DRAWS.generator)
    return draws.view(torch.uint8)[:count]


# Where the kernel comes from.


@cache
def kernel() -> Kernel:
    """The same all the time."""
    return kernel_of(SOURCE, CHECK, TAKES)


def check(path: str) -> None:
    """Hold the kernel in a file against what dropout is; raises where they differ."""
    ours = opened(path, TAKES)
    x, onto, draws = torch.randn(5, 77), torch.randn(5, 77), random_bytes(385)
    left = x * (draws >= 40).view(x.shape) * (BYTE / (BYTE - 40))
    torch.testing.assert_close(dropped(ours, x, None, draws, 40), left)
    torch.testing.assert_close(dropped(ours, x, onto, draws, 40), onto + left)
