"""Many heads: each looks in its own way; W^O puts together what they saw (Vaswani et al. 2017, section 3.2.2)."""

from __future__ import annotations

import torch

from regard.model.attention import Attention, attention_weights

HEADS, WIDTH = 8, 24
HEAD = WIDTH // HEADS


def test_eight_heads_are_concatenated_and_multiplied_by_w_o():
    """MultiHead(Q, K, V) = Concat(head_1, …, head_8) W^O (ibid.; Alammar)."""
    attention = Attention(WIDTH, HEADS)
    torch.nn.init.normal_(attention.output.bias)
    x = torch.randn(2, 5, WIDTH)
    q, k, v = attention.project(x)
    heads = [attention_weights(q[:, h], k[:, h]) @ v[:, h] for h in range(HEADS)]  # eight of (2, 5, 3)
    by_hand = torch.cat(heads, dim=-1) @ attention.output.weight.T + attention.output.bias
    torch.testing.assert_close(attention(x), by_hand)


def test_each_head_has_its_own_query_key_and_value_matrices():
    """head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V) (ibid.): what one head's matrices do, no other head sees."""
    attention, x = Attention(WIDTH, HEADS).requires_grad_(False), torch.randn(2, 5, WIDTH)
    matrices = attention.qkv.weight.view(3, HEADS, HEAD, WIDTH)  # W_i^Q, W_i^K, W_i^V for i = 1 … 8
    assert len({matrix.sum().item() for matrix in matrices.flatten(0, 1)}) == 3 * HEADS
    before = attention.project(x)
    for which in range(3):
        matrices[which, 6] += 1.0
    for ours, then in zip(attention.project(x), before, strict=True):
        changed = (ours != then).flatten(2).any(-1).any(0)  # (8)
        assert changed.tolist() == [False] * 6 + [True, False]


def test_heads_of_one_layer_look_at_different_words():
    """ "It expands the model's ability to focus on different positions" (Alammar): eight matrices, eight weightings."""
    weights = Attention(WIDTH, HEADS).weights(torch.randn(1, 5, WIDTH))[0]  # (8, 5, 5)
    differences = torch.cdist(weights.flatten(1), weights.flatten(1))
    assert (differences[~torch.eye(HEADS, dtype=torch.bool)] > 1e-3).all()


def test_eight_heads_have_as_many_parameters_as_one():
    """ "The total computational cost is similar to that of single-head attention with full dimensionality" (ibid.)."""
    one, eight = (sum(p.numel() for p in Attention(WIDTH, heads).parameters()) for heads in (1, HEADS))
    assert one == eight == 4 * WIDTH * WIDTH + 4 * WIDTH
