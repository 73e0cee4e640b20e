"""How well a network foretells a text: every token once, each from a full window of those before it.

    ├──────── window ────────┤
    │        read            │ scored
              ├──────── window ────────┤
              │        read            │ scored          each window a stride further than the last

The first window scores all it reads; of every other, only the last `stride` tokens count, which have at least
window − stride tokens before them. A smaller stride costs more and is kinder to the network; the usual blocks side by
side are stride = window. What a text comes to for each character is the sum over its tokens, </s> and all, divided by
the characters that the tokenizer gives back: two spaces that it makes one are not counted twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.data.text import read_documents, read_late, stream
from regard.decoding.continuing import Writes
from regard.errors import ConfigError, DataError
from regard.run import Run
from regard.tokens.text import BOS
from regard.training.evaluate import perplexity
from regard.training.objective import projected

BUDGET = 8192  # tokens read at once


@dataclass(frozen=True)
class Foretold:
    """How well a text was foretold."""

    loss: float  # −log p of a token, in nats
    perplexity: float
    nats_per_character: float
    bits_per_character: float
    tokens: int
    characters: int
    window: int
    stride: int

    def __str__(self) -> str:
        nats, bits, least = self.nats_per_character, self.bits_per_character, self.window - self.stride
        return "\n".join(
            [
                f"loss {self.loss:.4f} nats a token, perplexity {self.perplexity:.2f}, of {self.tokens:,} tokens",
                f"     {nats:.4f} nats, {bits:.4f} bits a character, of {self.characters:,}",
                f"each token foretold once, from at least {least} before it but in the first window of {self.window}",
            ]
        )


def evaluate_text(run: Run, files: Sequence[str | Path], stride: int | None = None) -> Foretold:
    """How well a run that writes foretells held-out files."""
    run.require("write")
    return foretell(run, read_documents(files, run.settings.data.documents), stride)


def foretell(run: Run, documents: Sequence[str], stride: int | None = None) -> Foretold:
    """How well a run foretells documents, read one after the other, in windows half of which overlap."""
    writer = run.writer
    ids = stream(documents, writer)
    if not len(ids):
        raise DataError("there is nothing to foretell in an empty text: give some")
    window = run.window
    stride = max(1, window // 2) if stride is None else stride
    if not 1 <= stride <= window:
        raise ConfigError(f"stride={stride} is not between 1 and the {window} tokens that the run sees at once")
    loss = surprise_of(run.model, ids, window, stride, run.parted)
    characters = sum(len(writer.plain(document)) for document in documents)
    by_character = loss * len(ids) / max(1, characters)
    return Foretold(
        loss=loss,
        perplexity=perplexity(loss),
        nats_per_character=by_character,
        bits_per_character=by_character / math.log(2),
        tokens=len(ids),
        characters=characters,
        window=window,
        stride=stride,
    )


@torch.inference_mode()
def surprise_of(model: Writes, ids: Tensor, window: int, stride: int, parted: bool = False) -> float:
    """Mean −log p of the tokens (N), in nats; what stands before a window is as it is before the blocks of training."""
    model.eval()
    device, total = model.output.table.weight.device, 0.0
    for labels, before, scored in windows(ids, window, stride):
        before = before if parted else torch.full_like(before, BOS)
        labels, before, scored = (each.to(device) for each in (labels, before, scored))
        states = model.decode(read_late(labels, before))[scored]
        total += projected(model, states, labels[scored])[1].item()
    return total / len(ids)


def windows(ids: Tensor, window: int, stride: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Windows of the stream, some at a time, (B, T); what stands before each, (B); and which tokens of each are scored.

    In all, every token is scored once.
    """
    window = min(window, len(ids))
    ends = torch.tensor([*range(window, len(ids), stride), len(ids)])
    fresh = ends.diff(prepend=torch.tensor([0]))  # tokens that no window before has
    places, led = torch.arange(window), torch.cat([torch.tensor([BOS]), ids])
    size = max(1, BUDGET // window)
    for end, new in zip(ends.split(size), fresh.split(size), strict=True):
        start = end - window
        yield ids[start.unsqueeze(1) + places].long(), led[start].long(), places >= window - new.unsqueeze(1)
