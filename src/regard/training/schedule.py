"""The learning rate as a function of the step, counted from 1."""

from __future__ import annotations

import math

from regard.config import TrainConfig


def learning_rate(step: int, config: TrainConfig, width: int) -> float:
    """The rate of one step: it climbs in a straight line over `warmup` steps, then falls as the schedule says."""
    warmup, peak = max(config.warmup, 1), config.learning_rate
    climb = min(1.0, step / warmup)
    match config.schedule:
        case "noam":  # Vaswani et al. 2017, equation 3
            return peak * width**-0.5 * min(step**-0.5, step * warmup**-1.5)
        case "inverse-sqrt":
            return peak * min(climb, math.sqrt(warmup / step))
        case "cosine":  # Loshchilov and Hutter 2017, one half-wave from the peak to 0
            progress = max(0, step - config.warmup) / max(1, config.steps - config.warmup)
            return peak * climb * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
        case "stable":  # warm-up, stable, decay: Hu et al. 2024; a straight line to 0 at the end
            falling = min(round(config.decay * config.steps), config.steps - config.warmup)
            return peak * min(climb, (config.steps - step + 1) / max(1, falling))
        case "constant":
            return peak * climb
