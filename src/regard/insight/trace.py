"""Trace, what one forward pass looked at, and record, which fills one from outside.

    with record(model) as trace:
        logits = model(source, target, readable)
    trace.weights["encoder.blocks.0.self_attention"]            # (B, H, S, S)

Layers and heads are counted from 0 here, as in the names of the modules.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.errors import ConfigError, RegardError
from regard.model.attention import Attention
from regard.model.cache import Kept
from regard.model.listening import listening, of_kind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = {  # of attention: the stack it lies in, and what it is called in each block
    "encoder": ("encoder.", ".self_attention"),
    "decoder": ("decoder.", ".self_attention"),
    "cross": ("decoder.", ".cross_attention"),
}


@dataclass(frozen=True, eq=False)
class Patches:
    """A picture, and which rows and columns of the maps its patches are, row by row from the top."""

    pixels: np.ndarray  # (H, W, C), 0 … 255
    grid: tuple[int, int]  # rows and columns of patches
    row: int  # of a map, that is the first patch: where it looks, or is written
    column: int  # of a map, that is the first patch: where it is looked at


@dataclass(frozen=True, eq=False)
class Trace:
    """Who looked at whom in one forward pass, and the tokens that the numbers are about.

    Row t of the decoder's maps is the step that reads `read[t]`, which is <s> at first and then what was last written,
    and writes `target[t]`. So the rows of decoder and cross maps are `target`; the columns are `read` and `source`.
    A network that does not write has `source` alone, and its answer in `target`.

    Shapes: B sentences, L layers, H heads, S source tokens, T target tokens.
    """

    weights: dict[str, np.ndarray] = field(default_factory=dict)  # name of the attention → (B, H, queries, keys)
    text: str = ""  # what was given
    translation: str = ""  # what came of it
    source: tuple[str, ...] = ()  # tokens, or patches, that the encoder reads, tag and </s> included
    read: tuple[str, ...] = ()  # tokens that the decoder reads
    target: tuple[str, ...] = ()  # tokens that it writes, </s> included where it came to an end
    log_probabilities: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (T,) of the tokens written
    patches: Patches | None = None  # the picture that was seen, or painted

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which of KINDS this trace has."""
        return tuple(kind for kind in KINDS if self.named(kind))

    @property
    def encoder(self) -> np.ndarray:
        """How much the source looks at the source, (L, H, S, S)."""
        return self.maps("encoder")

    @property
    def decoder(self) -> np.ndarray:
        """How much each step of writing looks at what is written already, (L, H, T, T)."""
        return self.maps("decoder")

    @property
    def cross(self) -> np.ndarray:
        """How much each step of writing looks at the source, (L, H, T, S)."""
        return self.maps("cross")

    def maps(self, kind: str) -> np.ndarray:
        """All the weights of one kind of attention, for a single sentence, (L, H, queries, keys)."""
        names = self.named(kind)
        if not names:
            raise ConfigError(f"this trace has no {kind} attention: it has {', '.join(self.kinds) or 'none at all'}")
        return np.stack([self.alone(name) for name in names])

    def rollout(self, kind: str) -> np.ndarray:
        """How much of each token has come to each by way of all layers up to each, (L, tokens, tokens).

            R_l = (½ A_l + ½ I) R_{l−1}                          Abnar and Zuidema 2020, attention rollout

        A is the mean over heads; I is the way past the sublayer, the residual.
        """
        mixed = (self.maps(kind).mean(1) + np.eye(len(self.axes(kind)[1]), dtype=np.float32)) / 2  # (L, N, N)
        return np.stack(list(accumulate(mixed, lambda below, layer: layer @ below)))

    def alone(self, name: str) -> np.ndarray:
        """The weights of one attention, for a single sentence, (H, queries, keys)."""
        weights = self.weights[name]
        if len(weights) != 1:
            raise RegardError(f"this trace is of {len(weights)} sentences at once: record one sentence to look at it")
        return weights[0]

    def named(self, kind: str) -> list[str]:
        """The names of the attentions of a kind, in the order in which they were called."""
        if kind not in KINDS:
            raise ConfigError(f"attention {kind!r} is unknown: choose from {', '.join(KINDS)}")
        start, end = KINDS[kind]
        return [name for name in self.weights if name.startswith(start) and name.endswith(end)]

    def figure(self, word: str | int | None = None, **how: Any) -> Figure:
        """All maps as a matplotlib figure, or what one word looks at; of a picture, what was looked at in it.

        `how` as in figures.figure, figures.focus and overlays.figure.
        """
        from regard.insight import figures, overlays  # here, so that recording does not wait for matplotlib

        if word is None and self.patches is not None:
            return overlays.figure(self, **how)
        return figures.figure(self, **how) if word is None else figures.focus(self, word, **how)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from regard.insight.notebook import to_html

        return to_html(self)

    def axes(self, kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The tokens of the rows, which look, and of the columns, which are looked at."""
        return {
            "encoder": (self.source, self.source),
            "decoder": (self.target, self.read),
            "cross": (self.target, self.source),
        }[kind]


@contextmanager
def record(model: nn.Module) -> Iterator[Trace]:
    """Fill a trace with the weights of every Attention that is called meanwhile, in any model.

    Each is asked for `weights` with the very arguments of its call, so nothing in the model knows, and nothing changes.
    A trace is of one pass: of a second one, it keeps the second. A pass with a cache sees the new tokens alone, and is
    refused: decode first, then record one pass over the whole sequence.
    """
    trace = Trace()

    @torch.no_grad()
    def note(
        name: str,
        attention: Attention,
        output: Tensor,
        x: Tensor,
        memory: Tensor | None = None,
        mask: Tensor | None = None,
        kept: Kept | None = None,
    ) -> None:
        if kept is not None:
            raise RegardError(f"{name} was called with a cache: record a pass over the whole sequence, without one")
        trace.weights[name] = attention.weights(x, memory, mask).float().cpu().numpy()  # (B, H, T, S)

    with listening(of_kind(model, (Attention,)), note):
        yield trace


def to_json(trace: Trace) -> str:
    """The trace of a single sentence for other programs; weights are rounded to 6 decimals."""
    content = {
        "format": 1,
        "text": trace.text,
        "translation": trace.translation,
        "source": trace.source,
        "read": trace.read,
        "target": trace.target,
        "log_probabilities": rounded(trace.log_probabilities),
        **({"grid": trace.patches.grid, "pixels": trace.patches.pixels.tolist()} if trace.patches else {}),
        "weights": {
            name: {"shape": trace.alone(name).shape, "values": rounded(trace.alone(name))} for name in trace.weights
        },
    }
    return json.dumps(content, ensure_ascii=False) + "\n"


def rounded(array: np.ndarray) -> list:
    return array.astype(np.float64).round(6).tolist()
