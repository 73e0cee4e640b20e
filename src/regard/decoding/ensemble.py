"""Several models that write together: at every step the mean of their probabilities.

    p(y_t | …) = (p_1 + … + p_n) / n                          as Sutskever et al. 2014 had it

run = regard.ensemble([regard.load("runs/a"), regard.load("runs/b")])
regard.translate(run, lines)

Their memories, and their states, lie side by side along the features, so that whatever writes with one model writes
with them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn

from regard.decoding.writing import Rows
from regard.errors import RunError
from regard.model.cache import Cache
from regard.model.translator import Translator
from regard.run import Run


class Ensemble(nn.Module):
    """Translators of any sizes with one vocabulary. Their logits are log-probabilities already."""

    def __init__(self, models: Iterable[Translator]):
        super().__init__()
        self.models = cast(Sequence[Translator], nn.ModuleList(models))
        self.widths = [model.config.width for model in self.models]

    def forward(self, source: Tensor, target: Tensor, readable: Tensor) -> Tensor:
        return self.logits(self.decode(target, self.encode(source, readable), readable))

    def encode(self, source: Tensor, readable: Tensor) -> Tensor:
        return torch.cat([model.encode(source, readable) for model in self.models], dim=-1)

    def decode(self, target: Tensor, memory: Tensor, readable: Tensor, cache: Caches | None = None) -> Tensor:
        caches = cache.each if cache else [None] * len(self.models)
        each = zip(self.models, memory.split(self.widths, dim=-1), caches, strict=True)
        return torch.cat([model.decode(target, own, readable, kept) for model, own, kept in each], dim=-1)

    def logits(self, x: Tensor) -> Tensor:
        each = zip(self.models, x.split(self.widths, dim=-1), strict=True)
        log_probabilities = torch.stack([model.logits(own).float().log_softmax(-1) for model, own in each])
        return log_probabilities.logsumexp(0) - math.log(len(self.models))

    def cache(self) -> Caches:
        return Caches([model.cache() for model in self.models])


class Caches(Rows):
    """What each of the models keeps."""

    def __init__(self, each: list[Cache]):
        self.each = each

    def select_own(self, rows: Tensor) -> None:
        for cache in self.each:
            cache.select_own(rows)

    def select_memory(self, rows: Tensor) -> None:
        for cache in self.each:
            cache.select_memory(rows)


def ensemble(runs: Sequence[Run]) -> Run:
    """Runs of one vocabulary and the same languages as one run, with the first one's settings and no folder.

    Of a single one, that one.
    """
    if not runs:
        raise RunError("there are no runs to translate together: give one or more")
    first = runs[0]
    if len(runs) == 1:
        return first
    for run in runs[1:]:
        if (differs := difference(first, run)) is not None:
            raise RunError(
                f"{name_of(run)} cannot translate together with {name_of(first)}: it has another {differs}; "
                "train both on the same corpus, with the same tokenizer settings"
            )
    model = Ensemble(run.model for run in runs)
    return replace(first, model=cast(Translator, model), folder=None)  # to write is all that decoding asks of a model


def difference(one: Run, other: Run) -> str | None:
    """What keeps two runs from writing the same ids for the same text, if anything does."""
    parts = {
        "source vocabulary": [run.source_tokenizer.identity for run in (one, other)],
        "target vocabulary": [run.target_tokenizer.identity for run in (one, other)],
        "pair of languages": [
            (data.languages, data.both_ways, data.tags) for data in (one.settings.data, other.settings.data)
        ],
        "device": [run.device for run in (one, other)],
    }
    return next((name for name, (a, b) in parts.items() if a != b), None)


def name_of(run: Run) -> str:
    return str(run.folder or "the run")
