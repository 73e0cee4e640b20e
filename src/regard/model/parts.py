"""The parts that settings ask for: the stack of every family, what it is told of positions, and how it starts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import nn

from regard.config import StackConfig, TranslatorConfig
from regard.model.attention import Attention
from regard.model.block import Block, FeedForward, Gated, PostNorm, PreNorm, Stack
from regard.model.order import Alibi, Buckets, Order, Rotary, Shaw
from regard.model.position import Learned, Sinusoidal, Unordered

Norm = Callable[[int], nn.Module]
DEVIATION = 0.02  # of the numbers that matrices start with                         Radford et al. 2018, section 4.1


def stack(
    config: TranslatorConfig | StackConfig,
    layers: int,
    reads: bool = False,
    norm: Norm = nn.LayerNorm,
    feed: type[FeedForward] = FeedForward,
    order: Callable[[], Order] = Order,
) -> Stack:
    """Blocks of a network's sizes, as in the paper unless other pieces are handed in."""
    around = {"post": PostNorm, "pre": PreNorm}[config.norm]
    blocks = [
        Block(
            attention=lambda: Attention(config.width, config.heads, config.attention_dropout, order()),
            feed_forward=feed(config.width, config.hidden, config.activation, config.activation_dropout),
            around=lambda: around(config.width, config.dropout, norm),
            reads=reads,
        )
        for _ in range(layers)
    ]
    return Stack(blocks, norm(config.width) if config.norm == "pre" else None)


def single_stack(config: StackConfig, causal: bool) -> Stack:
    """The stack of a network that has one, with the pieces that its settings name."""
    feed = Gated if config.gated else FeedForward
    return stack(config, config.layers, norm=norm(config), feed=feed, order=order(config, causal))


def norm(config: StackConfig) -> Norm:
    return partial({"layer": nn.LayerNorm, "rms": nn.RMSNorm}[config.norm_kind], eps=config.epsilon)


def position(config: TranslatorConfig | StackConfig, rows: int, offset: int = 0) -> nn.Module:
    """What is added to the tokens, learned for so many of them; nothing, where attention itself is told."""
    match config.position:
        case "learned":
            return Learned(config.width, rows, offset)
        case "halves" | "interleaved" | "spread" as layout:
            return Sinusoidal(config.width, config.position_base, layout, offset)
        case _:
            return Unordered()


def order(config: StackConfig, causal: bool) -> Callable[[], Order]:
    """Makes what the attention of each block is told of positions; T5's table is one for all blocks."""
    width = config.width // config.heads
    match config.position:
        case "rotary":
            return lambda: Rotary(width, config.position_base)
        case "alibi":
            return lambda: Alibi(config.heads)
        case "shaw":
            return lambda: Shaw(width)
        case "t5":
            shared = Buckets(config.heads, both_ways=not causal)
            return lambda: shared
        case _:
            return Order


def start(network: nn.Module, initial: str) -> None:
    """Where parameters start other than as they were made: matrices as N(0, 0.02), and what sublayers add smaller.

    The more sublayers add to the residual, the less each of them: 1 / √(2 · layers)    Radford et al. 2019, section 2.3
    """
    if initial.startswith("normal"):
        for part in network.modules():
            if isinstance(part, nn.Linear | nn.Embedding | nn.Conv2d):
                nn.init.normal_(part.weight, std=DEVIATION)
                if (bias := getattr(part, "bias", None)) is not None:
                    nn.init.zeros_(bias)
    if initial.endswith("scaled"):
        for part in network.modules():
            if isinstance(part, Stack):
                part.scale((2 * len(part.blocks)) ** -0.5)
