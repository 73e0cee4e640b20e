"""Listening to a network from outside: what its modules are given and make of it. Nothing in the network knows.

with listening(of_kind(model, (Attention,)), lambda name, attention, output, *given: print(name, output.shape)):
    model(source, target, readable)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from regard.model.attention import Attention
from regard.model.translator import Translator


@contextmanager
def listening(modules: Iterable[tuple[Any, nn.Module]], tell: Callable[..., None]) -> Iterator[None]:
    """Within, tell(name, module, output, …) follows every call of one of these modules, … being its arguments."""

    def hook(name: Any) -> Callable[..., None]:
        return lambda module, given, named, output: tell(name, module, output, *given, **named)

    with ExitStack() as hooks:
        for name, module in modules:
            hooks.callback(module.register_forward_hook(hook(name), with_kwargs=True).remove)
        yield


def of_kind(model: nn.Module, kinds: tuple[type[nn.Module], ...]) -> Iterator[tuple[str, nn.Module]]:
    """The modules of these kinds, each with its name."""
    return ((name, module) for name, module in model.named_modules() if isinstance(module, kinds))


def crossing(
    model: Translator, layers: Iterable[int], tell: Callable[[int, Tensor], None]
) -> AbstractContextManager[None]:
    """Within, tell(layer, weights) follows every look of these layers of the decoder at the memory, (B, H, T, S)."""

    def ask(layer: int, attention: Attention, output: Tensor, x: Tensor, memory: Tensor, mask: Tensor, *_: Any) -> None:
        tell(layer, attention.weights(x, memory, mask).float())

    return listening(((layer, model.decoder.blocks[layer].get_submodule("cross_attention")) for layer in layers), ask)
