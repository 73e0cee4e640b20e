"""What may not, or should less, be written next, given what is written: rules that every search keeps.

rules = Rules(config, forbidden, prefix)
log_probabilities, stuck = rules.log_probabilities(writing.written, writing.logits())

A rule changes logits before their softmax is taken, so that the other tokens share what it takes away. The rules are
Hugging Face's logits processors, to the number.

Shapes: B sentences, P tokens of a prefix, R rows, t tokens written, <s> the first of them, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from regard.config import DecodeConfig
from regard.tokens.text import EOS

Rule = Callable[[Tensor, Tensor], None]  # written (R, t) and logits (R, V), which it changes
Prefix = Sequence[int] | Sequence[Sequence[int]]  # of all sentences, or of each its own, equally long


def never(written: Tensor, logits: Tensor, forbidden: Tensor) -> None:
    """Some ids are not for readers."""
    logits[:, forbidden] = -torch.inf


def not_too_short(written: Tensor, logits: Tensor, least: int) -> None:
    """No EOS before so many tokens, itself and <s> not counted."""
    if written.size(1) - 1 < least:
        logits[:, EOS] = -torch.inf


def nothing_twice(written: Tensor, logits: Tensor, size: int) -> None:
    """No token that would end a sequence of this size for the second time        Paulus et al. 2018, section 2.5"""
    if written.size(1) < size:
        return
    windows = written.unfold(1, size, 1)  # (R, t − size + 1, size)
    open_end = written[:, written.size(1) - size + 1 :].unsqueeze(1)  # (R, 1, size − 1): what the token would end
    rows, places = (windows[..., :-1] == open_end).all(-1).nonzero(as_tuple=True)
    logits[rows, windows[rows, places, -1]] = -torch.inf


def repeats_cost(written: Tensor, logits: Tensor, factor: float) -> None:
    """The logit x of a token written becomes x / θ, or x · θ where x < 0        Keskar et al. 2019, section 4.1"""
    x = logits.gather(1, written)
    logits.scatter_(1, written, torch.where(x < 0, x * factor, x / factor))


class Rules:
    """Those rules that the settings turn on; one that is off takes no time.

    A prefix is written whatever they say. It costs what it costs, but for what is never written: that was not chosen.
    """

    def __init__(self, config: DecodeConfig, forbidden: Tensor | None = None, prefix: Prefix = ()):
        self.prefix = torch.atleast_2d(torch.tensor(prefix, dtype=torch.long))  # (B, P), or (1, P) for all
        self.forbidden, self.rules = forbidden, list[Rule]()
        if config.repetition_penalty != 1:
            self.rules.append(partial(repeats_cost, factor=config.repetition_penalty))
        if config.no_repeat:
            self.rules.append(partial(nothing_twice, size=config.no_repeat))
        if config.min_length:
            self.rules.append(partial(not_too_short, least=config.min_length))
        if forbidden is not None and len(forbidden):
            self.rules.append(partial(never, forbidden=forbidden))

    def log_probabilities(self, written: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Of the token that follows each row, (R, V), and which rows are stuck, (R,): the rules leave them no token.

        Those can only end, which then costs nothing, and what they have written so far stays unfinished.
        """
        given = self.given(written)
        before = None if given is None else logits.gather(1, given)
        for rule in self.rules:
            rule(written, logits)
        if given is not None and before is not None:
            logits.scatter_(1, given, before)

        log_probabilities = logits.log_softmax(-1)
        stuck = log_probabilities[:, EOS].isnan()
        if stuck.any():
            stuck &= (logits == -torch.inf).all(-1)  # a network that gives no numbers is another matter
            log_probabilities[stuck] = -torch.inf
            log_probabilities[stuck, EOS] = 0.0
        if given is not None:
            log_probabilities = self.only(log_probabilities, given)
        return log_probabilities, stuck

    def given(self, written: Tensor) -> Tensor | None:
        """The token of the prefix that each row goes on by, (R, 1); no sentence is done before its own is written."""
        step = written.size(1) - 1
        if step >= self.prefix.size(1):
            return None
        return self.prefix[:, step : step + 1].repeat_interleave(len(written) // len(self.prefix), 0).to(written.device)

    def only(self, log_probabilities: Tensor, given: Tensor) -> Tensor:
        """No choice but the token given."""
        costs = log_probabilities.gather(1, given)
        if self.forbidden is not None:
            costs = costs.masked_fill(torch.isin(given, self.forbidden.to(given.device)), 0.0)
        return torch.full_like(log_probabilities, -torch.inf).scatter_(1, given, costs)
