"""Dropout by the byte, against what dropout is: a share of zeros, a mean that stays, nothing outside training."""

from __future__ import annotations

import shutil

import pytest
import torch

from regard import compiled
from regard.model import dropout
from regard.model.dropout import Dropout
from regard.workers import threads


@pytest.mark.parametrize("p", [0.001, 0.1, 0.3, 0.5, 0.9])
def test_a_share_p_is_dropped_and_the_mean_stays(p):
    torch.manual_seed(1)
    x = torch.ones(700, 301)
    y = Dropout(p)(x)
    dropped = (y == 0).double().mean().item()
    assert dropped == pytest.approx(p, abs=1 / 256)
    assert len(y.unique()) == 2, "what is kept is scaled, all by the same"
    spread = 4 * (dropped / (1 - dropped) / x.numel()) ** 0.5
    assert y.double().mean().item() == pytest.approx(1.0, abs=spread)


def test_what_was_dropped_gets_no_gradient_and_the_rest_is_scaled_alike():
    torch.manual_seed(2)
    x = torch.randn(13, 5, 7, requires_grad=True)
    y = Dropout(0.4)(x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(y, x * gradient)
    assert (gradient == 0).any()


def test_neighbours_are_dropped_independently():
    """Eight numbers share one draw of 64 bits: no two of its bytes may know of each other."""
    torch.manual_seed(3)
    kept = (Dropout(0.5)(torch.ones(40_000, 8)) > 0).double()
    correlation = torch.corrcoef(kept.T) - torch.eye(8)
    assert correlation.abs().max() < 0.025  # five standard deviations of 40,000 independent pairs


def test_each_call_draws_anew_and_the_seed_repeats_it():
    x = torch.ones(50, 3)
    drop = Dropout(0.5)
    torch.manual_seed(4)
    first, second = drop(x), drop(x)
    torch.manual_seed(4)
    assert torch.equal(drop(x), first)
    assert not torch.equal(first, second)


def test_nothing_is_dropped_outside_training_or_at_zero():
    x = torch.randn(6, 11)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


@pytest.fixture(params=["our kernel", "torch"])
def alone(request, monkeypatch):
    """One thread, with our kernel and without it."""
    if request.param == "torch":
        monkeypatch.setattr(dropout, "library", lambda *given: None)
    elif not any(map(shutil.which, compiled.COMPILERS)):
        pytest.skip("needs a C compiler")
    else:
        assert dropout.kernel().library, dropout.kernel().why
    with threads(1):
        yield


def test_what_is_left_is_added_to_what_went_past(alone):
    x, past = torch.randn(3, 5, 77), torch.randn(3, 5, 77)
    drop = Dropout(0.3)
    torch.manual_seed(5)
    left = drop(x)
    torch.manual_seed(5)
    torch.testing.assert_close(drop(x, onto=past), past + left)
    assert torch.equal(drop.eval()(x, onto=past), past + x)


def test_the_kernel_drops_what_torch_drops(monkeypatch):
    """So that a run is the same run, to rounding, on a machine without a compiler."""
    x, past, gradient = (torch.randn(4, 33, 7) for _ in range(3))
    x.requires_grad_()
    past.requires_grad_()

    def computed() -> tuple[torch.Tensor, ...]:
        torch.manual_seed(6)
        y = Dropout(0.2)(x, onto=past)
        return y, *torch.autograd.grad(y, (x, past), gradient)

    with threads(1):
        ours = computed()
        monkeypatch.setattr(dropout, "library", lambda *given: None)
        torch.testing.assert_close(ours, computed())


def test_gradients_are_those_of_what_is_computed(alone):
    """By differences, in double precision, and once more of the gradients themselves."""
    x, past = (torch.randn(3, 4, dtype=torch.double, requires_grad=True) for _ in range(2))

    def dropped(x: torch.Tensor, past: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(7)
        return Dropout(0.4)(x.sin(), onto=past)

    assert torch.autograd.gradcheck(dropped, (x, past))
    assert torch.autograd.gradgradcheck(dropped, (x, past))


@pytest.mark.parametrize("past", [torch.randn(5), torch.randn(6, 5, dtype=torch.double), torch.randn(5, 6).T])
def test_what_went_past_may_be_of_another_shape_or_kind(alone, past):
    x = torch.randn(6, 5)
    drop = Dropout(0.3)
    torch.manual_seed(8)
    left = drop(x)
    torch.manual_seed(8)
    torch.testing.assert_close(drop(x, onto=past), past + left)
