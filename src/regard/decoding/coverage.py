"""Coverage: a translation should have looked at all of its source.

    cp(X; Y) = β Σ_i log min(Σ_j p_ij, 1)                                   Wu et al. 2016, equation 14

p_ij is how much the step that wrote target token j looked at source token i: here the mean over the heads of the last
decoder layer, in one pass over what was written. So it ranks what a search has found, and does not prune on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from regard.data.batch import pad
from regard.decoding.ensemble import Ensemble
from regard.decoding.hypothesis import Found, Hypothesis
from regard.decoding.reading import looking
from regard.decoding.writing import Writer
from regard.errors import ConfigError
from regard.model.translator import Translator
from regard.tokens.text import BOS


def with_coverage(model: Writer, sources: Sequence[list[int]], found: Sequence[Found], beta: float) -> list[Found]:
    """The same hypotheses with β times their coverage in their scores; a sentence at a time, alike in any batch."""
    if not isinstance(model, Translator | Ensemble):
        raise ConfigError(f"coverage={beta} asks what a model looks at, and this one does not tell: set coverage=0")
    models = model.models if isinstance(model, Ensemble) else [model]
    return [
        Found(
            [
                replace(each, score=each.score + beta * extent)
                for each, extent in zip(one.hypotheses, coverage(models, ids, one.hypotheses), strict=True)
            ],
            one.margin,
        )
        for ids, one in zip(sources, found, strict=True)
    ]


def coverage(models: Sequence[Translator], source: list[int], hypotheses: Sequence[Hypothesis]) -> list[float]:
    """Σ_i log min(Σ_j p_ij, 1) of each hypothesis of one source, p_ij being the mean over the models."""
    steps = torch.tensor([each.length for each in hypotheses])
    ids = torch.tensor([source]).expand(len(hypotheses), -1)
    read = pad(
        [[BOS, *each.ids][: max(1, length)] for each, length in zip(hypotheses, steps.tolist(), strict=True)]
    )  # (N, T)
    looks = torch.stack([looks_of(model, ids, read) for model in models]).mean(0).cpu()  # (N, T, S)
    written = torch.arange(read.size(1)) < steps.unsqueeze(1)
    sums = (looks * written.unsqueeze(2)).sum(1)  # (N, S)
    return sums.clamp(torch.finfo(sums.dtype).tiny, 1).log().sum(1).tolist()  # what underflows to 0 has a logarithm


def looks_of(model: Translator, source: Tensor, read: Tensor) -> Tensor:
    """How much each step looks at each source token, in the mean over the heads of the last layer, (N, T, S)."""
    device = next(model.parameters()).device
    source, read = source.to(device), read.to(device)
    readable = torch.ones_like(source, dtype=torch.bool)
    last = model.config.decoder_layers - 1
    with looking(model, {last}) as weights:
        model.decode(read, model.encode(source, readable), readable)
    return weights[last].mean(1)
