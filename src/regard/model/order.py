"""What attention itself is told of who stands where: nothing, or pieces that turn queries and keys or bias the scores.

    scores = turn(q) turn(k)ᵀ / √d + bias,   taken = softmax(scores) v + what the order adds

A piece is handed to `Attention`, which knows no more of it than these three. All look at one sequence that looks at
itself: the queries are the last T of S positions, those before them being kept in a cache.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from regard.errors import ConfigError
from regard.model.mask import offsets
from regard.model.position import Sinusoidal


class Order(nn.Module):
    """Tells nothing: attention knows of order what was added to x, as in Vaswani et al. 2017."""

    fused = True  # what is taken is weights @ v and no more, so the kernel may keep the weights to itself

    def turn(self, x: Tensor, past: int = 0) -> Tensor:
        """Queries or keys (B, H, T, d), the first of which stands at position `past`."""
        return x

    def bias(self, q: Tensor, keys: int) -> Tensor | None:
        """What is added to the scores of the queries (B, H, T, d): (1 or B, H, T, S), as the fused kernel takes it."""
        return None

    def take(self, weights: Tensor, v: Tensor) -> Tensor:
        """What queries take by their weights (B, H, T, S) from values (B, H, S, d)."""
        return weights @ v


class Rotary(Order):
    """Turns each pair of features by an angle that grows with the position         Su et al. 2021, equation 34

        (x₁, x₂) → (x₁ cos mθᵢ − x₂ sin mθᵢ, x₂ cos mθᵢ + x₁ sin mθᵢ),   θᵢ = base^(−2i / width)

    A query at m and a key at n so meet at an angle that knows m − n alone. Of each head the first `width` features are
    turned. A pair is two neighbours in the paper (interleaved), or one of each half (halves, as most have it since).
    """

    def __init__(self, width: int, base: float = 10_000.0, layout: str = "halves"):
        super().__init__()
        self.layout, self.angles = layout, Sinusoidal(width, base)

    def turn(self, x: Tensor, past: int = 0) -> Tensor:
        sines, cosines = self.angles.between(past, past + x.size(2), x.device).chunk(2, dim=1)  # (T, width / 2) each
        return rotate(x, cosines, sines, self.layout).to(x.dtype)


def rotate(x: Tensor, cosines: Tensor, sines: Tensor, layout: str = "halves") -> Tensor:
    """x (…, T, d) with its first pairs of features turned, as many as there are cosines and sines (…, T, pairs)."""
    pairs = cosines.size(-1)
    turned, rest = x[..., : 2 * pairs], x[..., 2 * pairs :]
    if layout == "halves":
        first, second = turned.chunk(2, dim=-1)
    elif layout == "interleaved":
        first, second = turned.unflatten(-1, (pairs, 2)).unbind(-1)
    else:
        raise ConfigError(f"layout={layout!r} is neither halves nor interleaved")
    pair = first * cosines - second * sines, second * cosines + first * sines
    turned = torch.cat(pair, dim=-1) if layout == "halves" else torch.stack(pair, dim=-1).flatten(-2)
    return torch.cat([turned, rest], dim=-1)


class Alibi(Order):
    """Takes from each score what the distance times a slope of the head's own makes          Press et al. 2022

        bias = −m_h · |i − j|,   m_h = 2^(−8h / H) for h = 1 … H, where H is a power of two

    For another number of heads: the slopes of the power of two below, then every second one of twice that power.
    """

    def __init__(self, heads: int):
        super().__init__()
        self.slopes: Tensor
        self.register_buffer("slopes", torch.tensor(slopes(heads)), persistent=False)

    def bias(self, q: Tensor, keys: int) -> Tensor:
        distance = offsets(q.size(2), keys, q.device).abs()  # (T, S)
        return -self.slopes.to(q.dtype)[None, :, None, None] * distance  # (1, H, T, S)


def slopes(heads: int) -> list[float]:
    power = 1 << (heads.bit_length() - 1)
    own = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    return own if power == heads else own + slopes(2 * power)[::2][: heads - power]


class Shaw(Order):
    """Learned vectors for each distance, added to the keys and to the values that are looked at  Shaw et al. 2018

        score_ij = q_i (k_j + aᴷ_ij)ᵀ / √d,   z_i = Σ_j weight_ij (v_j + aⱽ_ij)          ibid., equations 3 and 4
        a_ij = w_clip(j − i, −reach, reach)                                                 one table for all heads

    The values' part needs the weights, so this one cannot be left to a fused kernel.
    """

    fused = False

    def __init__(self, width: int, reach: int = 16):
        super().__init__()
        self.reach = reach
        self.keys = nn.Parameter(torch.randn(2 * reach + 1, width) * 0.02)
        self.values = nn.Parameter(torch.randn(2 * reach + 1, width) * 0.02)

    def bias(self, q: Tensor, keys: int) -> Tensor:
        of_each = q @ self.keys.mT / math.sqrt(q.size(-1))  # (B, H, T, 2 · reach + 1)
        return of_each.gather(-1, self.rows(q.size(2), keys, q.device).expand(*q.shape[:-1], -1))

    def take(self, weights: Tensor, v: Tensor) -> Tensor:
        rows = self.rows(weights.size(-2), weights.size(-1), weights.device).expand_as(weights)
        of_each = weights.new_zeros(*weights.shape[:-1], len(self.values)).scatter_add(-1, rows, weights)
        return weights @ v + of_each @ self.values

    def rows(self, queries: int, keys: int, device: torch.device) -> Tensor:
        return offsets(queries, keys, device).clamp(-self.reach, self.reach) + self.reach  # (T, S)


class Buckets(Order):
    """A learned bias of each head for each bucket of distances           Raffel et al. 2020 (T5), section 2.1

    Of the buckets for one direction, half hold a distance each, and the others grow logarithmically up to `farthest`;
    beyond it all distances share the last. One that looks both ways has buckets for each way.
    """

    def __init__(self, heads: int, buckets: int = 32, farthest: int = 128, both_ways: bool = False):
        super().__init__()
        self.farthest, self.both_ways = farthest, both_ways
        self.table = nn.Parameter(torch.randn(buckets, heads) * 0.02)

    def bias(self, q: Tensor, keys: int) -> Tensor:
        return self.table.to(q.dtype)[self.rows(q.size(2), keys, q.device)].movedim(-1, 0)[None]  # (1, H, T, S)

    def rows(self, queries: int, keys: int, device: torch.device) -> Tensor:
        offset = offsets(queries, keys, device)
        buckets = len(self.table) // 2 if self.both_ways else len(self.table)
        ahead = buckets * (offset > 0) if self.both_ways else torch.zeros_like(offset)
        distance = offset.abs() if self.both_ways else (-offset).clamp(min=0)
        exact = buckets // 2
        growth = torch.log(distance.clamp(min=1) / exact) / math.log(self.farthest / exact)
        far = (exact + (growth * (buckets - exact)).long()).clamp(max=buckets - 1)
        return ahead + torch.where(distance < exact, distance, far)
