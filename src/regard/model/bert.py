"""BERT: the Transformer's encoder alone. It reads text both ways, and has heads for what is to be said about it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.config import EncoderConfig
from regard.model.block import ACTIVATIONS
from regard.model.dropout import Dropout
from regard.model.embedding import Embedding
from regard.model.network import Network
from regard.model.parts import norm, position, single_stack, start


class Bert(Network):
    """ids (B, T) → logits (B, T, V) of the token that stands, or should stand, at each position   Devlin et al. 2019

    `readable` (B, T) is True where there is a token and False where there is padding; `types` (B, T) says which segment
    a token is of, the first unless given. Heads take the states: `fill`, `classify`, `tag`; the settings say which.
    """

    tasks = ("fill", "classify", "tag")

    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.config = config
        width, normed = config.width, norm(config)
        self.embedding = Embedding(config.vocabulary, width, scaled=False)
        self.position = position(config, config.max_positions, config.position_offset)
        self.types = nn.Embedding(config.token_types, width) if config.token_types else None
        self.embedding_norm = normed(width)
        self.dropout = Dropout(config.dropout)
        self.encoder = single_stack(config, causal=False)
        if config.fills:
            self.filler = nn.Sequential(nn.Linear(width, width), ACTIVATIONS[config.activation](), normed(width))
            self.output, self.output_bias = self.embedding, nn.Parameter(torch.zeros(config.vocabulary))
        if config.classes:
            squash = {"tanh": nn.Tanh, "relu": nn.ReLU}[config.pooling]
            self.pooler = nn.Sequential(nn.Linear(width, width), squash(), Dropout(config.dropout))
            self.classifier = nn.Linear(width, config.classes)
        if config.tags:
            self.tagger = nn.Linear(width, config.tags)
        start(self, config.initial)

    def forward(self, ids: Tensor, readable: Tensor, types: Tensor | None = None) -> Tensor:
        return self.fill(self.states(ids, readable, types))

    def states(self, ids: Tensor, readable: Tensor, types: Tensor | None = None) -> Tensor:
        """A vector for each token that has looked at all the others, (B, T, D)."""
        x = self.position(self.embedding(ids))
        if self.types is not None:
            x = x + self.types(torch.zeros_like(ids) if types is None else types)
        return self.encoder(self.dropout(self.embedding_norm(x)), mask=readable[:, None, None, :])

    def before_output(self, states: Tensor) -> Tensor:
        """What the output matrix is multiplied by, (…, D)."""
        return self.filler(states)

    def fill(self, states: Tensor) -> Tensor:
        """Logits of the token at each position, (…, V)."""
        return self.output.logits(self.before_output(states), self.output_bias)

    def classify(self, states: Tensor) -> Tensor:
        """Logits of the text's class, (B, classes), from the state of its first token."""
        return self.classifier(self.pooler(states[:, 0]))

    def tag(self, states: Tensor) -> Tensor:
        """Logits of each token's tag, (B, T, tags)."""
        return self.tagger(self.dropout(states))
