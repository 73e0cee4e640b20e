"""One matrix read both ways."""

from __future__ import annotations

import math

import torch

from regard.model.embedding import Embedding


def test_ids_become_rows_times_the_square_root_of_the_width():
    embedding = Embedding(vocabulary=11, width=6)
    ids = torch.tensor([[1, 10, 0], [4, 4, 7]])
    torch.testing.assert_close(embedding(ids), embedding.table.weight[ids] * math.sqrt(6))
    assert embedding(ids).shape == (2, 3, 6)


def test_logits_are_products_with_every_row_unscaled():
    embedding, x = Embedding(vocabulary=11, width=6), torch.randn(2, 3, 6)
    torch.testing.assert_close(embedding.logits(x), torch.einsum("btd,vd->btv", x, embedding.table.weight))


def test_reading_and_writing_teach_one_matrix():
    embedding = Embedding(vocabulary=11, width=6)
    assert sum(parameter.numel() for parameter in embedding.parameters()) == 11 * 6
    embedding.logits(embedding(torch.tensor([[3]]))).sum().backward()
    gradient = embedding.table.weight.grad
    assert gradient is not None
    assert gradient.abs().sum(1).bool().all(), "every row is an answer that was weighed"


def test_vectors_and_logits_start_with_variance_1():
    embedding = Embedding(vocabulary=2000, width=48)
    x = embedding(torch.arange(2000).unsqueeze(0))
    assert 0.97 < x.var().item() < 1.03
    assert 0.97 < embedding.logits(torch.randn(1, 50, 48)).var().item() < 1.03
