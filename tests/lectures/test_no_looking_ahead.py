"""The decoder's mask (Vaswani et al. 2017, section 3.2.3), and the table of "Happy mid autumn festival"."""

from __future__ import annotations

import torch

from benchmarks.lectures import pupil
from regard.model.attention import Attention, attention_weights
from regard.model.mask import causal
from regard.model.translator import Translator

WORDS = ["Happy", "mid", "autumn", "festival"]


def strict(size: int) -> torch.Tensor:
    """The slides' table: row i may look at j where j < i; where j ≥ i it is −∞."""
    return causal(size).tril(-1)


def test_future_positions_are_minus_infinity_before_the_softmax():
    """ "Masking out (setting to −∞) all values in the input of the softmax which correspond to illegal connections"."""
    q, k = torch.randn(4, 6), torch.randn(4, 6)
    scores = q @ k.T / 6**0.5
    for i in range(4):
        for j in range(i + 1, 4):
            scores[i, j] = -torch.inf
    weights = attention_weights(q, k, causal(4))
    torch.testing.assert_close(weights, scores.softmax(-1))
    torch.testing.assert_close(weights.sum(-1), torch.ones(4))
    assert (weights > 0).tolist() == [[j <= i for j in range(4)] for i in range(4)]


def test_changing_token_t_changes_no_output_before_t():
    """ "Predictions for position i can depend only on the known outputs at positions less than i" (ibid., 3.1)."""
    model = pupil(layers=2).eval()
    source, target = torch.tensor([[4, 9, 6]]), torch.tensor([[2, 7, 11, 4, 9]])
    before = model(source, target, source > 0)
    for t in range(1, 5):
        changed = target.clone()
        changed[0, t] = 12
        after = model(source, changed, source > 0)
        torch.testing.assert_close(after[:, :t], before[:, :t], atol=1e-5, rtol=1e-5)
        assert (after[:, t:] - before[:, t:]).abs().amax(-1).gt(1e-3).all(), "and every output from t on does change"


def test_changing_token_t_changes_no_output_before_t_of_a_trained_model(reader: Translator):
    """The same where the parameters have been learned, and where looking ahead would have paid."""
    source, target = torch.tensor([[4, 9, 6, 3]]), torch.tensor([[2, 6, 9, 4]])
    changed = torch.tensor([[2, 6, 9, 12]])
    before, after = (reader(source, each, source > 0) for each in (target, changed))
    torch.testing.assert_close(after[:, :3], before[:, :3], atol=1e-4, rtol=1e-4)


def test_the_happy_mid_autumn_festival_table_hides_j_from_i_up():
    """The strict form: rows are the words to come, columns those already there; j ≥ i is −∞."""
    table = [[WORDS[j] if seen else "−∞" for j, seen in enumerate(row)] for row in strict(4).tolist()]
    assert table == [
        ["−∞", "−∞", "−∞", "−∞"],
        ["Happy", "−∞", "−∞", "−∞"],
        ["Happy", "mid", "−∞", "−∞"],
        ["Happy", "mid", "autumn", "−∞"],
    ]


def test_in_the_strict_form_the_first_row_sees_nothing_and_gives_zeros():
    """Softmax of nothing but −∞ is 0/0; here who may look at nothing takes nothing: zeros by both paths, no NaN."""
    attention, x = Attention(width=6, heads=2), torch.randn(1, 4, 6, requires_grad=True)
    weights, output = attention.weights(x, mask=strict(4)), attention(x, mask=strict(4))
    assert not weights[0, :, 0].any()
    assert not output[0, 0].any()
    assert output[0, 1:].any(-1).all()
    (gradient,) = torch.autograd.grad(output.square().sum(), x)
    assert gradient.isfinite().all()


def test_on_input_shifted_right_by_one_the_strict_form_equals_the_usual_form():
    """ "Output embeddings are offset by one position" (ibid., 3.1): <s> Happy mid autumn, each may look at itself."""
    attention, words, start = Attention(width=6, heads=2), torch.randn(1, 4, 6), torch.randn(1, 1, 6)
    whole = torch.cat([start, words], dim=1)  # <s> Happy mid autumn festival
    shifted = whole[:, :-1]  # <s> Happy mid autumn
    assert torch.equal(strict(5)[1:, :-1], causal(4))
    torch.testing.assert_close(attention(shifted, whole, strict(5)[1:]), attention(shifted, mask=causal(4)))
    weights = attention.weights(shifted, whole, strict(5)[1:])
    assert not weights[..., 4].any(), "nobody looks at the last word: it is only ever written"
