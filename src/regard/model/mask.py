"""Who may look at whom. A mask is boolean, True may look, and broadcasts to (batch, heads, queries, keys)."""

from __future__ import annotations

import torch
from torch import Tensor


def padding(lengths: Tensor, size: int) -> Tensor:
    """(B, 1, 1, S): every query may look at the first `lengths[b]` keys of its sentence, and not at its padding."""
    return (torch.arange(size, device=lengths.device) < lengths.unsqueeze(1))[:, None, None, :]


def causal(length: int, past: int = 0, device: torch.device | None = None) -> Tensor:
    """(T, past + T): position t of the new ones may look at all past ones, at itself and at those before it."""
    return torch.ones(length, past + length, dtype=torch.bool, device=device).tril(past)


def banded(length: int, reach: int, past: int = 0, device: torch.device | None = None) -> Tensor:
    """(T, past + T): each may look at those up to `reach` positions from it, before it or behind."""
    return offsets(length, past + length, device).abs() <= reach


def strided(length: int, stride: int, past: int = 0, device: torch.device | None = None) -> Tensor:
    """(T, past + T): each may look at those that stand a multiple of `stride` from it: a column of a grid."""
    return offsets(length, past + length, device) % stride == 0


def offsets(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """How far key j stands behind query i, j − i, (T, S); the queries are the last T of S positions."""
    positions = torch.arange(keys, device=device)
    return positions - positions[keys - queries :, None]
