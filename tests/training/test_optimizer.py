"""The optimizers, against the definitions they are made from."""

from __future__ import annotations

from typing import Any

import torch

from regard.config import TrainConfig, TranslatorConfig
from regard.model.translator import Translator
from regard.training.optimizer import Muon, optimizers_of, turned

SIZES: dict[str, Any] = {
    "source_vocabulary": 17,
    "target_vocabulary": 17,
    "width": 12,
    "hidden": 20,
    "heads": 3,
    "layers": 2,
}


def test_every_parameter_is_in_one_optimizer_and_embeddings_are_left_to_adamw():
    model = Translator(TranslatorConfig(**SIZES))
    muon, adamw = optimizers_of(model, TrainConfig(optimizer="muon"))
    of = [{id(p) for group in each.param_groups for p in group["params"]} for each in (muon, adamw)]
    assert not of[0] & of[1]
    assert of[0] | of[1] == {id(p) for p in model.parameters()}
    assert of[0] == {id(p) for name, p in model.named_parameters() if "blocks" in name and p.dim() == 2}


def test_only_matrices_decay():
    model = Translator(TranslatorConfig(**SIZES))
    for optimizer in optimizers_of(model, TrainConfig(optimizer="muon", weight_decay=0.3)):
        for group in optimizer.param_groups:
            assert group["weight_decay"] == (0.3 if all(p.dim() == 2 for p in group["params"]) else 0.0)


def test_an_orthogonal_direction_keeps_singular_vectors_and_evens_out_singular_values():
    """Against the singular value decomposition, for wide and for tall matrices."""
    for rows, columns in ((5, 9), (9, 5), (7, 7)):
        matrices = torch.randn(3, rows, columns)
        found = turned(matrices)
        u, _, vh = torch.linalg.svd(matrices, full_matrices=False)
        inner = u.mT @ found @ vh.mT
        off = inner - torch.diag_embed(inner.diagonal(dim1=1, dim2=2))
        assert off.abs().max() < 1e-4, "the same singular vectors"
        values = inner.diagonal(dim1=1, dim2=2)
        assert values[:, :-1].min() > 0.4  # the smallest may not have come so far yet
        assert values.max() < 1.4


def test_singular_values_from_a_hundredth_on_come_near_one():
    """Of a matrix whose largest is 1; what is smaller is on its way."""
    values = torch.cat([torch.logspace(-2, 0, 40), torch.tensor([0.002, 0.005])])
    values /= values.norm()
    found = turned(torch.diag(values).unsqueeze(0))[0].diagonal()
    assert found[values >= 0.01].min() > 0.7
    assert found.max() < 1.3
    assert found[-2] > 40 * values[-2]


def test_a_step_by_muon_is_its_equation():
    """Two steps with decay by hand, one matrix at a time; the middle one holds three that are turned apart."""
    torch.manual_seed(1)
    single, triple = torch.nn.Parameter(torch.randn(8, 5)), torch.nn.Parameter(torch.randn(12, 4))
    settings = TrainConfig(learning_rate=0.1, weight_decay=0.2)
    muon = Muon([{"params": [triple], "parts": 3}, {"params": [single], "parts": 1}], settings)
    expected = {0: single.detach().clone(), 1: triple.detach().clone()}
    momentum = {0: torch.zeros(8, 5), 1: torch.zeros(12, 4)}
    for _ in range(2):
        gradients = [torch.randn(8, 5), torch.randn(12, 4)]
        single.grad, triple.grad = (g.clone() for g in gradients)
        muon.step()
        for number, (gradient, parts) in enumerate(zip(gradients, (1, 3), strict=True)):
            momentum[number] = 0.95 * momentum[number] + 0.05 * gradient
            direction = 0.05 * gradient + 0.95 * momentum[number]
            straight = torch.cat([turned(part.unsqueeze(0))[0] for part in direction.chunk(parts)])
            longest = max(direction.chunk(parts)[0].shape)
            expected[number] = expected[number] * (1 - 0.1 * 0.2) - 0.1 * 0.2 * longest**0.5 * straight
    torch.testing.assert_close(single.detach(), expected[0])
    torch.testing.assert_close(triple.detach(), expected[1])
