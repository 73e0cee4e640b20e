"""What a search finds: hypotheses of a sentence, ranked, and how firmly they were chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from regard.config import DecodeConfig


@dataclass(frozen=True)
class Hypothesis:
    """A candidate output: its ids without EOS, and how likely the model finds it."""

    ids: tuple[int, ...]
    score: float  # what hypotheses are ranked by: log-probability over the length penalty, and coverage where it counts
    log_probability: float  # EOS included
    finished: bool  # False where the length limit cut it off, or where the rules left nothing more to write

    @property
    def length(self) -> int:
        """Tokens that a penalty counts: EOS, too, where it came to its end."""
        return len(self.ids) + self.finished


@dataclass
class Found:
    """What the search found for one sentence, the best first, and the smallest difference it hung on."""

    hypotheses: list[Hypothesis] = field(default_factory=list)
    margin: float = math.inf

    def add(self, ids: list[int], length: int, log_probability: float, finished: bool, config: DecodeConfig) -> None:
        """One more, so many tokens long, EOS counted."""
        score = log_probability / penalty(length, config)
        self.hypotheses.append(Hypothesis(tuple(ids), score, log_probability, finished))

    def rank(self, config: DecodeConfig) -> None:
        """The best first."""
        self.hypotheses.sort(key=lambda hypothesis: -hypothesis.score)
        self.margin = min(self.margin, closest(self.hypotheses, config))


def closest(ranked: Sequence[Hypothesis], config: DecodeConfig) -> float:
    """The smallest difference between one and the next, in log-probability: that is what rounding moves.

    Scores are closer by their penalty. Of two that say the same it matters to nobody which comes first.
    """
    gaps = (
        (one.score - next.score) * penalty(max(1, min(one.length, next.length)), config)
        for one, next in pairwise(ranked)
        if one.ids != next.ids
    )
    return min(gaps, default=math.inf)


def penalty(length: int, config: DecodeConfig) -> float:
    """What a log-probability is divided by: length^α, or ((5 + length) / 6)^α        Wu et al. 2016, equation 14"""
    base = length if config.penalty == "length" else (5 + length) / 6
    return base**config.length_penalty
