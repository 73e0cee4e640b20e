"""The learning rate as a function of the step."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.config import TrainConfig
from regard.training.schedule import learning_rate


def test_noam_is_the_formula_of_the_paper():
    """lrate = d^−0.5 · min(step^−0.5, step · warmup^−1.5), equation 3, at its three telling places."""
    config = TrainConfig(schedule="noam", warmup=4000, learning_rate=1.0, steps=100_000)
    assert learning_rate(1, config, 512) == pytest.approx(512**-0.5 * 4000**-1.5)
    assert learning_rate(4000, config, 512) == pytest.approx((512 * 4000) ** -0.5)
    assert learning_rate(64_000, config, 512) == pytest.approx((512 * 64_000) ** -0.5)


def test_inverse_sqrt_falls_to_half_its_peak_at_four_times_the_warmup():
    config = TrainConfig(schedule="inverse-sqrt", warmup=300, learning_rate=0.002, steps=5000)
    assert learning_rate(150, config, 512) == pytest.approx(0.001)
    assert learning_rate(300, config, 512) == pytest.approx(0.002)
    assert learning_rate(1200, config, 512) == pytest.approx(0.001)


def test_cosine_falls_to_half_halfway_and_to_nothing_at_the_end():
    config = TrainConfig(schedule="cosine", warmup=100, learning_rate=0.004, steps=1100)
    assert learning_rate(100, config, 512) == pytest.approx(0.004)
    assert learning_rate(600, config, 512) == pytest.approx(0.002)
    assert learning_rate(1100, config, 512) == pytest.approx(0.0, abs=1e-12)


def test_stable_stays_at_its_peak_and_falls_in_a_straight_line_over_the_last_share():
    config = TrainConfig(schedule="stable", warmup=100, learning_rate=0.004, steps=1000, decay=0.25)
    assert learning_rate(50, config, 512) == pytest.approx(0.002)
    assert learning_rate(100, config, 512) == learning_rate(750, config, 512) == pytest.approx(0.004)
    assert learning_rate(876, config, 512) == pytest.approx(0.002)
    assert learning_rate(1000, config, 512) == pytest.approx(0.004 / 250)


@given(
    schedule=st.sampled_from(["noam", "inverse-sqrt", "cosine", "stable", "constant"]),
    warmup=st.integers(0, 50),
    steps=st.integers(50, 200),
)
def test_every_schedule_climbs_then_never_rises_again(schedule, warmup, steps):
    config = TrainConfig(schedule=schedule, warmup=warmup, steps=steps)
    rates = [learning_rate(step, config, 64) for step in range(1, steps + 1)]
    top = max(1, warmup)
    assert all(a < b for a, b in pairwise(rates[:top])), "it climbs"
    assert all(a >= b for a, b in pairwise(rates[top - 1 :])), "it does not climb again"
    assert min(rates) >= 0
