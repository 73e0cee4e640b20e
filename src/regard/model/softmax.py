"""The softmax of long rows by a kernel in C, compiled on the machine that runs it; by torch where there is none."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from regard.compiled import Kernel, kernel_of, opened, plain

SOURCE = Path(__file__).with_suffix(".c")
CHECK = "import sys; from regard.model.softmax import check; check(sys.argv[1])"
TAKES = {"softmax": [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]}


def softmax_(logits: Tensor) -> Tensor:
    """Turn each row of logits (…, V) into its softmax, in place; what is returned is log Σ exp of each, (…)."""
    ours = kernel().library if torch.get_num_threads() == 1 and plain(logits) and logits.is_contiguous() else None
    if ours:
        return normalized(ours, logits)
    top = logits.amax(-1)
    torch.softmax(logits, -1, out=logits)
    return top - logits.amax(-1).log()  # the softmax of the top is at least 1 / V


def normalized(ours: ctypes.CDLL, logits: Tensor) -> Tensor:
    normalizers = logits.new_empty(logits.shape[:-1])
    ours.softmax(normalizers.numel(), logits.size(-1), logits.data_ptr(), normalizers.data_ptr())
    return normalizers


# Where the kernel comes from.


@cache
def kernel() -> Kernel:
    """The same all the time."""
    return kernel_of(SOURCE, CHECK, TAKES)


def check(path: str) -> None:
    """Hold the kernel in a file against torch's softmax; raises where they differ."""
    ours = opened(path, TAKES)
    torch.manual_seed(0)
    for columns in (5, 64, 203):
        logits = 9 * torch.randn(7, columns)
        expected, normalizers = logits.softmax(-1), logits.logsumexp(-1)
        torch.testing.assert_close(normalized(ours, logits), normalizers)
        torch.testing.assert_close(logits, expected)
