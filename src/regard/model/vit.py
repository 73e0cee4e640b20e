"""ViT: the Transformer's encoder alone, over the patches of a picture as if they were words."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.config import VitConfig
from regard.errors import DataError
from regard.model.dropout import Dropout
from regard.model.network import Network
from regard.model.parts import position, single_stack, start


class Vit(Network):
    """Pictures (B, C, height, width) → logits of their classes (B, classes)                  Dosovitskiy et al. 2021

        z₀ = [class token; patch₁ E; … patch_N E] + P,   logits = LayerNorm(z_L)[0] W               ibid., section 3.1

    Patches stand row by row behind the class token; with summary=mean there is none, and their mean is classified.
    """

    tasks = ("classify",)
    reads = "pictures"

    def __init__(self, config: VitConfig):
        super().__init__()
        self.config = config
        rows, columns = config.grid
        self.embedding = nn.Conv2d(config.channels, config.width, config.patch, config.patch)  # one matrix, each patch
        self.summary = nn.Parameter(torch.randn(1, 1, config.width) * 0.02) if config.summary == "class" else None
        self.position = position(config, rows * columns + (self.summary is not None))
        self.dropout = Dropout(config.dropout)
        self.encoder = single_stack(config, causal=False)
        self.classifier = nn.Linear(config.width, config.classes) if config.classes else nn.Identity()
        start(self, config.initial)

    def forward(self, pictures: Tensor) -> Tensor:
        return self.classify(self.states(pictures))

    def states(self, pictures: Tensor) -> Tensor:
        """A vector for each patch that has looked at all the others, (B, N, D), behind that of the class token."""
        expected = (self.config.channels, *self.config.picture)
        if pictures.shape[1:] != expected:
            raise DataError(
                f"a picture of {shown(pictures.shape[1:])} was given to a network that was made for {shown(expected)}: "
                "resize it"
            )
        x = self.embedding(self.standard(pictures)).flatten(2).mT  # (B, N, D)
        if self.summary is not None:
            x = torch.cat([self.summary.expand(len(x), -1, -1), x], dim=1)
        return self.encoder(self.dropout(self.position(x)))

    def standard(self, pictures: Tensor) -> Tensor:
        """Pictures of −1 … 1 with the mean and deviation that the network knows: (brightness − mean) / deviation."""
        mean, deviation = (
            pictures.new_tensor(given).view(-1, 1, 1) for given in (self.config.mean, self.config.deviation)
        )
        return pictures * (0.5 / deviation) + (0.5 - mean) / deviation

    def classify(self, states: Tensor) -> Tensor:
        """Logits of each picture's class, (B, classes)."""
        return self.classifier(states.mean(1) if self.summary is None else states[:, 0])


def shown(shape: tuple[int, ...]) -> str:
    channels, height, width = shape
    return f"{channels} × {height} × {width}"
