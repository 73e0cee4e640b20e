"""Sentences being written, a token a step: what every search shares, and what it asks of a model.

writing = Writing(model, source, readable, hypotheses=5)     reads the sources once
logits = writing.logits()                                    of the token that follows each row
writing.go_on(origin, tokens)                                each row goes on from one of the rows, by a token

A search decides which rows go on and by what; how a model writes, with a cache or without, is its own affair.
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from regard.tokens.text import BOS


class Rows(Protocol):
    """What a model keeps between steps, by row."""

    def select_own(self, rows: Tensor) -> None: ...

    def select_memory(self, rows: Tensor) -> None: ...


class Writer(Protocol):
    """A model that reads sources and writes: a Translator, an Ensemble, or the same on another runtime.

    `decode` is given as many rows for each row of the memory as there are hypotheses of a sentence.
    """

    def encode(self, source: Tensor, readable: Tensor) -> Tensor: ...

    def decode(self, target: Tensor, memory: Tensor, readable: Tensor, cache: Any = None) -> Tensor: ...

    def logits(self, x: Tensor) -> Tensor: ...

    def cache(self) -> Rows: ...


class Growing(Protocol):
    """Rows that a search lets grow: sentences of a Writing, or a text that is written on."""

    @property
    def written(self) -> Tensor: ...

    def logits(self) -> Tensor: ...

    def go_on(self, origin: Tensor, tokens: Tensor) -> None: ...


class Writing:
    """So many hypotheses for each of B sources, all of one length; rows (B · hypotheses) in the sources' order."""

    def __init__(self, model: Writer, source: Tensor, readable: Tensor, hypotheses: int, cached: bool = True):
        self.model, self.readable, self.hypotheses = model, readable, hypotheses
        self.memory = model.encode(source, readable)  # (B, S, D)
        self.cache = model.cache() if cached else None
        self.written = torch.full((len(source) * hypotheses, 1), BOS, device=source.device)  # (B · K, 1 + step)

    def logits(self) -> Tensor:
        """Of the token that follows each row, (B · K, V), in float32; without a cache all positions are computed."""
        target = self.written if self.cache is None else self.written[:, -1:]
        states = self.model.decode(target, self.memory, self.readable, self.cache)
        return self.model.logits(states[:, -1]).float()

    def go_on(self, origin: Tensor, tokens: Tensor) -> None:
        """Let each row go on from a row, by a token; the rows of a sentence that is done are left out, all of them."""
        left = len(origin) < len(self.written)
        self.written = torch.cat([self.written[origin], tokens.view(-1, 1)], dim=1)
        if self.cache is not None:
            self.cache.select_own(origin)
        if left:  # sources stay in their rows until a sentence leaves
            stay = origin[:: self.hypotheses] // self.hypotheses
            self.memory, self.readable = self.memory[stay], self.readable[stay]
            if self.cache is not None:
                self.cache.select_memory(stay)
