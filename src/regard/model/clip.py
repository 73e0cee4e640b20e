"""CLIP: a ViT and a BERT side by side, taught to say of a picture and of its caption the same."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import ClipConfig
from regard.model.bert import Bert
from regard.model.vit import Vit

SHARPEST = 100.0  # what likeness is multiplied by, at most


class Clip(Vit):
    """Pictures and texts → vectors of length 1, alike where they belong together                Radford et al. 2021

        logits = exp(τ) · picture · textᵀ,  τ learned from log 1 / 0.07                           ibid., figure 3

    What a ViT says of classes is a picture's vector, and what a BERT says of them is a text's. The paper's reads its
    texts from left to right.
    """

    tasks = ("match",)

    def __init__(self, config: ClipConfig):
        super().__init__(config)
        self.reader = Bert(config.reader)
        self.reader_sharpness = nn.Parameter(torch.tensor(1 / 0.07).log())

    def forward(self, pictures: Tensor, ids: Tensor, readable: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.likeness(self.see(pictures), self.read(ids, readable))

    def see(self, pictures: Tensor) -> Tensor:
        """(N, C, height, width) → (N, classes)"""
        return F.normalize(self.classify(self.states(pictures)), dim=-1)

    def read(self, ids: Tensor, readable: Tensor) -> Tensor:
        """(M, T) → (M, classes)"""
        return F.normalize(self.reader.classify(self.reader.states(ids, readable)), dim=-1)

    def likeness(self, seen: Tensor, read: Tensor) -> Tensor:
        """Logits (N, M) of each of M texts being what each of N pictures shows."""
        return self.reader_sharpness.exp().clamp(max=SHARPEST) * seen @ read.T
