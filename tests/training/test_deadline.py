"""Training that ends when it should, on a clock that the test turns."""

from __future__ import annotations

import pytest

from regard.config import TrainConfig
from regard.errors import ConfigError
from regard.training.deadline import Deadline, seconds_in
from regard.training.schedule import learning_rate


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("20m", 1200), ("1.5h", 5400), ("1h30m", 5400), ("1m5s", 65)]
)
def test_times_are_read_as_people_write_them(text, seconds):
    assert seconds_in(text) == seconds


@pytest.mark.parametrize("text", ["", "20", "m", "20 m", "20min", "-5m", "0s", "1d"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ConfigError) as error:
        seconds_in(text)
    assert str(error.value) == f"--time {text} is not a time: write 90s, 20m or 1h30m"


class Machine:
    """A clock, and steps that take as long as they are said to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def train(self, guess: float, seconds_of, scoring: float = 20.0) -> tuple[TrainConfig, int, list[float]]:
        """Until the deadline's settings say that it is done; seconds_of(step) is what each step takes."""
        deadline = Deadline(600, lambda: self.now)
        self.now += 30  # set-up
        settings = deadline.estimate(TrainConfig(warmup=20, learning_rate=1.0), guess)
        deadline.scoring = scoring
        step, rates = 0, []
        while step < (settings.until or settings.steps):
            step += 1
            rates.append(learning_rate(step, settings, 64))
            self.now += seconds_of(step)
            settings = deadline.keep(settings, step)
        return settings, step, rates


@pytest.mark.parametrize("guess", [0.2, 0.5, 1.0, 3.0])
def test_a_steady_machine_ends_on_time_whatever_was_guessed(guess):
    machine = Machine()
    settings, steps, _ = machine.train(guess, lambda step: 0.5)
    assert machine.now - 1000 == pytest.approx(600 - 20, abs=2)
    assert steps == settings.steps
    assert settings.until == 0


@pytest.mark.parametrize(
    "seconds_of", [lambda step: 0.5, lambda step: 0.4 + 0.00005 * step, lambda step: 2.0, lambda step: 0.1]
)
def test_the_settings_that_are_left_give_the_same_rates_without_a_clock(seconds_of):
    settings, steps, rates = Machine().train(0.5, seconds_of)
    assert [learning_rate(step, settings, 64) for step in range(1, steps + 1)] == rates
    assert rates[-1] < 0.02
    assert max(rates) == 1.0


def test_a_machine_that_slows_down_at_the_end_is_cut_short_and_says_so():
    machine = Machine()
    settings, steps, rates = machine.train(0.5, lambda step: 0.5 if step < 800 else 3.0)
    assert 580 <= machine.now - 1000 <= 600 * 1.05 + 3 + 3
    assert settings.until == steps < settings.steps
    assert [learning_rate(step, settings, 64) for step in range(1, steps + 1)] == rates


@pytest.mark.parametrize("guess", [0.05, 0.5, 5.0])
def test_the_first_validation_waits_until_something_is_learned(guess):
    """However slow the machine seemed at first: it is not before a tenth of the time, unless the guess was too low."""
    machine = Machine()
    settings, steps, _ = machine.train(guess, lambda step: 0.05)
    assert steps / 11 < settings.validate_every <= steps / 3


def test_one_slow_validation_does_not_end_training():
    """Its network had hardly begun and wrote on and on: a quarter of the time at most is kept for that."""
    now = [1000.0]
    deadline = Deadline(600, lambda: now[0])
    settings = deadline.estimate(TrainConfig(warmup=20), 0.5)
    now[0] += 11.0
    deadline.scored(1800.0)
    assert deadline.keep(settings, 22).steps >= 1000
    assert deadline.left == pytest.approx(600 * 0.75 - 11)
    deadline.scored(20.0)
    assert deadline.left == pytest.approx(600 - 20 - 11)
