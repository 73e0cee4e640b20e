"""Our parameters under the names that other people's Transformers have for them."""

from __future__ import annotations

from typing import Any

from regard.config import TranslatorConfig
from regard.exchange.huggingface import sizes
from regard.exchange.names import HUGGING_FACE, renamed

__all__ = ["HUGGING_FACE", "TORCH_DECODER", "TORCH_ENCODER", "hugging_face_sizes", "renamed"]

TORCH = {
    "blocks.": "layers.",
    "self_attention.qkv.": "self_attn.in_proj_",
    "self_attention.output.": "self_attn.out_proj.",
    "cross_attention.qkv.": "multihead_attn.in_proj_",
    "cross_attention.output.": "multihead_attn.out_proj.",
    "feed_forward.inner.": "linear1.",
    "feed_forward.outer.": "linear2.",
    "around_self.norm.": "norm1.",
}
TORCH_ENCODER = TORCH | {"around_feed.norm.": "norm2."}
TORCH_DECODER = TORCH | {"around_cross.norm.": "norm2.", "around_feed.norm.": "norm3."}


def hugging_face_sizes(config: TranslatorConfig) -> dict[str, Any]:
    """What MarianConfig and PegasusConfig call our sizes, with 40 positions."""
    return sizes(config, rows=40)
