"""Change a model from outside, for a while: heads switched off, no positions, no mask. Nothing is left behind.

with switched_off(model, "encoder.blocks.1.self_attention", 0, 3), without_positions(model):
    ...
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import ConfigError, RegardError
from regard.insight.trace import KINDS
from regard.model.attention import Attention
from regard.model.position import Learned, Sinusoidal, Unordered

POSITIONS = (Sinusoidal, Learned, Unordered)  # all that adds to a token where it stands


@contextmanager
def switched_off(model: nn.Module, attention: str, *heads: int) -> Iterator[None]:
    """The model without what these heads of one attention contribute: zeros take their place before W^O."""
    named = {name: module for name, module in model.named_modules() if isinstance(module, Attention)}
    if attention not in named:
        close = difflib.get_close_matches(attention, named, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(named) or 'none'}"
        raise ConfigError(f"the model has no attention {attention!r}; {hint}")
    module = named[attention]
    if wrong := [head for head in heads if not 0 <= head < module.heads]:
        raise ConfigError(f"{attention} has no head {wrong[0]}: its heads are 0 to {module.heads - 1}")

    def silence(output: nn.Module, given: tuple[Tensor]) -> Tensor:
        split = given[0].unflatten(-1, (module.heads, -1))  # (B, T, H, d)
        return split.index_fill(-2, torch.tensor(heads, dtype=torch.long, device=split.device), 0.0).flatten(-2)

    hook = module.output.register_forward_pre_hook(silence)
    try:
        yield
    finally:
        hook.remove()


@contextmanager
def without_positions(model: nn.Module) -> Iterator[None]:
    """The model without what tells it the order of words: embeddings pass the positions unchanged."""

    def pass_by(position: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> Tensor:
        return given[0]

    with ExitStack() as hooks:
        for position in model.modules():
            if isinstance(position, POSITIONS):
                hooks.callback(position.register_forward_hook(pass_by).remove)
        yield


@contextmanager
def without_mask(model: nn.Module) -> Iterator[None]:
    """The model whose decoder may look ahead, at what stands after a token as well as before it.

    What a token looked at is then another thing at every step, so a cache would keep what is no longer true: decode
    without one.
    """

    def unmask(name: str, attention: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any]:
        if named.get("kept") is not None:
            raise RegardError(f"{name} was called with a cache: without a mask, decode without one")
        return given, {**named, "mask": None}

    with ExitStack() as hooks:
        start, end = KINDS["decoder"]
        for name, attention in model.named_modules():
            if name.startswith(start) and name.endswith(end):
                hooks.callback(attention.register_forward_pre_hook(partial(unmask, name), with_kwargs=True).remove)
        yield
