"""Attention of short sequences by a kernel in C, compiled on the machine that runs it; torch's where there is none.

A sentence is some twenty tokens. Torch's fused kernel, made for thousands, spends most of its time there on getting
ready: a sixth of a small network's training. Ours takes half of that. It needs a C compiler; where none is found, or
what it made does not work, everything goes on with torch's kernel, and its results are the same to rounding.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.compiled import Kernel, kernel_of, opened, plain

SOURCE = Path(__file__).with_suffix(".c")
FEW = 2  # threads up to which one, ours, is faster than all of them with torch's kernel
CHECK = "import sys; from regard.model.kernel import check; check(sys.argv[1])"


def short_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(q kᵀ / √d) v, (B, H, T, d), as torch's fused kernel has it, by ours where it can."""
    ours = kernel().library if may_suit(q, k, v, mask) else None
    if ours and fits(ours, max(q.size(2), k.size(2)), q.size(3)):
        return ShortAttention.apply(ours, q, k, v, mask)  # pyright: ignore[reportReturnType]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def may_suit(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> bool:
    """Whether these are for a kernel like ours: plain tensors of float32 on the CPU, none broadcast to another."""
    if torch.get_num_threads() > FEW or not all(map(plain, (q, k, v))):
        return False
    if q.dim() != 4 or k.shape != v.shape or q.shape[:2] != k.shape[:2] or q.size(3) != k.size(3):
        return False
    return mask is None or plain(mask, torch.bool)


def fits(ours: ctypes.CDLL, length: int, features: int) -> bool:
    """Whether sequences are short, and the features of a head make whole vectors."""
    return length <= ours.longest() and features <= ours.widest() and features % ours.lanes() == 0


class ShortAttention(torch.autograd.Function):
    """The kernel and its way back. B sentences, H heads, T queries, S keys, d features of a head."""

    @staticmethod
    def forward(ctx: Any, ours: ctypes.CDLL, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = (whole_rows(x) for x in (q, k, v))
        (B, H, T, d), S = q.shape, k.size(2)
        sizes = Sizes(B, H, T, S, d)
        weights, output = weights_for(ours, sizes), empty_like(q)
        may = Permission.of(mask, sizes)
        ours.forward(sizes, array(q), array(k), array(v), may, weights.data_ptr(), array(output))
        ctx.save_for_backward(q, k, v, weights)
        ctx.ours, ctx.sizes = ours, sizes
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        q, k, v, weights = ctx.saved_tensors
        gradient = whole_rows(gradients[0])
        found = [empty_like(x) for x in (q, k, v)]
        given = array(q), array(k), array(v), weights.data_ptr(), array(gradient)
        ctx.ours.backward(ctx.sizes, *given, *(array(x) for x in found))
        return None, *found, None


def weights_for(ours: ctypes.CDLL, n: Sizes) -> Tensor:
    """Room for the weights, which the way back reads: a row for each key, in whole vectors."""
    return torch.empty(n.B, n.H, n.S, -(-n.T // ours.lanes()) * ours.lanes(), dtype=torch.float32)


def empty_like(x: Tensor) -> Tensor:
    """(B, H, T, d) with nothing in it, which lies as (B, T, H · d) does: the heads of a token side by side."""
    return torch.empty_permuted(x.shape, (0, 2, 1, 3))


def whole_rows(x: Tensor) -> Tensor:
    x = x.resolve_neg()
    return x if x.stride(-1) == 1 else x.contiguous()


# What passes between Python and C: see kernel.c.


class Sizes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in "BHTSd"]


class Array(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), *((name, ctypes.c_int64) for name in ("sentence", "head", "row"))]


class Permission(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), *((name, ctypes.c_int64) for name in ("sentence", "head", "query", "key"))]

    @classmethod
    def of(cls, mask: Tensor | None, n: Sizes) -> Permission:
        """Valid as long as the mask is."""
        if mask is None:
            return cls()
        mask = mask.expand(n.B, n.H, n.T, n.S)
        return cls(mask.data_ptr(), *mask.stride())


def array(x: Tensor) -> Array:
    return Array(x.data_ptr(), *x.stride()[:3])


WEIGHTS = ctypes.c_void_p
TAKES = {
    "forward": [Sizes, Array, Array, Array, Permission, WEIGHTS, Array],
    "backward": [Sizes, Array, Array, Array, WEIGHTS, Array, Array, Array, Array],
    **dict.fromkeys(("lanes", "longest", "widest"), ()),
}


# Where it comes from.


@cache
def kernel() -> Kernel:
    """The same all the time."""
    return kernel_of(SOURCE, CHECK, TAKES)


def check(path: str) -> None:
    """Hold the kernel in a file against torch's, forward and backward; raises where they differ."""
    ours = opened(path, TAKES)
    torch.manual_seed(0)
    for rows, heads, queries, keys in ((3, 2, 17, 5), (2, 3, 4, 33)):
        q, k, v = (torch.randn(rows, heads, n, 2 * ours.lanes(), requires_grad=True) for n in (queries, keys, keys))
        mask = torch.rand(rows, 1, queries, keys) < 0.7
        mask[..., 0] = True
        own, others = ShortAttention.apply(ours, q, k, v, mask), F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        gradient = torch.randn_like(others)
        for one, other in zip(
            (own, *torch.autograd.grad(own, (q, k, v), gradient)),  # pyright: ignore[reportArgumentType]
            (others, *torch.autograd.grad(others, (q, k, v), gradient)),
            strict=True,
        ):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
