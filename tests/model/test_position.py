"""Positions: the paper's numbers, in two orders, at any distance."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from regard.errors import ConfigError
from regard.model.position import Learned, Sinusoidal, Unordered, sinusoids

BOTH = pytest.mark.parametrize("layout", ["halves", "interleaved"])


def formula(positions: int, width: int, base: float) -> Tensor:
    """Section 3.5 of the paper, a number at a time; in the paper's order, sines and cosines by turns."""
    return torch.tensor(
        [
            [(math.sin, math.cos)[i % 2](position / base ** ((i - i % 2) / width)) for i in range(width)]
            for position in range(positions)
        ]
    )


@pytest.mark.parametrize("base", [10_000.0, 100.0])
def test_interleaved_is_the_formula_of_the_paper(base: float):
    table = sinusoids(torch.arange(9), width=6, base=base, layout="interleaved")
    torch.testing.assert_close(table, formula(9, 6, base))


@pytest.mark.parametrize("base", [10_000.0, 100.0])
def test_halves_hold_the_same_numbers_all_sines_first(base: float):
    halves = sinusoids(torch.arange(9), width=6, base=base, layout="halves")
    interleaved = sinusoids(torch.arange(9), width=6, base=base, layout="interleaved")
    assert halves.equal(interleaved[:, [0, 2, 4, 1, 3, 5]])


def test_the_base_is_10_000_and_the_layout_halves_unless_said():
    assert sinusoids(torch.arange(9), 6).equal(sinusoids(torch.arange(9), 6, 10_000.0, "halves"))
    assert not sinusoids(torch.arange(9), 6).equal(sinusoids(torch.arange(9), 6, base=100.0))


def test_far_positions_are_as_exact_as_near_ones():
    """Angles in single precision would be off by more than 1e-3 at position 100,000."""
    table = sinusoids(torch.tensor([99_999]), width=6)
    by_hand = [f(99_999 / 10_000 ** (i / 3)) for f in (math.sin, math.cos) for i in range(3)]
    torch.testing.assert_close(table, torch.tensor([by_hand]), atol=1e-6, rtol=0)


def test_another_layout_is_refused():
    with pytest.raises(ConfigError) as caught:
        sinusoids(torch.arange(3), width=4, layout="thirds")
    assert str(caught.value) == "layout='thirds' is neither halves nor interleaved nor spread"


@BOTH
def test_sinusoids_are_added(layout: str):
    x = torch.randn(2, 5, 6)
    expected = x + sinusoids(torch.arange(5), 6, base=100.0, layout=layout)
    torch.testing.assert_close(Sinusoidal(6, base=100.0, layout=layout)(x), expected)


@BOTH
def test_a_sequence_longer_than_any_before_gets_its_positions(layout: str):
    position = Sinusoidal(6, layout=layout)
    short = position(torch.zeros(1, 5, 6))
    expected = sinusoids(torch.arange(300), 6, layout=layout)
    torch.testing.assert_close(position(torch.zeros(1, 300, 6))[0], expected)
    assert position(torch.zeros(1, 5, 6)).equal(short), "and the short ones are what they were"


@BOTH
def test_a_past_moves_the_positions_on(layout: str):
    position = Sinusoidal(6, layout=layout)
    whole = position(torch.zeros(2, 200, 6))
    fresh = Sinusoidal(6, layout=layout)
    torch.testing.assert_close(fresh(torch.zeros(2, 3, 6), past=7), whole[:, 7:10])
    torch.testing.assert_close(fresh(torch.zeros(2, 30, 6), past=170), whole[:, 170:])


def test_a_table_that_grew_while_translating_serves_training():
    """Validation translates in inference mode, in between the steps of training."""
    position = Sinusoidal(6)
    with torch.inference_mode():
        position(torch.zeros(1, 300, 6))
    x = torch.randn(2, 290, 6, requires_grad=True)
    position(x).square().sum().backward()
    torch.testing.assert_close(x.grad, 2 * (x + sinusoids(torch.arange(290), 6)))


def test_a_table_that_grew_has_the_model_s_precision():
    position = Sinusoidal(6).double()
    assert position(torch.zeros(1, 300, 6, dtype=torch.float64)).dtype == torch.float64
    half = Sinusoidal(6).bfloat16()
    assert half(torch.zeros(1, 300, 6, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_sinusoids_are_neither_learned_nor_saved():
    position = Sinusoidal(6)
    assert not list(position.parameters())
    assert not position.state_dict()


def test_learned_positions_are_added_and_learn():
    position, x = Learned(width=6, positions=9), torch.randn(2, 5, 6)
    torch.testing.assert_close(position(x), x + position.table[:5])
    torch.testing.assert_close(position(x, past=4), x + position.table[4:9])
    position(x, past=4).sum().backward()
    assert position.table.grad is not None
    assert position.table.grad[:, 0].tolist() == [0, 0, 0, 0, 2, 2, 2, 2, 2], "one for each sentence of the batch"


@pytest.mark.parametrize(("length", "past"), [(10, 0), (3, 7)])
def test_a_learned_table_that_is_too_short_says_so(length: int, past: int):
    with pytest.raises(ConfigError) as caught:
        Learned(width=6, positions=9)(torch.zeros(1, length, 6), past=past)
    assert str(caught.value) == (
        "a sequence of 10 tokens does not fit model.max_positions=9: shorten it, or train with more positions"
    )


def test_unordered_adds_nothing():
    x = torch.randn(2, 5, 6)
    assert Unordered()(x, past=3) is x
