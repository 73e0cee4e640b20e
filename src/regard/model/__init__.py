"""Batch → logits. One attention, one block, one stack; a family differs from another only at its edges."""

from __future__ import annotations

from regard.config import TranslatorConfig
from regard.model.translator import Translator

FAMILIES = {"translator": Translator}


def build(config: TranslatorConfig) -> Translator:
    """A model with new parameters, drawn from torch's current random state."""
    return FAMILIES[config.family](config)
