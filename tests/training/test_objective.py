"""The loss, against torch's own."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from regard.config import TranslatorConfig
from regard.data.batch import Example, collate
from regard.model.translator import Translator
from regard.tokens.text import EOS
from regard.training import objective
from regard.training.objective import ProjectedLoss, translation


@pytest.fixture
def model() -> Translator:
    return Translator(
        TranslatorConfig(source_vocabulary=17, target_vocabulary=17, width=12, hidden=20, heads=3, layers=2)
    )


def examples(count: int) -> list[Example]:
    draw = torch.Generator().manual_seed(1)

    def side(most: int) -> list[int]:
        return [
            *torch.randint(4, 17, (int(torch.randint(1, most, (1,), generator=draw)),), generator=draw).tolist(),
            EOS,
        ]

    return [Example(side(9), side(7)) for _ in range(count)]


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
def test_the_loss_is_the_cross_entropy_of_torch_over_what_is_wanted(model, smoothing):
    batch = collate(examples(5))
    model.eval()
    loss = translation(model, batch, smoothing)
    logits = model(batch.source, batch.target, batch.readable)
    labels = batch.labels.masked_fill(~batch.wanted, -100)
    expected = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=smoothing, reduction="sum")
    plain = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
    torch.testing.assert_close(loss.total, expected)
    torch.testing.assert_close(loss.surprise, plain.detach())
    assert loss.tokens == batch.tokens == int((labels >= 0).sum())


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("r_drop", [0.0, 3.0])
@pytest.mark.parametrize("biased", [False, True])
def test_the_gradients_formed_on_the_way_are_those_of_autograd(monkeypatch, smoothing, r_drop, biased):
    """Rows are cut unevenly, and one logit is so large that the label's probability is 0 in float32."""
    monkeypatch.setattr(objective, "ROWS", 4)
    passes, positions, width, vocabulary = 2 if r_drop else 1, 11, 5, 7
    states = torch.randn(passes, positions, width, dtype=torch.float64, requires_grad=True)
    matrix = torch.randn(vocabulary, width, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(vocabulary, dtype=torch.float64, requires_grad=True) if biased else None
    labels = torch.randint(vocabulary, (positions,))
    with torch.no_grad():
        states[:, 3] *= 300.0

    logs = F.linear(states, matrix, bias).log_softmax(-1)
    labelled = logs.gather(-1, labels.expand(passes, -1).unsqueeze(-1))
    expected = -((1 - smoothing) * labelled.sum() + smoothing * logs.mean(-1).sum()) / passes
    if r_drop:
        apart = F.kl_div(logs[1], logs[0], log_target=True, reduction="sum")
        apart = apart + F.kl_div(logs[0], logs[1], log_target=True, reduction="sum")
        expected = expected + r_drop / 4 * apart

    total, surprise = ProjectedLoss.apply(states, matrix, bias, labels, smoothing, r_drop)
    torch.testing.assert_close(total, expected)
    torch.testing.assert_close(surprise, -labelled.sum().detach() / passes)
    learned = (states, matrix) if bias is None else (states, matrix, bias)
    formed = torch.autograd.grad(0.7 * total, learned)
    reference = torch.autograd.grad(0.7 * expected, learned)
    torch.testing.assert_close(formed, reference)


def test_r_drop_is_nothing_where_nothing_is_dropped(model):
    """Without dropout both passes are one, agree already, and the loss is the plain one."""
    batch = collate(examples(5))
    model.eval()
    torch.testing.assert_close(translation(model, batch, 0.1, 5.0).total, translation(model, batch, 0.1).total)
    model.train()
    torch.manual_seed(3)
    assert translation(model, batch, 0.1, 5.0).total > translation(model, batch, 0.1, 0.001).total


def test_four_small_batches_give_the_gradient_of_one_large_one(model):
    """Accumulation weighs by tokens, not by batches: sentences of unlike length would tell the difference."""
    model.eval()
    rows = examples(12)
    tokens = collate(rows).tokens

    def gradients(groups: list[list[Example]]) -> list[torch.Tensor]:
        model.zero_grad()
        for group in groups:
            (translation(model, collate(group), 0.1).total / tokens).backward()
        return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]

    whole = gradients([rows])
    parts = gradients([rows[:1], rows[1:3], rows[3:8], rows[8:]])
    assert len(whole) == len(list(model.parameters()))
    for one, other in zip(whole, parts, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)
