"""Our parameters under the names that other people's Transformers have for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from regard.config import TranslatorConfig
from regard.tokens.text import BOS, EOS, PAD

HUGGING_FACE = {
    "source_embedding.table.": "model.encoder.embed_tokens.",
    "target_embedding.table.": "model.decoder.embed_tokens.",
    "output.table.": "lm_head.",
    "encoder.blocks.": "model.encoder.layers.",
    "decoder.blocks.": "model.decoder.layers.",
    "encoder.norm.": "model.encoder.layer_norm.",
    "decoder.norm.": "model.decoder.layer_norm.",
    "self_attention.qkv.": "self_attn.?_proj.",
    "self_attention.output.": "self_attn.out_proj.",
    "around_self.norm.": "self_attn_layer_norm.",
    "cross_attention.qkv.": "encoder_attn.?_proj.",
    "cross_attention.output.": "encoder_attn.out_proj.",
    "around_cross.norm.": "encoder_attn_layer_norm.",
    "feed_forward.inner.": "fc1.",
    "feed_forward.outer.": "fc2.",
    "around_feed.norm.": "final_layer_norm.",
}


def renamed(parameters: Mapping[str, Tensor], table: Mapping[str, str]) -> dict[str, Tensor]:
    """Parameters under the names they have elsewhere; a `?` in a name stands for three matrices, called q, k and v."""
    result: dict[str, Tensor] = {}
    for name, parameter in parameters.items():
        for ours, theirs in table.items():
            name = name.replace(ours, theirs)
        if "?" in name:
            result |= {name.replace("?", letter): part for letter, part in zip("qkv", parameter.chunk(3), strict=True)}
        else:
            result[name] = parameter
    return result


def hugging_face_sizes(config: TranslatorConfig) -> dict[str, Any]:
    """What MarianConfig and PegasusConfig call our sizes, with positions and scale as we have them."""
    return {
        "vocab_size": config.source_vocabulary,
        "d_model": config.width,
        "encoder_layers": config.layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.hidden,
        "decoder_ffn_dim": config.hidden,
        "activation_function": config.activation,
        "scale_embedding": True,
        "max_position_embeddings": 40,
        "pad_token_id": PAD,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": None,
    }
