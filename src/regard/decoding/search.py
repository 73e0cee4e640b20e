"""Logits to ids: the one door to every search, and greedy and beam search over a batch of sources.

At every step the K hypotheses of a sentence are continued by every token; of these the 2K + 1 likeliest are looked at:

- those among the first K that end in EOS are finished, with log-probability / length^α as their score (EOS counts);
- the first K that do not end go on;
- a sentence is done when K of its hypotheses are finished, or at its length limit, where all of the first K are
  taken as they stand.

This is the rule of Hugging Face's `generate(early_stopping=True)`. Greedy search is K = 1. With groups each group is a
beam of this kind, K / groups wide (`decoding.diverse`), and with samples nothing is searched for (`decoding.sample`).

**Any batch gives the same text.** Matrix products of other row counts differ in their last bits, and a choice between
two near-equal candidates could fall otherwise in another batch. So each sentence reports its `margin`, the smallest
difference that any of its choices hung on; `torch_engine.decode_surely` decodes again, alone, those below a threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from regard.config import DecodeConfig
from regard.decoding.candidates import Candidates, likeliest
from regard.decoding.coverage import with_coverage
from regard.decoding.diverse import likeliest_by_group
from regard.decoding.hypothesis import Found, Hypothesis, penalty
from regard.decoding.rules import Prefix, Rules
from regard.decoding.sample import sample
from regard.decoding.writing import Growing, Writer, Writing
from regard.errors import ConfigError

__all__ = ["Considered", "Found", "Hypothesis", "Watch", "penalty", "search"]


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
    prefix: Prefix = (),
    watch: Watch | None = None,
) -> list[Found]:
    """The hypotheses for each row of source (B, S) that the settings ask for, at most `limits[b]` tokens long.

    `forbidden` ids are never written, and the others share their probability. Without the cache every step computes all
    positions anew, to the same end. Every hypothesis begins with the `prefix`, forbidden or not, or with its sentence's
    own, and `watch` is told of each step of each sentence, where there is one beam to watch.
    """
    if watch is not None and (config.samples or config.groups > 1):
        raise ConfigError("only one beam can be watched: set groups=1 and samples=0")
    writing = Writing(model, source, readable, config.hypotheses, cached)
    rules = Rules(config, forbidden, prefix)
    if config.samples:
        found = sample(writing, unpadded(source, readable), config, limits, rules)
    else:
        found = beam_search(writing, config, limits, rules, watch)
    if config.coverage:
        found = with_coverage(model, unpadded(source, readable), found, config.coverage)
    for each in found:
        each.rank(config)
    return found


def unpadded(source: Tensor, readable: Tensor) -> list[list[int]]:
    return [ids[read].tolist() for ids, read in zip(source, readable, strict=True)]


def beam_search(
    writing: Growing, config: DecodeConfig, limits: list[int], rules: Rules, watch: Watch | None = None
) -> list[Found]:
    """The best hypotheses for each sentence, in the order in which they were finished.

    Shapes: B sentences still searched, G groups of W hypotheses, L = B · G beams, C candidates of each.
    """
    G, W = config.groups, config.beam // config.groups
    device = writing.written.device
    found = [Found() for _ in limits]
    margins = torch.full((len(limits),), torch.inf, device=device)
    alive = torch.arange(len(limits), device=device)  # (B,): which sentences these are
    limit = torch.tensor(limits, device=device)
    wanted = torch.full((len(limits) * G,), W, device=device)  # (L,): hypotheses that each beam has yet to finish
    sums = torch.full((len(wanted), W), -torch.inf, device=device)  # (L, W); at first only one hypothesis is there
    sums[:, 0] = 0.0
    owed = torch.zeros_like(sums)

    for length in range(1, max(limits, default=0) + 1):
        log_probabilities, stuck = rules.log_probabilities(writing.written, writing.logits())  # (L · W, V)
        if G == 1:
            best = likeliest(sums, owed, log_probabilities)
        else:
            best = likeliest_by_group(sums, owed, log_probabilities, G, config.diversity)
        margins[alive] = margins[alive].minimum(best.margins(W).view(-1, G).amin(1))

        last = (limit == length).repeat_interleave(G).unsqueeze(1)  # (L, 1)
        onward = best.onward(W)  # (L, C)
        finished = best.possible & (best.ends | last)
        finished[:, W:] = False
        wanted = wanted - finished.sum(1)
        goes_on = (wanted > 0) & ~last.squeeze(1) & (onward & best.possible).any(1)  # (L,)
        note(found, alive, writing.written, best, finished, stuck, config)
        if watch is not None:
            tell(watch, alive, length, best, finished, onward & goes_on.unsqueeze(1))

        stay = goes_on.view(-1, G).any(1)  # (B,)
        beams = stay.repeat_interleave(G).nonzero().squeeze(1)
        if not len(beams):
            break
        places = onward[beams].nonzero()[:, 1].view(-1, W)
        sums, owed, origins, tokens = (part[beams].gather(1, places) for part in best)
        sums[~goes_on[beams]] = -torch.inf  # a group that is done waits for the others
        writing.go_on((beams.unsqueeze(1) * W + origins).flatten(), tokens.flatten())
        alive, limit, wanted = alive[stay], limit[stay], wanted[beams]

    for each, margin in zip(found, margins.tolist(), strict=True):
        each.margin = margin
    return found


def note(
    found: list[Found],
    alive: Tensor,
    written: Tensor,
    best: Candidates,
    finished: Tensor,
    stuck: Tensor,
    config: DecodeConfig,
) -> None:
    """Add the candidates that are finished to what is found."""
    beams, places = finished.nonzero(as_tuple=True)
    if not len(beams):
        return
    rows = beams * (config.beam // config.groups) + best.origins[beams, places]
    tokens, ends = best.tokens[beams, places], best.ends[beams, places]
    columns = (
        alive[beams // config.groups],
        torch.cat([written[rows, 1:], tokens.unsqueeze(1)], dim=1),
        (best.sums + best.owed)[beams, places],
        ends,
        ends & ~stuck[rows],
    )
    for sentence, ids, total, ended, complete in zip(*(column.tolist() for column in columns), strict=True):
        found[sentence].add(ids[:-1] if ended else ids, len(ids), total, complete, config)


def tell(watch: Watch, alive: Tensor, length: int, best: Candidates, finished: Tensor, goes_on: Tensor) -> None:
    columns = (alive, best.sums, best.origins, best.tokens, finished, goes_on)
    for sentence, *step in zip(*(column.tolist() for column in columns), strict=True):
        watch(Considered(sentence, length, *step))
