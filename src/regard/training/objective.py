"""What is made small. Sums, not means: a step's batches are weighed by their tokens, however they were cut."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from regard.config import TrainConfig
from regard.data.batch import Batch, PairBatch
from regard.data.text import TextBatch
from regard.decoding.continuing import Writes
from regard.model.matmul import product
from regard.model.softmax import softmax_
from regard.model.translator import Translator
from regard.training.guide import Looks, misaligned, watched

ROWS = 512  # positions whose logits are held at once: 512 of 8,000 are 16 MB, which a large cache can keep


class Loss(NamedTuple):
    total: Tensor  # what is differentiated, summed over the tokens
    surprise: Tensor  # −log p of the labels, summed: its mean is the log of the perplexity
    tokens: int


M = TypeVar("M")
B = TypeVar("B", bound=Batch)


class Objective(ABC, Generic[M, B]):
    """What a task makes small: the loss of a model on some rows of a batch. Several threads ask at once."""

    @abstractmethod
    def loss(self, model: M, part: B) -> Loss:
        """Its sums over those rows."""

    def watching(self, model: M) -> AbstractContextManager[Any]:
        """What is to be seen inside the model while a step is taken; nothing, for most."""
        return nullcontext()


class Translating(Objective[Translator, PairBatch]):
    """The loss of translation as the settings have it, and that of a head which is taught to align."""

    def __init__(self, settings: TrainConfig):
        self.settings, self.looks = settings, Looks()

    def loss(self, model: Translator, part: PairBatch) -> Loss:
        how = self.settings
        found = translation(model, part, how.label_smoothing, how.r_drop)
        if not (how.guided_alignment and part.gold.numel()):
            return found
        return found._replace(total=found.total + how.guided_alignment * misaligned(self.looks.weights, part.gold))

    def watching(self, model: Translator) -> AbstractContextManager[Any]:
        return watched(model, self.looks) if self.settings.guided_alignment else nullcontext()


class NextToken(Objective[Writes, TextBatch]):
    """−Σ log p(token | those before it)                                       Radford et al. 2018, equation 1"""

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def loss(self, model: Writes, part: TextBatch) -> Loss:
        states, labels = model.decode(part.reads).flatten(0, 1), part.labels.flatten()
        return Loss(*projected(model, states, labels, self.smoothing), len(labels))


def projected(model: Writes, states: Tensor, labels: Tensor, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """The loss of states (N, D) against labels (N), and its part without smoothing, both summed."""
    total, surprise = ProjectedLoss.apply(
        states.unsqueeze(0), model.output.table.weight, model.output_bias, labels, smoothing, 0.0
    )
    return total, surprise


def translation(model: Translator, batch: PairBatch, smoothing: float = 0.0, r_drop: float = 0.0) -> Loss:
    """Cross-entropy of the wanted positions with label smoothing ε; logits only where there is a label.

    With r_drop α every position is computed twice, under two draws of dropout, and the two are pulled together:

        ½ (CE₁ + CE₂) + ¼ α (KL(p₁ ‖ p₂) + KL(p₂ ‖ p₁))       half the loss of Wu et al. 2021, equation 4
    """
    passes = 2 if r_drop else 1
    source, readable, target = (each.repeat(passes, 1) for each in (batch.source, batch.readable, batch.target))
    states = model.decode(target, model.encode(source, readable), readable)  # (P·B, T, D)
    states = states.unflatten(0, (passes, -1))[:, batch.wanted]  # (P, N, D)
    labels = batch.labels[batch.wanted]  # (N)
    matrix, bias = model.output.table.weight, model.output_bias
    total, surprise = ProjectedLoss.apply(states, matrix, bias, labels, smoothing, r_drop)
    return Loss(total, surprise, len(labels))


class ProjectedLoss(torch.autograd.Function):
    """Output projection, softmax and loss in one, a few rows at a time, the gradients formed on the way.

        logits = x Eᵀ + b,  p = softmax(logits),  t = (1 − ε) · one-hot(label) + ε / V    Szegedy et al. 2016, section 7
        loss = − Σ t log p,  ∂loss/∂logits = p − t

    The logits of a whole batch are by far its largest tensor; here none of them outlives its rows, and the softmax is
    turned into its gradient in place.
    Shapes: P passes over N positions, D width, V vocabulary.
    """

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        matrix: Tensor,
        bias: Tensor | None,
        labels: Tensor,
        smoothing: float,
        r_drop: float,
    ) -> tuple[Tensor, Tensor]:
        passes, vocabulary = states.size(0), matrix.size(0)
        learning = any(ctx.needs_input_grad)
        to_states, to_matrix = torch.empty_like(states), torch.zeros_like(matrix)
        to_bias = None if bias is None else torch.zeros_like(bias)
        total, surprise = matrix.new_zeros(()), matrix.new_zeros(())
        mean_row, mean_bias = matrix.mean(0), 0.0 if bias is None else bias.mean()  # their logit is the mean of all
        for x, label, to_x in zip(states.split(ROWS, 1), labels.split(ROWS), to_states.split(ROWS, 1), strict=True):
            x = x.flatten(0, 1)  # (P · R, D)
            logits = product(x, matrix.T).to(matrix.dtype).unflatten(0, (passes, -1))  # (P, R, V)
            if bias is not None:
                logits += bias
            at_label = label.expand(passes, -1).unsqueeze(-1)  # (P, R, 1)
            of_label = logits.gather(-1, at_label).squeeze(-1)
            p = logits.clone() if r_drop else logits
            normalizer = softmax_(p)  # log Σ exp logits; and p is the softmax from here on
            of_mean = (x @ mean_row).unflatten(0, (passes, -1)) + mean_bias
            missed = normalizer - of_label  # −log p of the label, (P, R)
            surprise += missed.sum() / passes
            total += ((1 - smoothing) * missed + smoothing * (normalizer - of_mean)).sum() / passes
            gradient = p
            if r_drop:
                gap = (logits[0] - normalizer[0, :, None]) - (logits[1] - normalizer[1, :, None])  # log p₁ − log p₂
                apart = torch.stack([(p[0] * gap).sum(-1), -(p[1] * gap).sum(-1)])  # KL both ways, (2, R)
                total += r_drop / 4 * apart.sum()
                pull = torch.stack([gap, -gap]) - apart.unsqueeze(-1)
                gradient = p + r_drop / 2 * (p * pull + p - p.flip(0))
            if learning:
                gradient.scatter_add_(-1, at_label, torch.full_like(at_label, smoothing - 1, dtype=p.dtype))
                to_x.copy_(product(gradient.flatten(0, 1), matrix).unflatten(0, (passes, -1)))
                product(gradient.flatten(0, 1).T, x.to(matrix.dtype), to_matrix, add=True)
                if to_bias is not None:
                    to_bias += gradient.sum((0, 1))
        if smoothing:  # ε / V of every label, subtracted once for all rows
            to_states -= smoothing * mean_row
            to_matrix -= smoothing / vocabulary * states.sum((0, 1))
            if to_bias is not None:
                to_bias -= smoothing / vocabulary * passes * states.size(1)
        ctx.save_for_backward(to_states, to_matrix, to_bias)
        ctx.passes = passes
        ctx.mark_non_differentiable(surprise)
        return total, surprise

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        weight = gradients[0] / ctx.passes
        found = (None if gradient is None else gradient * weight for gradient in ctx.saved_tensors)
        return *found, None, None, None
