"""Our kernel for matrices beside torch's: GFLOP/s of one core, for the three products of a linear map.

    .venv/bin/python benchmarks/matmul.py

About 2,000 tokens, as a thread has of a batch of 4,096, and the widths of tiny, small and base of benchmarks/train.py;
for the output projection the 512 rows that the loss takes at a time. The two take turns, on ever other operands, so
that no cache has them, as in a step; each figure is of the best of twelve.
"""

from __future__ import annotations

import ctypes
import tempfile
from itertools import cycle
from pathlib import Path

import torch
from torch import Tensor

from regard.compiled import compile_into, opened
from regard.memory import keep_pages
from regard.model import matmul
from regard.trial import quickest

CACHES = 2**27  # bytes, more than a processor keeps of what it has read
TOKENS = 1973  # as good as any: a number of tokens is seldom round
SHAPES = {
    "tiny": [(TOKENS, 128, 384), (TOKENS, 128, 128), (TOKENS, 128, 256), (TOKENS, 256, 128), (512, 128, 8000)],
    "small": [(TOKENS, 256, 768), (TOKENS, 256, 256), (TOKENS, 256, 1024), (TOKENS, 1024, 256), (512, 256, 8000)],
    "base": [(TOKENS, 512, 1536), (TOKENS, 512, 512), (TOKENS, 512, 2048), (TOKENS, 2048, 512), (512, 512, 8000)],
}


def compared(ours: ctypes.CDLL, a: Tensor, b: Tensor) -> str:
    """GFLOP/s of torch and of ours."""
    out = torch.empty(len(a), b.size(1))
    expected = a @ b
    torch.testing.assert_close(matmul.multiply(ours, a, b, out), expected, rtol=1e-3, atol=1e-3)
    count = 1 + CACHES // (4 * (a.numel() + b.numel() + out.numel()))
    others = cycle([[each.clone() for each in (a, b, out)] for _ in range(count)])
    seconds = quickest(lambda: multiply_by_torch(*next(others)), lambda: matmul.multiply(ours, *next(others)))
    theirs, own = (2 * a.numel() * b.size(1) / each / 1e9 for each in seconds)
    return f"{theirs:.0f} → {own:.0f}"


def multiply_by_torch(a: Tensor, b: Tensor, out: Tensor) -> Tensor:
    return torch.mm(a, b, out=out)


def main() -> None:
    torch.set_num_threads(1)
    keep_pages()
    print(f"matrices are multiplied in training by {matmul.kernel().why}")
    print("| network | tokens × from × to | x Wᵀ | dy W | dyᵀ x |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:  # compiled here, as it may not be the one that is used
        path = Path(folder) / "matmul.so"
        compile_into(path, matmul.SOURCE)
        ours = opened(path, matmul.TAKES)
        for network, shapes in SHAPES.items():
            for rows, width, to in shapes:
                x, matrix, gradient = torch.randn(rows, width), torch.randn(to, width), torch.randn(rows, to)
                pairs = (x, matrix.T), (gradient, matrix), (gradient.T, x)
                found = " | ".join(compared(ours, a, b) for a, b in pairs)
                print(f"| {network} | {rows} × {width} × {to} | {found} |", flush=True)


if __name__ == "__main__":
    main()
