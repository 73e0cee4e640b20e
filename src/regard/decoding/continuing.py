"""A text being written on, a token a step: what a search asks of a network that has no source to read.

    <s> the prompt what was written so far
    ├─────────────── window ──────────────┤

It stands where `decoding.writing` stands for translators, so that every search and every rule serves both. A network
sees a window of so many tokens; when that is full, the older half of it is forgotten and the rest read anew, with a
cache or without. Before the window stands what stood before the blocks of training (`data.text`).

Shapes: R rows, all after one prompt, t tokens written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from regard.model.cache import Cache
from regard.model.embedding import Embedding
from regard.tokens.text import BOS


class Writes(Protocol):
    """A network that says what comes next."""

    output: Embedding
    output_bias: Tensor | None

    def eval(self) -> Any: ...

    def decode(self, ids: Tensor, cache: Cache | None = None) -> Tensor: ...

    def logits(self, x: Tensor) -> Tensor: ...

    def cache(self) -> Cache: ...


class Continuing:
    def __init__(
        self,
        model: Writes,
        prompt: Sequence[int],
        rows: int,
        window: int,
        device: torch.device | None = None,
        cached: bool = True,
        parted: bool = False,
    ):
        self.model, self.window, self.given, self.parted = model, window, len(prompt), parted
        self.text = torch.tensor([prompt] * rows, dtype=torch.long, device=device).view(rows, -1)  # (R, prompt + t)
        self.start = 0  # of what is seen
        self.cache = model.cache() if cached else None

    @property
    def written(self) -> Tensor:
        """<s> and what was written after the prompt, (R, 1 + t)."""
        return led(self.text[:, self.given :])

    def logits(self) -> Tensor:
        """Of the token that follows each row, (R, V), in float32."""
        start = first_seen(self.text.size(1) + 1, self.window)
        if start != self.start:
            self.start = start
            self.cache = None if self.cache is None else self.model.cache()
        seen = led(self.text)[:, start:] if self.parted else led(self.text[:, start:])
        known = 0 if self.cache is None else self.cache.length
        return self.model.logits(self.model.decode(seen[:, known:], self.cache)[:, -1]).float()

    def go_on(self, origin: Tensor, tokens: Tensor) -> None:
        """Let each row go on from a row, by a token."""
        self.text = torch.cat([self.text[origin], tokens.view(-1, 1)], dim=1)
        if self.cache is not None:
            self.cache.select_own(origin)


def led(text: Tensor) -> Tensor:
    """The text after an <s>."""
    return torch.nn.functional.pad(text, (1, 0), value=BOS)


def first_seen(length: int, window: int) -> int:
    """How many of so many tokens are forgotten: none while they fit, and then half a window at a time."""
    half = max(1, window // 2)
    return max(0, -(-(length - window) // half) * half)
