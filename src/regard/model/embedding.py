"""Ids to vectors, and the tied way back to logits."""

from __future__ import annotations

import math

import torch.nn.functional as F
from torch import Tensor, nn


class Embedding(nn.Module):
    """One matrix E (V, D), read both ways:  x = √D · E[id]  and  logits = x Eᵀ     Vaswani et al. 2017, section 3.4"""

    def __init__(self, vocabulary: int, width: int, scaled: bool = True):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.scale = math.sqrt(width) if scaled else 1.0
        nn.init.normal_(self.table.weight, std=width**-0.5)  # so that √D · E[id] starts with variance 1, as x Eᵀ does

    def forward(self, ids: Tensor) -> Tensor:
        return self.table(ids) * self.scale  # (B, T) → (B, T, D)

    def logits(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        return F.linear(x, self.table.weight, bias)  # (…, D) → (…, V)
