"""Sentence pairs read again, source and target at once: how likely each token was, and what each step looked at.

A search writes a token at a time and keeps no weights. One pass over what it wrote, teacher-forced, tells the rest:

    step      0      1      2     …   T
    reads    <s>     y₁     y₂        y_T
    writes    y₁     y₂     y₃        </s>

So every token is met twice: by the step that writes it and, one later, by the step that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.config.base import Config, Whole
from regard.data.batch import Example, PairBatch, collate, grouped
from regard.errors import RunError
from regard.languages import lead_of
from regard.model.listening import crossing
from regard.model.translator import Translator
from regard.run import Run
from regard.tokens.words import by_word, words_of

BUDGET = 1024  # tokens of a batch, padding included


class Head(Config):
    """A head of the decoder's attention over the memory, at the step that reads a token or at that which writes it."""

    layer: Whole
    head: Whole
    reads: bool

    @property
    def steps(self) -> slice:
        """Of all steps those that meet the tokens, without EOS, in this way."""
        return slice(1, None) if self.reads else slice(-1)


@dataclass(frozen=True, eq=False)
class Reading:
    """One pair, read again."""

    example: Example
    log_probabilities: np.ndarray  # of each target token that was chosen, and of EOS after them
    looks: np.ndarray  # (target words, source words + 1), by the heads asked for; what is no word comes last


def read(
    run: Run,
    examples: Sequence[Example],
    heads: Sequence[Head] = (),
    unsure: Callable[[int, Reading], bool] = lambda index, reading: False,
) -> list[Reading]:
    """Read pairs in batches; those whose reading is unsure, as another batch might turn it, again and alone."""
    readings: dict[int, Reading] = {}
    for group in grouped(examples, BUDGET, range(len(examples))):
        for index, reading in zip(group, read_batch(run, [examples[index] for index in group], heads), strict=True):
            alone = len(group) > 1 and unsure(index, reading)
            readings[index] = read_batch(run, [examples[index]], heads)[0] if alone else reading
    return [readings[index] for index in range(len(examples))]


@torch.inference_mode()
def read_batch(run: Run, examples: Sequence[Example], heads: Sequence[Head]) -> list[Reading]:
    batch = collate(examples).to(run.device)
    with looking(run.model, {head.layer for head in heads}) as weights:
        logits = run.model(batch.source, batch.target, batch.readable).float()  # (B, T + 1, V)
    logits[:, :, run.target_tokenizer.unwritten] = -torch.inf  # as in a search, the others share their probability
    scored = logits.log_softmax(-1).gather(2, batch.labels.unsqueeze(2)).squeeze(2).cpu().numpy()  # (B, T + 1)
    looks = mean_look(weights, heads, batch)
    leads = [len(lead_of(each.source)) for each in examples]
    return [
        Reading(each, scores[lead : len(each.target)], look_by_word(run, each, look))
        for each, lead, scores, look in zip(examples, leads, scored, looks, strict=True)
    ]


def mean_look(weights: dict[int, Tensor], heads: Sequence[Head], batch: PairBatch) -> np.ndarray:
    """How much each target token looks at each source token, by some heads together, (B, T, S)."""
    B, T, S = len(batch.source), batch.target.size(1) - 1, batch.source.size(1)
    total = torch.zeros(B, T, S, device=batch.source.device)
    for head in heads:
        total += weights[head.layer][:, head.head, head.steps]
    return (total / max(1, len(heads))).cpu().numpy()


def look_by_word(run: Run, example: Example, look: np.ndarray) -> np.ndarray:
    source, target = example.source, example.target[:-1]
    rows, columns = words_of(run.target_tokenizer, target), words_of(run.source_tokenizer, source)
    return by_word(look[: len(target), : len(source)], rows, columns)


@contextmanager
def looking(model: Translator, layers: set[int]) -> Iterator[dict[int, Tensor]]:
    """Within, each pass leaves the weights (B, H, steps, S) with which these layers of the decoder saw the memory."""
    seen: dict[int, Tensor] = {}

    if not isinstance(model, Translator):
        raise RunError("what is looked at can be told of one run, not of several together: ask one of them")
    with crossing(model, layers, seen.__setitem__):
        yield seen
