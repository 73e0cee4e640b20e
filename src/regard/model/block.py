"""The block that every family is stacked from: attention and feed-forward, each with residual and norm around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from regard.model.attention import Attention
from regard.model.cache import BlockCache, Cache
from regard.model.dropout import Dropout
from regard.model.matmul import Linear, ordinary, rectified

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "gelu": nn.GELU,  # x Φ(x)                                Hendrycks and Gimpel 2016
    "gelu-tanh": partial(nn.GELU, approximate="tanh"),  # as they approximate it, and OpenAI's networks compute it
    "swish": nn.SiLU,
}


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W₁ + b₁) W₂ + b₂                    Vaswani et al. 2017, equation 2"""

    def __init__(self, width: int, hidden: int, activation: str = "relu", dropout: float = 0.0):
        super().__init__()
        self.inner = Linear(width, hidden)
        self.activation = ACTIVATIONS[activation]()
        self.dropout = Dropout(dropout)
        self.outer = Linear(hidden, width)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        if self.training and not self.dropout.p and ordinary(self.inner, self.activation, self.outer):
            return rectified(x, self.inner, self.outer)
        return self.outer(self.dropout(self.activation(self.inner(x))))


class Gated(FeedForward):
    """FFN(x) = (σ(x V + c) ⊙ (x W₁ + b₁)) W₂ + b₂; with swish for σ it is SwiGLU        Shazeer 2020, equation 6"""

    def __init__(self, width: int, hidden: int, activation: str = "swish", dropout: float = 0.0):
        super().__init__(width, hidden, activation, dropout)
        self.gate = Linear(width, hidden)
        nn.init.xavier_uniform_(self.gate.weight)
        nn.init.zeros_(self.gate.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.dropout(self.activation(self.gate(x)) * self.inner(x)))


class Residual(nn.Module):
    """What goes around a sublayer: a way past it, dropout of what it adds, and a norm whose place is still open."""

    def __init__(self, width: int, dropout: float = 0.0, norm: Callable[[int], nn.Module] = nn.LayerNorm):
        super().__init__()
        self.norm = norm(width)
        self.dropout = Dropout(dropout)


class PostNorm(Residual):
    """x = LayerNorm(x + Sublayer(x))                         Vaswani et al. 2017, section 3.1"""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(self.dropout(sublayer(x), onto=x))


class PreNorm(Residual):
    """x = x + Sublayer(LayerNorm(x)); what is summed up so is normed once more at the end of the stack."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.dropout(sublayer(self.norm(x)), onto=x)


Around = Callable[[], Residual]  # makes one of the two, to be put around one sublayer


class Block(nn.Module):
    """Self-attention, attention over a memory if it is to read one, feed-forward; being causal is a mask."""

    def __init__(
        self, attention: Callable[[], Attention], feed_forward: FeedForward, around: Around, reads: bool = False
    ):
        super().__init__()
        self.self_attention, self.around_self = attention(), around()
        if reads:
            self.cross_attention, self.around_cross = attention(), around()
        self.feed_forward, self.around_feed = feed_forward, around()

    def scale(self, factor: float) -> None:
        """Make what each sublayer adds to the residual so much smaller, or larger, than it starts out."""
        crossing = [self.cross_attention.output] if hasattr(self, "cross_attention") else []
        with torch.no_grad():
            for last in (self.self_attention.output, *crossing, self.feed_forward.outer):
                last.weight *= factor

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: BlockCache | None = None,
    ) -> Tensor:
        own, kept = (cache.own, cache.memory) if cache else (None, None)
        x = self.around_self(x, lambda x: self.self_attention(x, mask=mask, kept=own))
        if memory is not None:
            x = self.around_cross(x, lambda x: self.cross_attention(x, memory, memory_mask, kept))
        return self.around_feed(x, self.feed_forward)


class Stack(nn.Module):
    """Blocks one after the other, alike in structure, each with parameters of its own.

    One mask holds for them all, or a list has one for each.
    """

    def __init__(self, blocks: list[Block], norm: nn.Module | None = None):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.norm = norm or nn.Identity()  # after the last pre-norm block; a post-norm block has normed already

    def scale(self, factor: float) -> None:
        for block in self.blocks:
            block.scale(factor)  # pyright: ignore[reportCallIssue]

    def forward(
        self,
        x: Tensor,
        mask: Tensor | Sequence[Tensor] | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Tensor:
        masks = mask if isinstance(mask, Sequence) else [mask] * len(self.blocks)
        for i, block in enumerate(self.blocks):
            x = block(x, masks[i], memory, memory_mask, cache.blocks[i] if cache else None)
        return self.norm(x)
