"""Every word looks at every word (Vaswani et al. 2017, table 1: n² · d): measured in scores and bytes, not in time."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from benchmarks.lectures import Cost, cost, peak
from regard.model.attention import Attention
from regard.model.mask import padding

SIZES = (512, 1024, 2048)


@pytest.fixture(scope="module")
def costs() -> list[Cost]:
    torch.set_num_threads(1)
    return [cost(size) for size in SIZES]


def test_n_words_cost_n_squared_scores(costs: list[Cost]):
    """Twice the words, four times the scores."""
    assert [each.scores for each in costs] == [size**2 for size in SIZES]


def test_the_memory_of_scores_that_are_kept_grows_with_n_squared(costs: list[Cost]):
    """Attention.weights shows every score: doubling n comes to four times the bytes."""
    growth = [after.seen / before.seen for before, after in pairwise(costs)]
    assert min(growth) > 3.3
    assert costs[-1].seen >= 4 * SIZES[-1] ** 2, "at least one float32 for each score"


def test_the_memory_of_the_fused_path_stays_linear(costs: list[Cost]):
    """Attention.forward computes the scores tile by tile and keeps none (Dao et al. 2022, FlashAttention)."""
    assert costs[-1].fused < 4 * costs[0].fused * 1.25, "four times the words, no more than four times the bytes"
    assert costs[-1].fused < SIZES[-1] ** 2, "less than a byte for each score"


def test_the_memory_stays_linear_where_padding_is_masked():
    """The mask of the encoder is a row for each sentence, not a matrix, and the fused path leaves it so."""
    attention = Attention(width=64, heads=1).eval()
    short, long = (
        peak(lambda n=n: attention(torch.randn(1, n, 64), mask=padding(torch.tensor([n - 1]), n))) for n in SIZES[::2]
    )
    assert long < 4 * short * 1.25
    assert long < SIZES[-1] ** 2
