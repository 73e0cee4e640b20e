"""Our parameters under the names that others have for them, and back: a table for each, and nothing else.

A table maps parts of our names to parts of theirs, one after the other; a `?` in the result stands for the three
matrices that we keep as one, q, k and v.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

HUGGING_FACE = {  # Marian, Pegasus, M2M100 and BART agree
    "source_embedding.table.": "model.encoder.embed_tokens.",
    "target_embedding.table.": "model.decoder.embed_tokens.",
    "output.table.": "lm_head.",
    "source_position.table": "model.encoder.embed_positions.weight",
    "target_position.table": "model.decoder.embed_positions.weight",
    "source_norm.": "model.encoder.layernorm_embedding.",
    "target_norm.": "model.decoder.layernorm_embedding.",
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
    "output_bias": "final_logits_bias",
}

CTRANSLATE2 = {  # as paths into its TransformerSpec
    "source_embedding.table.": "encoder/embeddings_0/",
    "target_embedding.table.": "decoder/embeddings/",
    "output.table.": "decoder/projection/",
    "output_bias": "decoder/projection/bias",
    "source_position.table": "encoder/position_encodings/encodings",
    "target_position.table": "decoder/position_encodings/encodings",
    "source_norm.": "encoder/layernorm_embedding/norm.",
    "target_norm.": "decoder/layernorm_embedding/norm.",
    "coder.blocks.": "coder/layer_",
    "coder.norm.": "coder/layer_norm/norm.",
    ".self_attention.qkv.": "/self_attention/linear_0/",
    ".self_attention.output.": "/self_attention/linear_1/",
    ".around_self.": "/self_attention/layer_norm/",
    ".cross_attention.query.": "/attention/linear_0/",
    ".cross_attention.memory.": "/attention/linear_1/",
    ".cross_attention.output.": "/attention/linear_2/",
    ".around_cross.": "/attention/layer_norm/",
    ".feed_forward.inner.": "/ffn/linear_0/",
    ".feed_forward.outer.": "/ffn/linear_1/",
    ".around_feed.": "/ffn/layer_norm/",
    "norm.weight": "gamma",
    "norm.bias": "beta",
}


def elsewhere(name: str, table: Mapping[str, str]) -> list[str]:
    """What a parameter of ours is called there: one name, or those of q, k and v."""
    for ours, theirs in table.items():
        name = name.replace(ours, theirs)
    return [name.replace("?", letter) for letter in "qkv"] if "?" in name else [name]


def renamed(parameters: Mapping[str, Tensor], table: Mapping[str, str]) -> dict[str, Tensor]:
    result: dict[str, Tensor] = {}
    for name, parameter in parameters.items():
        names = elsewhere(name, table)
        result |= zip(names, parameter.chunk(len(names)), strict=True)
    return result
