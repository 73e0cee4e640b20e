"""The Transformer of "Attention Is All You Need": an encoder reads the source, a decoder writes the target."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.config import TranslatorConfig
from regard.model.cache import Cache
from regard.model.dropout import Dropout
from regard.model.embedding import Embedding
from regard.model.mask import causal
from regard.model.network import Network
from regard.model.parts import position, stack, start


class Translator(Network):
    """source (B, S) and target (B, T) ids → logits (B, T, V) of the token that follows each target position.

    `readable` (B, S) is True where the source is a token and False where it is padding. Target padding stands at the
    end, where no token before it may look, and needs no mask.
    """

    tasks = ("translate", "denoise")

    def __init__(self, config: TranslatorConfig):
        super().__init__()
        self.config = config
        self.source_embedding = embedding(config, config.source_vocabulary)
        shared = config.tied == "all"
        self.target_embedding = self.source_embedding if shared else embedding(config, config.target_vocabulary)
        untied = config.tied == "none"
        self.output = embedding(config, config.target_vocabulary) if untied else self.target_embedding
        self.output_bias = nn.Parameter(torch.zeros(config.target_vocabulary)) if config.output_bias else None
        self.source_position = position(config, config.max_positions, config.position_offset)
        self.target_position = position(config, config.max_positions, config.position_offset)
        self.source_norm = nn.LayerNorm(config.width) if config.embedding_norm else nn.Identity()
        self.target_norm = nn.LayerNorm(config.width) if config.embedding_norm else nn.Identity()
        self.dropout = Dropout(config.dropout)
        self.encoder = stack(config, config.layers)
        self.decoder = stack(config, config.decoder_layers, reads=True)
        start(self, config.initial)

    def forward(self, source: Tensor, target: Tensor, readable: Tensor) -> Tensor:
        return self.logits(self.decode(target, self.encode(source, readable), readable))

    def encode(self, source: Tensor, readable: Tensor) -> Tensor:
        """The memory: a vector for each source token that has looked at all the others, (B, S, D)."""
        x = self.dropout(self.source_norm(self.source_position(self.source_embedding(source))))
        return self.encoder(x, mask=readable[:, None, None, :])

    def decode(self, target: Tensor, memory: Tensor, readable: Tensor, cache: Cache | None = None) -> Tensor:
        """A vector for each target token that has looked at those before it and at the memory, (B, T, D).

        With a cache, target holds the new tokens alone.
        """
        past = cache.length if cache else 0
        x = self.dropout(self.target_norm(self.target_position(self.target_embedding(target), past)))
        mask = causal(target.size(1), past, target.device) if target.size(1) > 1 else None  # the last sees all
        return self.decoder(x, mask, memory, readable[:, None, None, :], cache)

    def logits(self, x: Tensor) -> Tensor:
        return self.output.logits(x, self.output_bias)

    def cache(self) -> Cache:
        return Cache(self.config.decoder_layers)


def embedding(config: TranslatorConfig, vocabulary: int) -> Embedding:
    return Embedding(vocabulary, config.width, config.scale_embedding)
