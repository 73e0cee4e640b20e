"""Self-attention in six steps, for the two words "Thinking Machines" (Alammar, The Illustrated Transformer)."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from benchmarks.lectures import saturation
from regard.model.attention import Attention, attention_weights

WIDTH = 64  # d_k of the paper's heads, so that √d_k = 8


class Example(NamedTuple):
    attention: Attention
    x: Tensor  # (1, 2, 64): x₁ is "Thinking", x₂ is "Machines"
    W: tuple[Tensor, Tensor, Tensor]  # W_Q, W_K, W_V


@pytest.fixture
def example() -> Example:
    """Two random word vectors, and a W_K that turns them into keys at which q₁ scores 112 and 96."""
    x = torch.randn(2, WIDTH)
    W_Q, W_V = torch.randn(WIDTH, WIDTH) / 8, torch.randn(WIDTH, WIDTH) / 8
    q = x @ W_Q.T
    wanted = torch.tensor([[112.0, 96.0], [80.0, 104.0]])  # row i: what q_i scores at k₁ and k₂
    k = (torch.linalg.pinv(q) @ wanted).T  # (2, 64): q kᵀ = wanted
    W_K = (torch.linalg.pinv(x) @ k).T  # x W_Kᵀ = k
    attention = Attention(WIDTH, heads=1)
    with torch.no_grad():
        attention.qkv.weight.copy_(torch.cat([W_Q, W_K, W_V]))
        attention.output.weight.copy_(torch.eye(WIDTH))  # the six steps end before W^O
    return Example(attention.requires_grad_(False), x.unsqueeze(0), (W_Q, W_K, W_V))


def test_step_1_queries_keys_and_values_come_from_each_word_by_three_matrices(example: Example):
    """ "Create three vectors from each of the encoder's input vectors" (Alammar; Vaswani et al. 2017, 3.2.2)."""
    for ours, matrix in zip(example.attention.project(example.x), example.W, strict=True):
        for word in (0, 1):
            torch.testing.assert_close(ours[0, 0, word], matrix @ example.x[0, word])


def test_step_2_the_first_word_scores_112_and_96(example: Example):
    """ "q₁ · k₁ = 112, q₁ · k₂ = 96" (Alammar)."""
    q, k, _ = (y[0, 0] for y in example.attention.project(example.x))
    assert [round((q[0] @ k[word]).item(), 2) for word in (0, 1)] == [112, 96]


def test_step_3_divided_by_8_the_scores_are_14_and_12(example: Example):
    """ "Divide the scores by 8, the square root of the dimension of the key vectors" (Alammar): 14 and 12.

    The weights know their scores up to a constant: their log-ratio is 14 − 12, and would be 16 without the scale.
    """
    q, k, _ = example.attention.project(example.x)
    assert math.sqrt(k.size(-1)) == 8
    torch.testing.assert_close((q[0, 0, 0] @ k[0, 0].T) / 8, torch.tensor([14.0, 12.0]), atol=1e-3, rtol=0)
    first, second = example.attention.weights(example.x)[0, 0, 0].log()
    assert (first - second).item() == pytest.approx(14 - 12, abs=1e-3)
    first, second = attention_weights(q, k, scale=1.0)[0, 0, 0].log()
    assert (first - second).item() == pytest.approx(112 - 96, abs=1e-2)


def test_step_4_the_first_word_attends_88_percent_to_itself_and_12_to_the_second(example: Example):
    """ "Softmax: 0.88 and 0.12" (Alammar)."""
    weights = example.attention.weights(example.x)  # (1, 1, 2, 2)
    assert [round(weight, 2) for weight in weights[0, 0, 0].tolist()] == [0.88, 0.12]


def test_step_5_and_6_z1_is_the_sum_of_the_values_each_times_its_weight(example: Example):
    """ "Multiply each value vector by the softmax score; sum up the weighted value vectors" (Alammar): z₁."""
    v = example.attention.project(example.x)[2][0, 0]
    first = math.exp(14) / (math.exp(14) + math.exp(12))
    weighted = [first * v[0], (1 - first) * v[1]]
    torch.testing.assert_close(example.attention(example.x)[0, 0], weighted[0] + weighted[1], rtol=1e-3, atol=1e-4)


def test_then_the_same_for_the_next_word(example: Example):
    """Of "Machines", q₂ · k₁ = 80 and q₂ · k₂ = 104 here: ÷ 8 is 10 and 13; softmax 0.05 and 0.95."""
    v = example.attention.project(example.x)[2][0, 0]
    assert [round(weight, 2) for weight in example.attention.weights(example.x)[0, 0, 1].tolist()] == [0.05, 0.95]
    first = 1 / (1 + math.exp(3))
    by_hand = first * v[0] + (1 - first) * v[1]
    torch.testing.assert_close(example.attention(example.x)[0, 1], by_hand, rtol=1e-3, atol=1e-4)


def test_the_matrix_form_gives_the_same_z(example: Example):
    """softmax(Q Kᵀ / √d_k) V = Z (Vaswani et al. 2017, equation 1), against a loop over words."""
    q, k, v = (y[0, 0] for y in example.attention.project(example.x))
    rows = []
    for word in (0, 1):
        powers = [math.exp((q[word] @ k[other]).item() / 8) for other in (0, 1)]
        rows.append(sum((power / sum(powers)) * v[other] for other, power in enumerate(powers)))
    Z = torch.stack([torch.as_tensor(row) for row in rows])
    torch.testing.assert_close(attention_weights(q, k) @ v, Z, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(example.attention(example.x)[0], Z, rtol=1e-4, atol=1e-5)


def test_weights_are_positive_and_sum_to_1():
    """The softmax gives a distribution over the words (Alammar: "all positive and add up to 1")."""
    weights = Attention(width=12, heads=3).weights(torch.randn(2, 5, 12), torch.randn(2, 7, 12))  # (2, 3, 5, 7)
    assert weights.gt(0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 5))


def test_without_the_scale_the_softmax_saturates_as_d_k_grows():
    """ "For large values of d_k, the dot products grow large in magnitude" (Vaswani et al. 2017, 3.2.1); measured."""
    widths = (4, 16, 64, 256)
    plain = [saturation(width, scaled=False).largest for width in widths]
    scaled = [saturation(width, scaled=True).largest for width in widths]
    assert plain == sorted(plain)
    assert plain[-1] > 0.9
    assert max(scaled) < 0.3, "with the scale, no width changes how sharp the softmax is"


def test_without_the_scale_the_gradients_of_the_softmax_die_as_d_k_grows():
    """ "… pushing the softmax into regions where it has extremely small gradients" (ibid.); measured."""
    plain, scaled = ([saturation(width, scaled=s).slope for width in (4, 64, 1024)] for s in (False, True))
    assert plain[0] > plain[1] > plain[2]
    assert plain[2] < plain[0] / 5
    assert max(scaled) < 1.1 * min(scaled), "with the scale, the gradient keeps its size"
