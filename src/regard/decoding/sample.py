"""Translations drawn instead of searched for: each token by its probability, as the settings have reshaped it.

    p_i ∝ exp(log p_i / temperature), of the top_k likeliest tokens, of which the likeliest make up top_p together,
    and each has at least min_p times the probability of the likeliest

in this order, which is that of Hugging Face's `generate` (top-k: Fan et al. 2018; top-p: Holtzman et al. 2020; min-p:
Nguyen et al. 2024). A token is drawn as the argmax of log p_i − log E_i with E_i exponential (the Gumbel trick:
Maddison et al. 2014), so a draw is a choice with a margin, like any other choice of a search.

**Any batch gives the same text.** Each sample of each sentence draws from a generator of its own, seeded by the seed,
the source and the sample's number: neither the batch nor the order of the sentences matters.

Shapes: B sentences, n samples of each, R = B · n rows, V vocabulary.
"""

from __future__ import annotations

import hashlib
import math

import torch
from torch import Generator, Tensor

from regard.config import DecodeConfig
from regard.decoding.hypothesis import Found
from regard.decoding.rules import Rules
from regard.decoding.writing import Writing
from regard.tokens.text import EOS

HAIR = 1e-4  # of probability: a token that lies closer to the cut of top_p may fall on its other side in another batch


def sample(
    writing: Writing, sources: list[list[int]], config: DecodeConfig, limits: list[int], rules: Rules
) -> list[Found]:
    """So many translations of each sentence; their log-probability is the model's own, under the rules alone."""
    n, device = config.samples, writing.written.device
    found = [Found() for _ in limits]
    generators = [generator(config.seed, ids, number) for ids in sources for number in range(n)]
    margins = torch.full((len(generators),), torch.inf, device=device)
    alive = torch.arange(len(generators), device=device)  # (R,): which samples these are
    open = torch.ones_like(alive, dtype=torch.bool)  # one that has ended waits for the others of its sentence
    limit = torch.tensor(limits, device=device).repeat_interleave(n)
    totals = torch.zeros(len(generators), device=device)

    for length in range(1, max(limits, default=0) + 1):
        log_probabilities, stuck = rules.log_probabilities(writing.written, writing.logits())  # (R, V)
        drawing = [generators[row] if drawn else None for row, drawn in zip(alive.tolist(), open.tolist(), strict=True)]
        noise = exponential(drawing, log_probabilities.size(-1)).to(device)
        tokens, hung_on = draw(log_probabilities, noise, config)
        totals = totals + log_probabilities.gather(1, tokens.unsqueeze(1)).squeeze(1)
        margins[alive[open]] = margins[alive[open]].minimum(hung_on[open])

        ended = tokens == EOS
        taken = open & (ended | (limit == length))
        ids = torch.cat([writing.written[:, 1:], tokens.unsqueeze(1)], dim=1)
        columns = (alive // n, ids, totals, ended, ended & ~stuck)
        for sentence, written, total, closed, finished in zip(*(each[taken].tolist() for each in columns), strict=True):
            found[sentence].add(written[:-1] if closed else written, length, total, finished, config)

        open = open & ~taken
        rows = open.view(-1, n).any(1).repeat_interleave(n).nonzero().squeeze(1)
        if not len(rows):
            break
        writing.go_on(rows, tokens[rows])
        alive, open, limit, totals = alive[rows], open[rows], limit[rows], totals[rows]

    for each, margin in zip(found, margins.view(-1, n).amin(1).tolist(), strict=True):
        each.margin = margin
    return found


def generator(seed: int, source: list[int], number: int) -> Generator:
    """What one sample of one sentence draws from."""
    digest = hashlib.sha256(repr((seed, source, number)).encode()).digest()
    return Generator().manual_seed(int.from_bytes(digest[:8]) >> 1)


def exponential(generators: list[Generator | None], vocabulary: int) -> Tensor:
    """A row of exponential noise from each generator, (R, V); who has none draws none."""
    noise = torch.ones(len(generators), vocabulary)
    for row, each in zip(noise, generators, strict=True):
        if each is not None:
            row.exponential_(generator=each)
    return noise


def draw(log_probabilities: Tensor, noise: Tensor, config: DecodeConfig) -> tuple[Tensor, Tensor]:
    """The token drawn for each row, (R,), and how much would have to change for another to be drawn, (R,).

    Another takes its place by overtaking it, after coming in itself if it was left out; or by the one drawn being left
    out. Differences are told in log-probability before the temperature.
    """
    scaled = log_probabilities / config.temperature
    inside, firmly = within_cuts(scaled, config)
    values = scaled - noise.log()
    drawn = values.masked_fill(~inside, -torch.inf).argmax(1, keepdim=True)
    lead = values.gather(1, drawn) - values
    turned = torch.where(inside, lead, lead.maximum(firmly)).scatter(1, drawn, firmly.gather(1, drawn))
    return drawn.squeeze(1), turned.amin(1) * config.temperature


def within_cuts(scaled: Tensor, config: DecodeConfig) -> tuple[Tensor, Tensor]:
    """Which tokens top_k, top_p and min_p let in, and how much would have to change for each to change sides."""
    inside, firmly = torch.ones_like(scaled, dtype=torch.bool), torch.full_like(scaled, torch.inf)
    if not config.top_k and config.top_p == 1 and not config.min_p:
        return inside, firmly
    ranked, order = scaled.sort(descending=True)  # the likeliest first
    room = firmly  # how far a token lies within all cuts, or how far outside, below 0
    if config.top_k:
        inside = (torch.arange(ranked.size(1), device=ranked.device) < config.top_k).expand_as(ranked)
        room = from_the_cut(ranked, inside, ~inside)
    if config.top_p < 1:
        shares = ranked.masked_fill(~inside, -torch.inf).softmax(-1)
        left = config.top_p - (shares.cumsum(-1) - shares)  # by the likelier ones
        inside = inside & (left > 0)
        room = room.minimum(from_the_cut(ranked, left > HAIR, left < -HAIR))
    if config.min_p:
        above = ranked - ranked[:, :1] - math.log(config.min_p)
        inside, room = inside & (above >= 0), room.minimum(above)
    firmly = room.abs().masked_fill(ranked == -torch.inf, torch.inf)  # what is forbidden stays out
    return inside.scatter(1, order, inside), firmly.scatter(1, order, firmly)


def from_the_cut(ranked: Tensor, firmly_in: Tensor, firmly_out: Tensor) -> Tensor:
    """How far ahead of all others those lie that are in, and how far behind, below 0, those that are out."""
    ahead = ranked - ranked.masked_fill(firmly_in, -torch.inf).amax(1, keepdim=True)
    behind = ranked - ranked.masked_fill(firmly_out, torch.inf).amin(1, keepdim=True)
    return ahead.where(firmly_in, behind.where(firmly_out, 0.0))
