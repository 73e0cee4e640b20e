"""Matrices multiplied in training by a kernel in C, compiled on the machine that runs it; by torch where there is none.

The matmuls are three quarters and more of a training step. On some processors torch's, which are made for others, leave
a tenth of what they could do, or half; there ours are used: the trial measures both. A thread computes its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.compiled import Kernel, kernel_of, opened, plain
from regard.trial import quickest

SOURCE = Path(__file__).with_suffix(".c")
CHECK = "import sys; from regard.model.matmul import check; check(sys.argv[1])"
FEW = 64  # rows, below which the way into the kernel costs more than it brings
HOOKS = "_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks"


class Linear(nn.Linear):
    """x Wᵀ + b, which learns by our kernel."""

    def forward(self, input: Tensor) -> Tensor:
        return affine(input, self.weight, self.bias) if self.training else F.linear(input, self.weight, self.bias)


def ordinary(*layers: nn.Module) -> bool:
    """Whether these are linear maps and rectifiers and no more: other layers, and hooks, ask to be called."""
    known = all(type(layer) in (nn.Linear, Linear, nn.ReLU) for layer in layers)
    return known and not any(getattr(layer, hooks) for layer in layers for hooks in HOOKS)


def affine(x: Tensor, matrix: Tensor, bias: Tensor) -> Tensor:
    """x Wᵀ + b, (…, N), by our kernel where it can; with a way back by it, too."""
    ours = library(x, matrix, bias)
    if ours and x.numel() >= FEW * x.size(-1) and fits(x.size(-1), matrix, bias):
        return Affine.apply(ours, x, matrix, bias)  # pyright: ignore[reportReturnType]
    return F.linear(x, matrix, bias)  # which also tells what does not fit


def fits(width: int, matrix: Tensor, bias: Tensor) -> bool:
    """Whether these map states of that width: the kernel would read behind what is too small."""
    return matrix.shape == (len(bias), width) and bias.is_contiguous()


def library(*given: Tensor) -> ctypes.CDLL | None:
    """Our kernel, if it is one for these: plain tensors of float32 on the CPU, for a thread that computes by itself."""
    if torch.get_num_threads() > 1 or torch.is_autocast_enabled("cpu"):
        return None
    return kernel().library if all(map(plain, given)) else None


class Affine(torch.autograd.Function):
    """y = x Wᵀ + b:  dx = dy W,  dW = dyᵀ x,  db = Σ dy."""

    @staticmethod
    def forward(ctx: Any, ours: ctypes.CDLL, x: Tensor, matrix: Tensor, bias: Tensor) -> Tensor:
        ctx.ours = ours
        ctx.save_for_backward(x, matrix)
        return mapped(ours, x, matrix, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        x, matrix = ctx.saved_tensors
        to_x, *others = back(ctx.ours, rows_of(gradients[0]), rows_of(x), matrix, ctx.needs_input_grad[1:])
        return None, None if to_x is None else to_x.view(x.shape), *others


def mapped(ours: ctypes.CDLL, x: Tensor, matrix: Tensor, bias: Tensor) -> Tensor:
    """x Wᵀ + b, (…, N)."""
    output = x.new_empty(*x.shape[:-1], len(matrix))
    rows = rows_of(output)
    multiply(ours, rows_of(x), matrix.T, rows, begin=bias.expand(rows.shape))
    return output


def back(
    ours: ctypes.CDLL,
    gradient: Tensor,
    given: Tensor,
    matrix: Tensor,
    needed: Sequence[bool] = (True, True, True),
    gate: Tensor | None = None,
) -> tuple[Tensor | None, ...]:
    """From dy of y = x Wᵀ + b to dx, which may be gated, dW and db; x and dy as rows."""
    to_x, to_matrix, to_bias = needed
    return (
        multiply(ours, gradient, matrix, torch.empty_like(given), gate=gate) if to_x else None,
        multiply(ours, gradient.T, given, matrix.new_empty(matrix.shape)) if to_matrix else None,
        gradient.sum(0) if to_bias else None,
    )


def rectified(x: Tensor, inner: nn.Linear, outer: nn.Linear) -> Tensor:
    """max(0, x W₁ᵀ + b₁) W₂ᵀ + b₂, by our kernel where it can."""
    parameters = inner.weight, inner.bias, outer.weight, outer.bias
    ours = library(x, *parameters)
    width, hidden = x.size(-1), len(inner.weight)
    fitting = fits(width, inner.weight, inner.bias) and fits(hidden, outer.weight, outer.bias)
    if ours and fitting and x.numel() >= FEW * width:
        return Rectified.apply(ours, x, *parameters)  # pyright: ignore[reportReturnType]
    return affine(F.relu(affine(x, inner.weight, inner.bias)), outer.weight, outer.bias)


class Rectified(torch.autograd.Function):
    """y = h W₂ᵀ + b₂ with h = max(0, x W₁ᵀ + b₁):  dh = dy W₂ where h > 0, and the rest as of two affine maps.

    Both ways the rectifier is a last touch to a tile of a product before it is written: of its own it would take a pass
    over the widest states of a network forth and another back.
    """

    @staticmethod
    def forward(ctx: Any, ours: ctypes.CDLL, x: Tensor, inner: Tensor, b1: Tensor, outer: Tensor, b2: Tensor) -> Tensor:
        given = rows_of(x)
        hidden = given.new_empty(len(given), len(inner))
        multiply(ours, given, inner.T, hidden, begin=b1.expand(hidden.shape), gate=hidden)
        ctx.ours = ours
        ctx.save_for_backward(x, hidden, inner, outer)
        return mapped(ours, hidden, outer, b2).view(*x.shape[:-1], -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        x, hidden, inner, outer = ctx.saved_tensors
        to_hidden, *to_outer = back(ctx.ours, rows_of(gradients[0]), hidden, outer, gate=hidden)
        assert to_hidden is not None
        to_x, *to_inner = back(ctx.ours, to_hidden, rows_of(x), inner)
        return None, None if to_x is None else to_x.view(x.shape), *to_inner, *to_outer


def rows_of(x: Tensor) -> Tensor:
    """(…, N) → (rows, N), each row's numbers side by side."""
    return x.reshape(-1, x.size(-1)).contiguous()


def product(a: Tensor, b: Tensor, out: Tensor | None = None, *, add: bool = False) -> Tensor:
    """a b of two matrices, a new one or put into `out`, or added to it; by our kernel where it can."""
    ours = library(a, b) if out is None or out.stride(1) == 1 else None
    if ours and a.size(1) == len(b) and 1 in a.stride():
        to = a.new_empty(len(a), b.size(1)) if out is None else out
        return multiply(ours, a, b, to, begin=out if add else None)
    if out is None:
        return a @ b
    return out.addmm_(a, b) if add else out.copy_(a @ b)


def multiply(
    ours: ctypes.CDLL, a: Tensor, b: Tensor, out: Tensor, begin: Tensor | None = None, gate: Tensor | None = None
) -> Tensor:
    """out = begin + a b: (M, K) by (K, N); and 0 where the gate, which may be `out` itself, is not positive."""
    (rows, depth), columns = a.shape, b.size(1)
    first = (None, 0) if begin is None else (begin.data_ptr(), begin.stride(0))
    to = Result(out.data_ptr(), out.stride(0), *first, None if gate is None else gate.data_ptr())
    ours.multiply(rows, columns, depth, matrix_of(a), matrix_of(b), to)
    return out


def orthogonal(x: Tensor, rounds: Sequence[tuple[float, float, float]]) -> Tensor:
    """Of each X of (K, rows, columns), rows ≤ columns, what becomes of it round by round, by our kernel where it can:

    X ← (a I + b G + c G²) X,  G = X Xᵀ
    """
    if ours := library(x):
        return orthogonalise(ours, x.clone(memory_format=torch.contiguous_format), rounds)
    return orthogonal_by_torch(x, rounds)


def orthogonal_by_torch(x: Tensor, rounds: Sequence[tuple[float, float, float]]) -> Tensor:
    for a, b, c in rounds:
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


def orthogonalise(ours: ctypes.CDLL, x: Tensor, rounds: Sequence[tuple[float, float, float]]) -> Tensor:
    """The same in place."""
    (count, rows, columns), abc = x.shape, torch.tensor(rounds)
    room = x.new_empty(3 * rows**2 + rows * columns)
    ours.orthogonal(count, rows, columns, x.data_ptr(), len(rounds), abc.data_ptr(), room.data_ptr())
    return x


# What passes between Python and C: see matmul.c.


class Matrix(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("row", ctypes.c_int64), ("column", ctypes.c_int64)]


class Result(ctypes.Structure):
    _fields_ = [
        ("at", ctypes.c_void_p),
        ("row", ctypes.c_int64),
        ("begin", ctypes.c_void_p),
        ("step", ctypes.c_int64),
        ("gate", ctypes.c_void_p),
    ]


def matrix_of(x: Tensor) -> Matrix:
    return Matrix(x.data_ptr(), *x.stride())


COUNT, NUMBERS = ctypes.c_int64, ctypes.c_void_p
TAKES = {
    "multiply": [COUNT, COUNT, COUNT, Matrix, Matrix, Result],
    "orthogonal": [COUNT, COUNT, COUNT, NUMBERS, COUNT, NUMBERS, NUMBERS],
}


# Where it comes from.


@cache
def kernel() -> Kernel:
    """The same all the time."""
    return kernel_of(SOURCE, CHECK, TAKES)


def check(path: str) -> None:
    """Hold the kernel in a file against torch's: raises where results differ, and says so where it is no faster."""
    ours = opened(path, TAKES)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    own, others = 0.0, 0.0
    for rows, width, hidden in ((500, 128, 512), (499, 512, 1024), (130, 77, 1900)):
        x, matrix, gradient = (torch.randn(size) for size in ((rows, width), (hidden, width), (rows, hidden)))
        for a, b in ((x, matrix.T), (gradient, matrix), (gradient.T, x)):
            out = torch.empty(len(a), b.size(1))
            expected = a @ b
            torch.testing.assert_close(multiply(ours, a, b, out), expected, rtol=1e-3, atol=1e-3)
            gated = multiply(ours, a, b, torch.empty_like(out), begin=out, gate=out)
            torch.testing.assert_close(gated, (2 * expected) * (out > 0), rtol=1e-3, atol=1e-3)
            seconds = quickest(lambda a=a, b=b, out=out: multiply(ours, a, b, out), lambda a=a, b=b: torch.mm(a, b))
            own, others = own + seconds[0], others + seconds[1]
    x, rounds = torch.randn(3, 70, 130) / 100, [(3.0, -4.0, 2.0), (2.0, -1.5, 0.5)]
    torch.testing.assert_close(
        orthogonalise(ours, x.clone(), rounds), orthogonal_by_torch(x, rounds), rtol=1e-3, atol=1e-3
    )
    if own > others:
        print(f"ours takes {own / others:.2f} × as long here")
