"""Our parameters under the names that other people's Transformers have for them."""

from __future__ import annotations

from typing import Any

from regard.config import TranslatorConfig
from regard.exchange.huggingface import sizes
from regard.exchange.names import HUGGING_FACE, renamed

__all__ = ["HUGGING_FACE", "hugging_face_sizes", "renamed"]


def hugging_face_sizes(config: TranslatorConfig) -> dict[str, Any]:
    """What MarianConfig and PegasusConfig call our sizes, with 40 positions."""
    return sizes(config, rows=40)
