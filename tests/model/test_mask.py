"""Masks: boolean, True may look, and shaped to broadcast to (batch, heads, queries, keys)."""

from __future__ import annotations

import pytest
import torch

from regard.model.mask import banded, causal, offsets, padding, strided


def test_padding_hides_what_lies_behind_each_sentence():
    mask = padding(torch.tensor([3, 0, 1, 4]), size=5)
    assert mask.shape == (4, 1, 1, 5)
    assert mask.dtype == torch.bool
    assert mask[:, 0, 0].tolist() == [
        [True, True, True, False, False],
        [False, False, False, False, False],
        [True, False, False, False, False],
        [True, True, True, True, False],
    ]


def test_causal_hides_the_future():
    assert causal(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_causal_shows_all_that_is_past():
    assert causal(2, past=3).tolist() == [[True, True, True, True, False], [True, True, True, True, True]]


def test_a_step_of_decoding_reads_the_last_rows_of_the_whole_mask():
    assert causal(3, past=4).equal(causal(7)[4:])


def test_masks_of_padding_and_future_join_by_and():
    both = padding(torch.tensor([2, 3]), size=3) & causal(3)
    assert both.shape == (2, 1, 3, 3)
    assert both[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, False]]


@pytest.mark.parametrize(("length", "past"), [(7, 0), (3, 4), (1, 6)])
@pytest.mark.parametrize("reach", [0, 1, 2, 9])
def test_a_band_shows_what_is_near(length: int, past: int, reach: int):
    positions = range(past + length)
    both_ways = [[abs(j - i) <= reach for j in positions] for i in positions[past:]]
    before = [[0 <= i - j <= reach for j in positions] for i in positions[past:]]
    assert banded(length, reach, past).tolist() == both_ways
    assert (causal(length, past) & banded(length, reach, past)).tolist() == before


def test_a_stride_shows_the_columns_of_a_grid():
    grid = torch.arange(12).reshape(4, 3)
    mask = strided(12, 3)
    for place in range(12):
        assert mask[place].nonzero().flatten().tolist() == grid[:, place % 3].tolist()
    assert strided(2, 3, past=10).equal(mask[10:])


def test_offsets_count_from_the_query_to_the_key():
    assert offsets(2, 4).tolist() == [[-2, -1, 0, 1], [-3, -2, -1, 0]]
