"""The verb fill: a text with masks in, what may stand in their places out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.errors import ConfigError, DataError, RunError
from regard.run import TEXT, Run
from regard.tokens.masks import MASK, read_masked
from regard.tokens.text import BOS, EOS


@dataclass(frozen=True)
class Candidate:
    """A token that may stand in the place of a mask."""

    token: str  # ▁cat: the ▁ is the space before a word
    probability: float


@dataclass(frozen=True)
class Filled:
    """A text whose masks are filled in."""

    given: str
    text: str  # filled in one by one, the surest first, each in view of those before it
    masks: tuple[tuple[Candidate, ...], ...]  # for each mask, while all of them are open, the likeliest first

    def __str__(self) -> str:
        return self.text


@torch.inference_mode()
def fill(run: Run, text: str, top: int = 5) -> Filled:
    """What stands in the place of each [MASK] of a text: the `top` likeliest tokens, and the text filled in."""
    run.require("fill")
    if top < 1:
        raise ConfigError(f"top={top} should be at least 1")
    if MASK not in text:
        raise DataError(f"{text!r} has nothing to fill in: put {MASK} where a word is missing")
    tokenizer = run.tokenizers[TEXT]
    ids = [BOS, *read_masked(tokenizer, text), EOS]
    if len(ids) > run.window:
        raise RunError(
            f"a text of {len(ids)} tokens is too long for this run, which reads {run.window} at once: cut it"
        )
    places = [place for place, id in enumerate(ids) if id == tokenizer.mask]
    probabilities = look(run, ids, places)  # (M, V)
    likeliest = probabilities.topk(min(top, len(tokenizer) - len(tokenizer.control)))
    masks = tuple(
        tuple(map(Candidate, tokenizer.pieces(tokens), shares))
        for tokens, shares in zip(likeliest.indices.tolist(), likeliest.values.tolist(), strict=True)
    )
    while places:
        sure, tokens = probabilities.max(-1)
        surest = int(sure.argmax())
        ids[places.pop(surest)] = int(tokens[surest])
        probabilities = look(run, ids, places)
    return Filled(text, tokenizer.decode(ids), masks)


def look(run: Run, ids: Sequence[int], places: Sequence[int]) -> Tensor:
    """The probability of each token at some places of a text, (M, V); control ids have none."""
    row = torch.tensor([ids], device=run.device)
    states = run.model.states(row, torch.ones_like(row, dtype=torch.bool))[0, list(places)]
    logits = run.model.fill(states).float()
    logits[:, sorted(run.tokenizers[TEXT].control)] = -torch.inf
    return logits.softmax(-1)
