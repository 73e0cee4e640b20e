"""Our kernel for attention over sentences beside torch's: milliseconds of one core, forward and backward.

    .venv/bin/python benchmarks/attention.py

About 2,000 tokens in sentences of one length, four heads, queries, keys and values as slices of one matrix, and a mask
of the padding, as in training. The two take turns; each figure is the best of twenty, by processor time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.memory import keep_pages
from regard.model.kernel import kernel, short_attention

TOKENS, HEADS, ROUNDS = 2048, 4, 20
LENGTHS = 8, 10, 17, 27, 32, 64, 128


def attend(fused: Callable[..., Tensor], x: Tensor, mask: Tensor, gradient: Tensor) -> Tensor:
    q, k, v = (y.unflatten(-1, (HEADS, -1)).transpose(1, 2) for y in x.chunk(3, dim=-1))
    output = fused(q, k, v, mask).transpose(1, 2).flatten(2)
    return torch.autograd.grad(output, x, gradient)[0]


def milliseconds(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return 1000 * (time.process_time() - began)


def main() -> None:
    torch.set_num_threads(1)
    keep_pages()
    print(f"attention of short sequences by {kernel().why}")
    print("| features of a head | tokens of a sentence | torch, ms | ours, ms | × as fast |\n|---|---|---|---|---|")
    for features in (32, 64):
        for length in LENGTHS:
            rows = TOKENS // length
            x = torch.randn(rows, length, 3 * HEADS * features, requires_grad=True)
            mask = (torch.arange(length) < torch.randint(1, length + 1, (rows, 1)))[:, None, None]
            gradient = torch.randn(rows, length, HEADS * features)
            sides = [
                partial(attend, fused, x, mask, gradient) for fused in (F.scaled_dot_product_attention, short_attention)
            ]
            torch.testing.assert_close(sides[0](), sides[1](), rtol=1e-4, atol=1e-4)
            rounds = [[milliseconds(side) for side in sides] for _ in range(ROUNDS)]
            theirs, own = map(min, zip(*rounds, strict=True))
            print(f"| {features} | {length} | {theirs:.2f} | {own:.2f} | {theirs / own:.1f} |")


if __name__ == "__main__":
    main()
