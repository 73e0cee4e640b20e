"""Attention over a memory; the general form; the column convention C = Attn(X, X′)."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from benchmarks.lectures import backwards, sentences
from regard.data.batch import collate
from regard.model.attention import Attention, attention_weights, general_attention
from regard.model.translator import Translator


def test_weights_of_6_1_2_and_1_tenths_give_that_mixture_of_the_values():
    """The context vector is Σᵢ αᵢ valueᵢ (Bahdanau et al. 2015, equation 5): here α = .6, .1, .2, .1."""
    mixture = torch.tensor([0.6, 0.1, 0.2, 0.1])
    keys, values = mixture.log().unsqueeze(1), torch.randn(4, 3)  # a key of one number, its score with the query 1
    query = torch.ones(1)
    torch.testing.assert_close(attention_weights(query.unsqueeze(0), keys)[0], mixture)
    by_hand = 0.6 * values[0] + 0.1 * values[1] + 0.2 * values[2] + 0.1 * values[3]
    torch.testing.assert_close(general_attention(query, keys, values, torch.mv), by_hand)


def scaled_dot(keys: Tensor, query: Tensor) -> Tensor:
    return keys @ query / query.size(-1) ** 0.5


def distance(keys: Tensor, query: Tensor) -> Tensor:
    return -(keys - query).square().sum(-1)


@pytest.mark.parametrize("f", [torch.mv, scaled_dot, distance])
def test_the_general_form_takes_any_score_f_of_key_and_query(f):
    """α_i = exp f(key_i, query) / Σ_j exp f(key_j, query) (Bahdanau et al. 2015, equation 6)."""
    query, keys, values = torch.randn(4), torch.randn(5, 4), torch.randn(5, 3)
    powers = torch.stack([f(keys[i : i + 1], query)[0].exp() for i in range(5)])
    by_hand = sum(powers[i] / powers.sum() * values[i] for i in range(5))
    torch.testing.assert_close(general_attention(query, keys, values, f), by_hand)


def test_the_transformer_is_the_general_form_with_the_scaled_dot():
    """f(key, query) = keyᵀ query / √d_k (Vaswani et al. 2017, equation 1); with scale 1 it is the plain dot."""
    queries, keys, values = torch.randn(2, 4), torch.randn(5, 4), torch.randn(5, 3)
    for f, scale in ((scaled_dot, None), (torch.mv, 1.0)):
        one_by_one = torch.stack([general_attention(query, keys, values, f) for query in queries])
        torch.testing.assert_close(attention_weights(queries, keys, scale=scale) @ values, one_by_one)


class Columns(NamedTuple):
    """C = Attn(X, X′) of the slides, whose words are columns, and our Attention with their three matrices."""

    attention: Attention
    W_Q: Tensor
    W_K: Tensor
    W_V: Tensor

    def ours(self, memory: Tensor, x: Tensor) -> Tensor:
        """Words are rows in our code: transpose in, transpose out."""
        return self.attention(x.T.unsqueeze(0), memory.T.unsqueeze(0))[0].T

    def slides(self, memory: Tensor, x: Tensor) -> Tensor:
        """X is the memory, X′ is x: c_j = V softmax(Kᵀ q_j), column by column."""
        K, V = self.W_K @ memory, self.W_V @ memory
        return torch.stack([V @ (K.T @ (self.W_Q @ x_j)).softmax(0) for x_j in x.T], dim=1)


@pytest.fixture
def columns() -> Columns:
    D = 6
    matrices = [torch.randn(D, D) / 2 for _ in "QKV"]
    attention = Attention(D, heads=1).requires_grad_(False)  # its biases start as zeros
    attention.qkv.weight.copy_(torch.cat([D**0.5 * matrices[0], *matrices[1:]]))  # √d folded into W_Q
    attention.output.weight.copy_(torch.eye(D))
    return Columns(attention, *matrices)


def test_the_slides_columns_c_j_are_our_rows(columns: Columns):
    """q_j = W_Q x′_j, k_i = W_K x_i, v_i = W_V x_i, c_j = V softmax(Kᵀ q_j): no scale, no bias, no output matrix."""
    X, X_ = torch.randn(6, 5), torch.randn(6, 3)  # m = 5 words are looked at by t = 3
    torch.testing.assert_close(columns.ours(X, X_), columns.slides(X, X_), rtol=1e-4, atol=1e-5)


def test_self_attention_is_attn_of_x_and_x(columns: Columns):
    """C = Attn(X, X) (Cheng et al. 2016; Vaswani et al. 2017): queries, keys and values from one sequence."""
    X = torch.randn(6, 4)
    itself = columns.attention(X.T.unsqueeze(0))[0].T
    torch.testing.assert_close(itself, columns.slides(X, X), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(itself, columns.ours(X, X), rtol=1e-4, atol=1e-5)


def test_c_j_depends_on_x_prime_j_and_on_all_of_x_and_on_nothing_else(columns: Columns):
    """Attention has no recurrence: c_j needs its own query and every key and value, and no other query."""
    X, X_ = torch.randn(6, 5), torch.randn(6, 3)
    by_x, by_x_ = torch.autograd.functional.jacobian(columns.ours, (X, X_))  # (6, 3, 6, 5) and (6, 3, 6, 3)
    for j in range(3):
        for i in range(5):
            assert by_x[:, j, :, i].any(), f"c_{j} should depend on x_{i}"
        for other in range(3):
            assert by_x_[:, j, :, other].any() == (j == other)


def test_c_2_generates_the_third_word(reader: Translator):
    """x′_1 is the start sign, x′_2 the first word written; from c_:2 comes x′_3, before x′_3 or any later is read."""
    batch = collate([backwards(words) for words in sentences(20, [5], seed=3)])
    logits = reader(batch.source, batch.target, batch.readable)
    third = batch.target[:, 2]
    assert (logits[:, 1].argmax(-1) == third).all()
    alone = reader(batch.source, batch.target[:, :2], batch.readable)  # x′_1 and x′_2 are enough
    assert (alone[:, 1].argmax(-1) == third).all()
