"""Attention in one piece, for training: states to queries, keys and values, to heads, to what is made of them.

As attention.py has it, for everyone to see, that is two linear maps, the heads and a dozen views of tensors, each of
them a stop for autograd forth and back. A small network's step is hundreds of stops, at which a thread runs Python
while its core could multiply. The kernels for heads and for matrices do the work, so it needs both.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.compiled import plain
from regard.model import kernel, matmul
from regard.model.kernel import Array, Permission, Sizes, weights_for
from regard.model.matmul import back, mapped, ordinary, rows_of


class Kernels(NamedTuple):
    heads: ctypes.CDLL
    maps: ctypes.CDLL


def attended(
    x: Tensor, memory: Tensor | None, mask: Tensor | None, heads: int, qkv: nn.Linear, output: nn.Linear
) -> Tensor | None:
    """What x (B, T, D) takes from a memory (B, S, D), or from itself; none where our kernels cannot do it."""
    kernels = kernels_for(x, memory, mask, heads, qkv, output)
    if kernels is None:
        return None
    parameters = qkv.weight, qkv.bias, output.weight, output.bias
    return Attended.apply(kernels, heads, mask, x, memory, *parameters)  # pyright: ignore[reportReturnType]


def kernels_for(
    x: Tensor, memory: Tensor | None, mask: Tensor | None, heads: int, qkv: nn.Linear, output: nn.Linear
) -> Kernels | None:
    """Ours, if both are for these: plain, of sizes that go together, short, and enough of them."""
    if not ordinary(qkv, output):
        return None
    told, width = x if memory is None else memory, x.size(-1)
    maps = matmul.library(x, told, qkv.weight, qkv.bias, output.weight, output.bias)
    if maps is None or not (x.dim() == told.dim() == 3 and len(x) == len(told) and told.size(-1) == width):
        return None
    if not (matmul.fits(width, qkv.weight, qkv.bias) and matmul.fits(width, output.weight, output.bias)):
        return None
    few = min(x.numel(), told.numel()) < matmul.FEW * width
    if few or not (mask is None or plain(mask, torch.bool)):
        return None
    ours = kernel.kernel().library
    if ours is None or not kernel.fits(ours, max(x.size(1), told.size(1)), width // heads):
        return None
    return Kernels(ours, maps)


class Attended(torch.autograd.Function):
    """y = concat(softmax(q kᵀ / √d) v, for each head) W_Oᵀ + b_O, where q, k, v = x Wᵀ + b; or k, v of a memory.

    A side is what is mapped by a part of W: x by all of it; or x by its first third, and the memory by the others.
    Shapes: B sentences, T queries, S keys, D width, of which every head has d.
    """

    @staticmethod
    def forward(
        ctx: Any, kernels: Kernels, heads: int, mask: Tensor | None, x: Tensor, memory: Tensor | None, *given: Tensor
    ) -> Tensor:
        matrix, bias, outer, outer_bias = given
        sides = [x] if memory is None else [x, memory]
        projected = [
            mapped(kernels.maps, side, matrix[part], bias[part])
            for side, part in zip(sides, parts_for(sides), strict=True)
        ]  # (B, T, 3 D), or (B, T, D) and (B, S, 2 D)
        (B, T, D), S = x.shape, sides[-1].size(1)
        sizes = Sizes(B, heads, T, S, D // heads)
        weights, taken = weights_for(kernels.heads, sizes), x.new_empty(B, T, D)
        may = Permission.of(mask, sizes)
        kernels.heads.forward(sizes, *arrays(projected, sizes), may, weights.data_ptr(), *arrays([taken], sizes))
        ctx.kernels, ctx.sizes = kernels, sizes
        ctx.save_for_backward(matrix, outer, weights, taken, *projected, *sides)
        return mapped(kernels.maps, taken, outer, outer_bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        matrix, outer, weights, taken, *rest = ctx.saved_tensors
        projected, sides = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        (heads, maps), sizes = ctx.kernels, ctx.sizes
        to_taken, to_outer, to_outer_bias = back(maps, rows_of(gradients[0]), rows_of(taken), outer)
        assert to_taken is not None
        to_projected = [torch.empty_like(each) for each in projected]
        given = *arrays(projected, sizes), weights.data_ptr(), *arrays([to_taken.view(taken.shape)], sizes)
        heads.backward(sizes, *given, *arrays(to_projected, sizes))
        found = [
            back(maps, rows_of(gradient), rows_of(side), matrix[part])
            for side, part, gradient in zip(sides, parts_for(sides), to_projected, strict=True)
        ]
        to_sides, to_matrix, to_bias = zip(*found, strict=True)
        to_x, to_memory = (*(to.view(side.shape) for to, side in zip(to_sides, sides, strict=True)), None)[:2]
        return None, None, None, to_x, to_memory, torch.cat(to_matrix), torch.cat(to_bias), to_outer, to_outer_bias


def parts_for(sides: Sequence[Tensor]) -> list[slice]:
    """The rows of W by which each side is mapped."""
    width = sides[0].size(-1)
    return [slice(None)] if len(sides) == 1 else [slice(width), slice(width, None)]


def arrays(tensors: Sequence[Tensor], sizes: Sizes) -> Iterator[Array]:
    """Every D features of tensors (B, T, …) as heads."""
    width = sizes.H * sizes.d
    for each in tensors:
        for at in range(0, each.size(-1), width):
            yield Array(each.data_ptr() + at * each.element_size(), each.stride(0), sizes.d, each.stride(1))
