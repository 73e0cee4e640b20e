"""Attention: who looks at whom, how much, and what they take from it."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.model.attended import attended
from regard.model.cache import Kept
from regard.model.dropout import Dropout
from regard.model.kernel import short_attention
from regard.model.matmul import Linear, affine
from regard.model.order import Order


class Attention(nn.Module):
    """Multi-head attention of a sequence over itself, or over a memory.

        weights = softmax(Q Kᵀ / √d)                           Vaswani et al. 2017, equation 1
        output  = concat(weights_h V_h, for each head h) W     ibid., section 3.2.2

    What was added to x says where a token stands; or an `order`, for x that looks at itself, turns q and k or biases
    the scores.
    Shapes: B batch, T queries, S keys, D width, H heads, d = D / H width of one head.
    """

    def __init__(self, width: int, heads: int, dropout: float = 0.0, order: Order | None = None):
        super().__init__()
        if width % heads:
            raise ConfigError(f"width={width} does not split into heads={heads}: make width a multiple of heads")
        self.heads = heads
        self.dropout = Dropout(dropout)
        self.order = order or Order()
        self.qkv = Linear(width, 3 * width)  # one matmul for the three; a memory uses its last two thirds
        self.output = Linear(width, width)
        for matrix in self.qkv.weight.chunk(3):  # three matrices in one: each starts as if it stood alone
            nn.init.xavier_uniform_(matrix)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.qkv.bias)
        nn.init.zeros_(self.output.bias)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None, kept: Kept | None = None
    ) -> Tensor:
        """x (B, T, D) looks at memory (B, S, D), or at itself; mask broadcasts to (B, H, T, S), True may look.

        Where x has several rows for each of the memory's, they look at it together: hypotheses of one sentence.
        """
        if self.training and kept is None and type(self.order) is Order and not self.dropout.p:
            whole = attended(x, memory, mask, self.heads, self.qkv, self.output)
            if whole is not None:  # the same in one piece
                return whole
        q, k, v = self.project(x, memory, kept)
        rows = len(q) // len(k)
        q = together(q, rows)
        bias = self.order.bias(q, k.size(2))
        if self.order.fused and not (self.training and self.dropout.p):
            fused = short_attention if self.training else F.scaled_dot_product_attention
            heads = fused(q, k, v, added(mask, bias))  # (B, H, T, d)
        else:  # the fused kernel on a CPU drops no weights, and shows them to nobody
            heads = self.order.take(self.dropout(attention_weights(q, k, mask, bias=bias)), v)
        return self.output(apart(heads, rows).transpose(1, 2).flatten(2))  # (B, T, D)

    def weights(self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """The softmax of equation 1, (B, H, T, S). The fused kernel keeps it to itself; the explorer asks here."""
        q, k, _ = self.project(x, memory)
        return attention_weights(q, k, mask, bias=self.order.bias(q, k.size(2)))

    def project(
        self, x: Tensor, memory: Tensor | None = None, kept: Kept | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of x (B, H, T, d); keys and values of memory, or of x itself and what was kept (B, H, S, d)."""
        if memory is None:
            q, k, v = (self.split(y) for y in self.qkv(x).chunk(3, dim=-1))
            past = kept.length if kept else 0
            q, k = self.order.turn(q, past), self.order.turn(k, past)
            return (q, k, v) if kept is None else (q, *kept.append(k, v))
        width, linear = x.size(-1), affine if self.training else F.linear
        asks, tells = zip(*(y.split((width, 2 * width)) for y in (self.qkv.weight, self.qkv.bias)), strict=True)
        q = self.split(linear(x, *asks))

        def look_up() -> tuple[Tensor, Tensor]:
            k, v = linear(memory, *tells).chunk(2, dim=-1)
            return self.split(k), self.split(v)

        return (q, *(look_up() if kept is None else kept.once(look_up)))

    def split(self, y: Tensor) -> Tensor:
        """(B, T, D) → (B, H, T, d): a slice of the features for each head."""
        return y.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def together(q: Tensor, rows: int) -> Tensor:
    """(B · rows, H, T, d) → (B, H, rows · T, d): the queries of several rows, as if they were one row's."""
    return q if rows == 1 else q.unflatten(0, (-1, rows)).transpose(1, 2).flatten(2, 3)


def apart(heads: Tensor, rows: int) -> Tensor:
    """The way back from `together`."""
    return heads if rows == 1 else heads.unflatten(2, (rows, -1)).transpose(1, 2).flatten(0, 1)


def added(mask: Tensor | None, bias: Tensor | None) -> Tensor | None:
    """Permission and bias in one, as the fused kernel takes them: −∞ where nobody may look."""
    return mask if bias is None else bias if mask is None else bias.masked_fill(~mask, -torch.inf)


def attention_weights(
    q: Tensor, k: Tensor, mask: Tensor | None = None, scale: float | None = None, bias: Tensor | None = None
) -> Tensor:
    """softmax(q kᵀ · scale + bias), (…, T, S), the scale being 1 / √d; who may look at nothing weighs nothing."""
    scores = q @ k.mT * (1 / math.sqrt(q.size(-1)) if scale is None else scale)  # (…, T, S)
    if bias is not None:
        scores = scores + bias
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(0.0)


def general_attention(query: Tensor, keys: Tensor, values: Tensor, f: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Σᵢ αᵢ valueᵢ with αᵢ = exp f(keyᵢ, query) / Σⱼ exp f(keyⱼ, query)           Bahdanau et al. 2015, equations 5, 6

    f takes keys (S, d) and one query (d) and gives S scores; `torch.mv`, the dot, is the form that Attention scales.
    """
    return f(keys, query).softmax(-1) @ values
