"""Beam search under demands: certain ids must be written, each as often as it is demanded and no more.

Hypotheses that have written equally many of them stand in one bank and compete with each other alone, so that who has
paid for an unlikely token is not dropped for who has not. The places of the beam are dealt to the banks in turn, the
furthest first; what one cannot fill, the others take. Only who has all may end. This is dynamic beam allocation (Post
and Vilar 2018), with enough places that no bank goes without. Without demands there is one bank, and the rule is that
of `decoding.search`, as are the margins.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.config import DecodeConfig
from regard.decoding.constraints.terms import wordlike
from regard.decoding.coverage import with_coverage
from regard.decoding.hypothesis import Found
from regard.decoding.rules import Prefix, Rules
from regard.decoding.writing import Writer, Writing
from regard.tokens.text import EOS, PAD, TextTokenizer

PLACES = 2  # of the beam for each bank, at least
BYTE = re.compile("<0x[0-9A-F]{2}>")


class Step(NamedTuple):
    """A hypothesis continued by a token."""

    total: float  # log-probability so far
    beam: int  # which hypothesis
    token: int
    missing: tuple[int, ...]  # demanded ids still to be written


def opening(tokenizer: TextTokenizer) -> list[bool]:
    """Which tokens can stand after the end of a word: EOS, and those that begin with a space or with punctuation."""
    pieces = tokenizer.pieces(range(len(tokenizer)))
    return [id == EOS or not (wordlike(piece[0]) or BYTE.fullmatch(piece)) for id, piece in enumerate(pieces)]


class Beam:
    """The search for one sentence: its hypotheses in their banks, and what is found."""

    def __init__(self, demanded: Sequence[int], config: DecodeConfig):
        self.demanded, self.config, self.found = tuple(sorted(demanded)), config, Found()
        banks = len(demanded) + 1
        self.width = max(config.beam, PLACES * banks) if demanded else config.beam
        self.share = -(-self.width // banks)  # places of the furthest bank when all are full
        self.looked_at = self.width + 2 + len(demanded)  # tokens of a hypothesis: some may be demanded, and one is EOS
        self.going = [Step(0.0, 0, PAD, self.demanded)]

    def step(self, likely: Sequence[dict[int, float]], last: bool) -> list[Step]:
        """Continue each hypothesis by its likely tokens; the steps that end, or that the limit takes as they are."""
        banks: dict[int, list[Step]] = defaultdict(list)
        for beam, (before, tokens) in enumerate(zip(self.going, likely, strict=True)):
            for token, log_probability in tokens.items():
                missing = self.left(before.missing, token)
                if missing is not None and log_probability > -math.inf:
                    banks[len(missing)].append(Step(before.total + log_probability, beam, token, missing))
        for bank in banks.values():
            bank.sort(key=lambda step: -step.total)
        furthest = banks[min(banks, default=0) if last and not self.found.hypotheses else 0]
        self.going = [] if last else self.dealt(banks)
        self.note(furthest, self.share)
        return [step for step in furthest[: self.share] if last or step.token == EOS]

    def left(self, missing: tuple[int, ...], token: int) -> tuple[int, ...] | None:
        """What is missing once a token is written, or nothing, if it may not be."""
        if token in missing:
            place = missing.index(token)
            return missing[:place] + missing[place + 1 :]
        return None if token in self.demanded or (token == EOS and missing) else missing

    def dealt(self, banks: dict[int, list[Step]]) -> list[Step]:
        """The steps that go on: the best of each bank, the furthest first, then the second of each, and so forth."""
        onward = {missing: [step for step in bank if step.token != EOS] for missing, bank in banks.items()}
        turns = sorted((rank, missing) for missing, bank in onward.items() for rank in range(len(bank)))[: self.width]
        for missing, bank in onward.items():
            self.note(bank, sum(each == missing for _, each in turns))
        return [onward[missing][rank] for rank, missing in turns]

    def note(self, ranked: Sequence[Step], taken: int) -> None:
        """How close it was between the last that was taken and the first that was not."""
        if 0 < taken < len(ranked):
            self.found.margin = min(self.found.margin, ranked[taken - 1].total - ranked[taken].total)


@torch.inference_mode()
def constrained_search(
    model: Writer,
    source: Tensor,
    readable: Tensor,
    demanded: Sequence[Sequence[int]],
    opens: Sequence[bool],
    config: DecodeConfig,
    limits: Sequence[int],
    forbidden: Tensor | None = None,
    prefix: Prefix = (),
) -> list[Found]:
    """The best hypotheses for each row of source (B, S) that have all its demanded ids; at its limit, those with most.

    A demanded id is a word: what `opens` no word cannot follow it. A prefix is as in `decoding.search`.
    """
    beams = [Beam(ids, config) for ids in demanded]
    rows = max(beam.width for beam in beams)
    writing, rules = Writing(model, source, readable, rows), Rules(config, forbidden, prefix)
    within = torch.tensor(opens, device=source.device).logical_not()
    alive = list(range(len(beams)))

    for length in range(1, max(limits) + 1):
        log_probabilities, stuck = rules.log_probabilities(writing.written, writing.logits())  # (B · rows, V)
        likely = continuations(log_probabilities, [beams[index] for index in alive], rows, within)
        going: list[int] = []  # the places among those alive of those that go on
        for place, index in enumerate(alive):
            beam = beams[index]
            before = beam.going
            finished = beam.step(likely[place], last=length == limits[index])
            for step in finished:
                row = place * rows + step.beam
                ended = step.token == EOS
                ids = writing.written[row, 1:].tolist() + [step.token] * (not ended)
                beam.found.add(ids, length, step.total, ended and not stuck[row], config)
            if beam.going and len(beam.found.hypotheses) < config.beam:
                going.append(place)
            elif not beam.found.hypotheses:  # the rules left nothing to write
                ids = writing.written[place * rows, 1:].tolist()
                beam.found.add(ids, length, before[0].total, False, config)
        if not going:
            break
        steps = [filled(beams[alive[place]].going, rows) for place in going]
        origin = [place * rows + step.beam for place, each in zip(going, steps, strict=True) for step in each]
        tokens = [step.token for each in steps for step in each]
        writing.go_on(*(torch.tensor(each, device=source.device) for each in (origin, tokens)))
        alive = [alive[place] for place in going]

    found = [beam.found for beam in beams]
    if config.coverage:
        sources = [ids[read].tolist() for ids, read in zip(source, readable, strict=True)]
        found = with_coverage(model, sources, found, config.coverage)
    for each in found:
        each.rank(config)
    return found


def filled(going: list[Step], rows: int) -> list[Step]:
    """As many steps as there are rows; what fills them up is not looked at."""
    return going + going[:1] * (rows - len(going))


def continuations(
    log_probabilities: Tensor, beams: Sequence[Beam], rows: int, within: Tensor
) -> list[list[dict[int, float]]]:
    """For each hypothesis of each sentence its likeliest tokens and, likely or not, those it misses and EOS."""
    steps = [
        (place * rows + row, beam, step) for place, beam in enumerate(beams) for row, step in enumerate(beam.going)
    ]
    words = [row for row, beam, step in steps if step.token in beam.demanded]
    log_probabilities[words] = log_probabilities[words].masked_fill(within, -torch.inf)
    top = log_probabilities.topk(min(max(beam.looked_at for beam in beams), log_probabilities.size(1)))
    values, indices = top.values.tolist(), top.indices.tolist()
    wanted = [(row, token) for row, _, step in steps for token in set(step.missing) or {EOS}]
    costs = log_probabilities[tuple(torch.tensor(wanted, device=within.device).T)].tolist()
    likely = {
        row: dict(zip(indices[row][: beam.looked_at], values[row][: beam.looked_at], strict=True))
        for row, beam, _ in steps
    }
    for (row, token), cost in zip(wanted, costs, strict=True):
        likely[row][token] = cost
    return [[likely[place * rows + row] for row in range(len(beam.going))] for place, beam in enumerate(beams)]
