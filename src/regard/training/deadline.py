"""A time for a whole command, and the number of steps that keeps it.

    ├── set-up ──┼─ warm-up ─┼──── stable ────┼──── decay ────┼─ scoring ─┤ deadline
                 begun                        fixed           end

How fast a machine will be is not known beforehand, least of all on a shared one. So training starts with an estimate,
at a rate that stays the same, and only when the rate is about to fall is the number of steps fixed, by what was
measured until then. From there on the run is one of so many steps, as `config.json` says, and can be repeated without a
clock.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from regard.config import TrainConfig
from regard.errors import ConfigError

UNITS = {"s": 1, "m": 60, "h": 3600}
SPARE = 0.05  # of the whole time, that training may overrun its end before it is cut short
MOST = 0.25  # of the whole time, that is kept for scoring: a network that has hardly begun writes on and on
VALIDATIONS = 4  # before the last one


def seconds_in(text: str) -> float:
    """The seconds of 90s, 20m, 1.5h or 1h30m."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([smh])", text)
    seconds = sum(float(number) * UNITS[unit] for number, unit in parts)
    if "".join(number + unit for number, unit in parts) != text or not seconds:
        raise ConfigError(f"--time {text} is not a time: write 90s, 20m or 1h30m")
    return seconds


class Deadline:
    """When a command is to be done, counted from the moment this is made."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic):
        self.seconds, self.clock = seconds, clock
        self.at = clock() + seconds
        self.scoring = SPARE * seconds  # to be kept for the end; a guess, until something has been scored
        self.begun = 0.0
        self.fixed = False

    def check(self, settings: TrainConfig) -> None:
        """Refuse a learning rate that is none: Noam's is a factor."""
        if settings.schedule == "noam":
            raise ConfigError(
                f"--time goes by the schedule stable, and noam's train.learning_rate={settings.learning_rate:g} is a "
                "factor, not a rate: add --set train.schedule=stable and a rate such as --set train.learning_rate=7e-4"
            )

    def estimate(self, settings: TrainConfig, step: float) -> TrainConfig:
        """Settings for as many steps, of so many seconds each, as there seems to be time for."""
        self.begun = self.clock()
        steps = max(10, round(self.left / step))
        return settings.model_copy(
            update={
                "steps": steps,
                "warmup": min(settings.warmup, steps // 10),
                "schedule": "stable",
                "validate_every": max(1, steps // (VALIDATIONS + 1)),
            }
        )

    @property
    def left(self) -> float:
        """Seconds until training should end."""
        return self.at - self.scoring - self.clock()

    def scored(self, seconds: float) -> None:
        """Keep so long for the end, as far as that leaves time to learn anything."""
        self.scoring = min(seconds, MOST * self.seconds)

    def keep(self, settings: TrainConfig, step: int) -> TrainConfig:
        """The settings after a step: with the number of steps, once the rate must fall; with the end, if time is up."""
        taken, left = self.clock() - self.begun, self.left
        if not self.fixed and taken >= (1 - settings.decay) * (taken + left):
            self.fixed = True
            rest = max(1, round(left / taken * step))
            return settings.model_copy(update={"steps": step + rest, "decay": rest / (step + rest)})
        if left < -SPARE * self.seconds and step < settings.steps:
            return settings.model_copy(update={"until": step})
        if step + 1 == settings.validate_every and 2 * (VALIDATIONS + 1) * taken < taken + left:  # faster: not yet
            return settings.model_copy(update={"validate_every": 2 * settings.validate_every})
        if not self.fixed and step + 1 > (1 - settings.decay) * settings.steps:  # faster than estimated: not yet
            return settings.model_copy(update={"steps": 2 * settings.steps})
        return settings
