"""Diverse beam search: groups of hypotheses, each of which shuns what the groups before it write.

    sum of y = log p(y) − λ Σ_t (how many hypotheses of earlier groups write the token y_t at step t)

the Hamming diversity of Vijayakumar et al. 2016. A group is a beam of its own; the first shuns nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.decoding.candidates import Candidates, likeliest


def likeliest_by_group(
    sums: Tensor, owed: Tensor, log_probabilities: Tensor, groups: int, diversity: float
) -> Candidates:
    """The candidates of every group, those of a sentence one after the other.

    sums and owed (B · groups, W), log_probabilities (B · groups · W, V). What counts as written by a group is what its
    hypotheses that do not end go on with.
    """
    W, V = sums.size(1), log_probabilities.size(-1)
    shared = log_probabilities.view(-1, groups, W, V)
    written = log_probabilities.new_zeros(len(shared), V)  # (B, V): by how many hypotheses, at this step
    best: list[Candidates] = []
    for group in range(groups):
        cost = diversity * written  # (B, V)
        less = shared[:, group] - cost.unsqueeze(1)  # (B, W, V)
        found = likeliest(sums[group::groups], owed[group::groups], less)
        best.append(found._replace(owed=found.owed + cost.gather(1, found.tokens)))
        written.scatter_add_(1, found.tokens, (found.onward(W) & found.possible).to(written.dtype))
    return Candidates(*(torch.stack(parts, dim=1).flatten(0, 1) for parts in zip(*best, strict=True)))
