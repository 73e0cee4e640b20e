"""The loss, against torch's own."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from regard.config import TranslatorConfig
from regard.data.batch import Example, collate
from regard.model.translator import Translator
from regard.tokens.text import EOS
from regard.training.objective import translation


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
