"""The likeliest continuations of a few hypotheses: what one step of beam search chooses from.

Shapes: L beams, each of W hypotheses, V vocabulary, C candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from regard.tokens.text import EOS


class Candidates(NamedTuple):
    """Of each beam, the best first."""

    sums: Tensor  # (L, C) log-probability so far, less what is owed: what they are ranked by; −∞ is no candidate
    owed: Tensor  # (L, C) what likeness to other groups has cost so far; 0 where there is but one group
    origins: Tensor  # (L, C) which hypothesis each continues
    tokens: Tensor  # (L, C) by what

    @property
    def ends(self) -> Tensor:
        return self.tokens == EOS

    @property
    def possible(self) -> Tensor:
        return self.sums > -torch.inf

    def onward(self, width: int) -> Tensor:
        """(L, C): the first of each beam that do not end, as many as it is wide."""
        open = ~self.ends
        return open & (open.cumsum(1) <= width)

    def margins(self, width: int) -> Tensor:
        """(L,): two cuts decide a step, the first W candidates from the rest, and the first W that do not end."""
        open = self.sums.masked_fill(self.ends, -torch.inf).sort(dim=1, descending=True).values
        gaps = torch.stack([sums[:, width - 1] - sums[:, width] for sums in (self.sums, open)])  # (2, L)
        return gaps.masked_fill(gaps.isnan(), torch.inf).amin(0)  # −∞ − −∞ is no choice


def likeliest(sums: Tensor, owed: Tensor, log_probabilities: Tensor) -> Candidates:
    """The best 2W + 1 of the W · V continuations: W that may end, W that may go on, and one that is left out.

    sums and owed (L, W) of the hypotheses so far; log_probabilities (L · W, V) are overwritten.
    """
    (L, W), V = sums.shape, log_probabilities.size(-1)
    totals = log_probabilities.view(L, W, V).add_(sums.unsqueeze(2)).view(L, W * V)
    best, indices = totals.topk(min(2 * W + 1, W * V), dim=1)
    origins = indices // V
    return Candidates(best, owed.gather(1, origins), origins, indices % V)
