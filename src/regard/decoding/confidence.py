"""What a model's probabilities have been worth: scores of validation sentences, beside the quality they came to.

The score of a translation is the geometric mean of its tokens' probabilities. How good translations of such a score are
is measured once, on the validation sentences that are translated at the end of training: isotonic regression, the
rising step function closest to the points (score, chrF), found by pooling neighbours that are out of order (Barlow et
al. 1972). A confidence of 0.62 means that validation sentences with such scores came to a chrF of 62.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from regard import lessons
from regard.config import Config
from regard.run import Run

CONFIDENCE = "confidence.json"
TOGETHER = 20  # neighbouring sentences whose mean is one point: a single one says little

Part = Annotated[float, Field(ge=0, le=1)]


class Calibration(Config):
    """What validation has shown; without it, a score is taken as it is and the limits are wide."""

    scores: tuple[Part, ...] = ()  # geometric means of token probabilities, rising
    quality: tuple[Part, ...] = ()  # chrF / 100 that translations of these scores came to, rising
    shortest: float = 0.4  # ratio of lengths, as `trust.stretch` has it
    longest: float = 2.5
    copied: Part = 0.7  # share of a source's plain words that stand in the translation
    unseen: float = 0.0  # total weight on the source word that was looked at least
    sentences: int = 0  # that it was learned from; 0 is not at all

    @model_validator(mode="after")
    def points_rise(self) -> Self:
        if any(sorted(values) != list(values) for values in (self.scores, self.quality)):
            raise ValueError("scores and quality should rise")
        if len(self.scores) != len(self.quality):
            raise ValueError("each score should have its quality")
        return self

    def confidence(self, score: float) -> float:
        """Between the points, in proportion; a score of 0 is worth nothing."""
        top = self.quality[-1] if self.quality else 1.0
        return float(np.interp(score, (0.0, *self.scores, 1.0), (0.0, *self.quality, top)))

    @property
    def least(self) -> float:
        """The confidence of the worst that validation has seen."""
        return self.quality[0] if self.quality else 0.0


def rising(scores: Sequence[float], quality: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The rising points closest to these: means of neighbours, pooled where they are out of order."""
    order = np.argsort(scores, kind="stable")
    points = np.stack([np.asarray(scores, dtype=float), np.asarray(quality, dtype=float)])[:, order]
    pools: list[tuple[np.ndarray, int]] = []  # mean score and quality, and of how many
    for part in np.array_split(points, max(1, len(order) // TOGETHER), axis=1):
        mean, count = part.mean(1), part.shape[1]
        while pools and pools[-1][0][1] >= mean[1]:
            other, more = pools.pop()
            mean, count = (count * mean + more * other) / (count + more), count + more
        pools.append((mean, count))
    return tuple(float(mean[0]) for mean, _ in pools), tuple(float(mean[1]) for mean, _ in pools)


def calibration_of(run: Run) -> Calibration:
    """What a run's validation has shown, if it kept that."""
    return (lessons.load(Calibration, run.folder / CONFIDENCE) if run.folder else None) or Calibration()
