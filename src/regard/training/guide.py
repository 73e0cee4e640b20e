"""Teaching a head to align: its weights against gold links, beside the loss of translation.

    λ · − Σ_t Σ_s g(t, s) log w(t, s)              Chen et al. 2016, "Guided Alignment Training for Topic-Aware NMT"

g(t, ·) is spread evenly over the source tokens that target token t is linked to, and 0 for one without a link. The head
is the first of the last decoder layer but one, as in Garg et al. 2019, at the step that reads t and so knows it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor

from regard.model.listening import crossing
from regard.model.translator import Translator

HEAD = 0
LEAST = 1e-9  # weight, so that its logarithm stays finite


def guided_layer(layers: int) -> int:
    """The last but one, where there are two."""
    return max(0, layers - 2)


class Looks(threading.local):
    """What the head looked at in this thread's last pass, (B, T, S)."""

    weights: Tensor


@contextmanager
def watched(model: Translator, looks: Looks | None = None) -> Iterator[Looks]:
    """Within, each pass leaves the weights of the head that is taught, for the thread that made it."""
    looks = looks or Looks()

    def note(layer: int, weights: Tensor) -> None:
        looks.weights = weights[:, HEAD]

    with crossing(model, [guided_layer(len(model.decoder.blocks))], note):
        yield looks


def misaligned(weights: Tensor, gold: Tensor) -> Tensor:
    """The cross-entropy of weights against gold (B, T, S), summed; of several passes over the same rows, the mean."""
    passes = len(weights) // len(gold)
    return -(gold.repeat(passes, 1, 1) * (weights + LEAST).log()).sum() / passes
