"""What is made small. Sums, not means: a step's batches are weighed by their tokens, however they were cut."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from regard.data.batch import Batch
from regard.model.translator import Translator


class Loss(NamedTuple):
    total: Tensor  # what is differentiated, summed over the tokens
    surprise: Tensor  # −log p of the labels, summed: its mean is the log of the perplexity
    tokens: int


def translation(model: Translator, batch: Batch, smoothing: float = 0.0) -> Loss:
    """Cross-entropy with label smoothing ε, over the wanted positions.

    (1 − ε) · −log p(label) + ε · mean over the vocabulary of −log p      Szegedy et al. 2016, section 7
    """
    memory = model.encode(batch.source, batch.readable)
    states = model.decode(batch.target, memory, batch.readable)  # (B, T, D)
    labels = batch.labels[batch.wanted]  # (N)
    log_probabilities = model.logits(states[batch.wanted]).log_softmax(-1)  # (N, V): no logits where nothing is wanted
    surprise = -log_probabilities.gather(1, labels.unsqueeze(1)).sum()
    total = surprise if not smoothing else (1 - smoothing) * surprise - smoothing * log_probabilities.mean(-1).sum()
    return Loss(total, surprise.detach(), len(labels))
