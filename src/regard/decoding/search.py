"""Logits to ids: greedy and beam search over a batch of sources.

At every step the K hypotheses of a sentence are continued by every token; of these the 2K + 1 likeliest are looked at:

- those among the first K that end in EOS are finished, with log-probability / length^α as their score (EOS counts);
- the first K that do not end go on;
- a sentence is done when K of its hypotheses are finished, or at its length limit, where all of the first K are
  taken as they stand.

This is the rule of Hugging Face's `generate(early_stopping=True)`. Greedy search is K = 1.

**Any batch gives the same text.** Matrix products of other row counts differ in their last bits, and a choice between
two near-equal candidates could fall otherwise in another batch. So each sentence reports its `margin`, the smallest
difference that any of its choices hung on; `decoding.translate` decodes again, alone, those below a threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from regard.config import DecodeConfig
from regard.decoding.writing import Writer, Writing
from regard.tokens.text import EOS


@dataclass(frozen=True)
class Hypothesis:
    """A candidate output: its ids without EOS, and how likely the model finds it."""

    ids: tuple[int, ...]
    score: float  # log-probability, EOS included, over the length penalty: what hypotheses are ranked by
    log_probability: float
    finished: bool  # False where the length limit cut it off


@dataclass
class Found:
    """What the search found for one sentence, the best first, and the smallest difference it hung on."""

    hypotheses: list[Hypothesis] = field(default_factory=list)
    margin: float = torch.inf


class Candidates(NamedTuple):
    """The likeliest continuations of each sentence, sorted."""

    sums: Tensor  # (B, C) log-probability so far
    beams: Tensor  # (B, C) which hypothesis each continues
    tokens: Tensor  # (B, C) by what


class Considered(NamedTuple):
    """One step of one sentence: the candidates, the likeliest first, and what became of them."""

    sentence: int
    length: int  # tokens written with this step
    sums: list[float]  # log-probability so far; −∞ is no candidate
    beams: list[int]  # which of the hypotheses that went on from the last step each continues
    tokens: list[int]  # by what
    finished: list[bool]  # taken as a hypothesis
    goes_on: list[bool]


Watch = Callable[[Considered], None]


@torch.inference_mode()
def search(
    model: Writer,
    source: Tensor,
    readable: Tensor,
    config: DecodeConfig,
    limits: list[int],
    forbidden: Tensor | None = None,
    cached: bool = True,
    prefix: Sequence[int] = (),
    watch: Watch | None = None,
) -> list[Found]:
    """The best hypotheses for each row of source (B, S), at most `limits[b]` tokens long.

    `forbidden` ids are never written, and the others share their probability. Without the cache every step computes all
    positions anew, to the same end. Every hypothesis begins with the `prefix`, forbidden or not, and `watch` is told of
    each step of each sentence.
    """
    K, device = config.beam, source.device
    found = [Found() for _ in limits]
    alive = list(range(len(limits)))  # the sentences still searched, in the order of the rows; K rows each

    writing = Writing(model, source, readable, K, cached)
    sums = torch.full((len(alive), K), -torch.inf, device=device)  # (B, K); at first only one hypothesis is there
    sums[:, 0] = 0.0

    for length in range(1, max(limits, default=0) + 1):
        logits = writing.logits()  # (B·K, V)
        given = prefix[length - 1] if length <= len(prefix) else None
        if forbidden is not None:
            logits[:, forbidden[forbidden != given]] = -torch.inf
        log_probabilities = logits.log_softmax(-1)
        if given is not None:
            log_probabilities = only(log_probabilities, given)
        best = candidates(sums, log_probabilities)
        ends = best.tokens == EOS  # (B, C)
        onward = ~ends & ((~ends).cumsum(1) <= K)  # (B, C): the first K of each sentence that do not end
        note_margins([found[sentence] for sentence in alive], best.sums, ends, K)

        going: list[int] = []  # the rows of best whose sentences are not done
        for row, (sentence, *ranked) in enumerate(zip(alive, *(part.tolist() for part in best), strict=True)):
            last = length == limits[sentence]
            finished = [False] * len(ranked[0])
            for place, (total, beam, token) in enumerate(islice(zip(*ranked, strict=True), K)):
                if total > -math.inf and (last or token == EOS):
                    finished[place] = True
                    ids = writing.written[row * K + beam, 1:].tolist() + [token] * (token != EOS)
                    score = total / penalty(length, config)
                    found[sentence].hypotheses.append(Hypothesis(tuple(ids), score, total, finished=token == EOS))
            if not last and len(found[sentence].hypotheses) < K and best.sums[row, onward[row]].isfinite().any():
                going.append(row)
            if watch is not None:
                goes_on = onward[row].tolist() if going[-1:] == [row] else [False] * len(finished)
                watch(Considered(sentence, length, ranked[0], ranked[1], ranked[2], finished, goes_on))
        if not going:
            break

        rows = torch.tensor(going, device=device)
        sums, beams, tokens = (part[rows][onward[rows]].view(-1, K) for part in best)
        writing.go_on((rows.unsqueeze(1) * K + beams).flatten(), tokens.flatten())
        alive = [alive[row] for row in going]

    for each in found:
        each.hypotheses.sort(key=lambda hypothesis: -hypothesis.score)
        scores = [hypothesis.score for hypothesis in each.hypotheses]
        each.margin = min([each.margin, *(a - b for a, b in pairwise(scores))])
    return found


def only(log_probabilities: Tensor, token: int) -> Tensor:
    """No choice but one token, which costs what it costs."""
    alone = torch.full_like(log_probabilities, -torch.inf)
    alone[:, token] = log_probabilities[:, token]
    return alone


def candidates(sums: Tensor, log_probabilities: Tensor) -> Candidates:
    """The 2K + 1 likeliest of the K · V continuations: K that may end, K that may go on, and one that is left out."""
    (B, K), V = sums.shape, log_probabilities.size(-1)
    totals = (sums.unsqueeze(2) + log_probabilities.view(B, K, V)).view(B, K * V)
    values, indices = totals.topk(min(2 * K + 1, K * V), dim=1)
    return Candidates(values, indices // V, indices % V)


def note_margins(found: list[Found], sums: Tensor, ends: Tensor, beam: int) -> None:
    """Two cuts decide a step: the first K candidates from the rest, and the first K that go on from the rest."""
    if sums.size(1) <= beam:
        return  # everything is kept
    onward = sums.masked_fill(ends, -torch.inf).sort(dim=1, descending=True).values
    gaps = torch.stack([each[:, beam - 1] - each[:, beam] for each in (sums, onward)])  # (2, B)
    for each, gap in zip(found, gaps.nan_to_num(torch.inf).amin(0).tolist(), strict=True):  # −∞ − −∞ is no choice
        each.margin = min(each.margin, gap)


def penalty(length: int, config: DecodeConfig) -> float:
    """What a log-probability is divided by: length^α, or ((5 + length) / 6)^α        Wu et al. 2016, equation 14"""
    base = length if config.penalty == "length" else (5 + length) / 6
    return base**config.length_penalty
