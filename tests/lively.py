"""Random translators that know what they want, and sources for them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.config import TranslatorConfig
from regard.model.translator import Translator
from regard.tokens.text import PAD


def lively(vocabulary: int, seed: int, **sizes: Any) -> Translator:
    """A random translator whose choices differ clearly from step to step and from source to source."""
    torch.manual_seed(seed)
    config = TranslatorConfig(
        source_vocabulary=vocabulary, target_vocabulary=vocabulary, width=12, hidden=20, heads=3, layers=2, **sizes
    )
    model = Translator(config).eval()
    for parameter in model.parameters():
        parameter.data += torch.randn_like(parameter) * 0.3
    return model


def sources(vocabulary: int, lengths: list[int]) -> tuple[Tensor, Tensor]:
    source = torch.randint(4, vocabulary, (len(lengths), max(lengths)))
    readable = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return source.masked_fill(~readable, PAD), readable
