"""GPT: the Transformer's decoder alone, with no source to look at. It writes on from what it has read."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.config import DalleConfig, DecoderConfig
from regard.model.cache import Cache
from regard.model.dropout import Dropout
from regard.model.embedding import Embedding
from regard.model.mask import causal
from regard.model.network import Network
from regard.model.parts import position, single_stack, start

NEVER = -1e4  # a logit that leaves no probability, in half precision too


class Gpt(Network):
    """ids (B, T) → logits (B, T, V) of the token that follows each position                     Radford et al. 2018

        h₀ = U E + P,   h_l = block(h_{l−1}),   P(u) = softmax(h_n Eᵀ)                             ibid., equation 2

    Padding stands at the end, where no token before it may look, and needs no mask.
    """

    tasks = ("write",)
    output_bias: Tensor | None

    def __init__(self, config: DecoderConfig | DalleConfig):
        super().__init__()
        self.config = config
        self.embedding = Embedding(config.vocabulary, config.width, scaled=False)
        self.output = self.embedding if config.tied else Embedding(config.vocabulary, config.width, scaled=False)
        self.register_buffer("output_bias", forbidding(config), persistent=False)
        self.position = self.places()
        self.dropout = Dropout(config.dropout)
        self.decoder = single_stack(config, causal=True)
        start(self, config.initial)

    def forward(self, ids: Tensor) -> Tensor:
        return self.logits(self.decode(ids))

    def decode(self, ids: Tensor, cache: Cache | None = None) -> Tensor:
        """A vector for each token that has looked at those before it, (B, T, D); with a cache, ids are the new ones."""
        past = cache.length if cache else 0
        x = self.dropout(self.position(self.embedding(ids), past))
        return self.decoder(x, self.masks(ids.size(1), past, ids.device), cache=cache)

    def places(self) -> nn.Module:
        """What is added to the tokens to say where they stand."""
        return position(self.config, self.config.max_positions)

    def masks(self, length: int, past: int, device: torch.device) -> list[Tensor]:
        """Who may look at whom in each block."""
        return [causal(length, past, device)] * self.config.layers

    def logits(self, x: Tensor) -> Tensor:
        return self.output.logits(x, self.output_bias)

    def cache(self) -> Cache:
        return Cache(self.config.layers)


def forbidding(config: DecoderConfig | DalleConfig) -> Tensor | None:
    """A bias of the logits that leaves no probability to ids which are not there; mostly none."""
    absent = getattr(config, "absent", ())
    return torch.zeros(config.vocabulary).index_fill(0, torch.tensor(absent), NEVER) if absent else None
