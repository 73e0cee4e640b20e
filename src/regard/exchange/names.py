"""Our parameters under the names that others have for them, and back: a table for each, and nothing else.

A table maps parts of our names to parts of theirs, one after the other. In the result

- (q|k|v) stands for three matrices that we keep as one;
- a ᵀ at the end says that the matrix lies the other way there, a ¹ that it has one more dimension in front, of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import torch
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
    "self_attention.qkv.": "self_attn.(q|k|v)_proj.",
    "self_attention.output.": "self_attn.out_proj.",
    "around_self.norm.": "self_attn_layer_norm.",
    "cross_attention.qkv.": "encoder_attn.(q|k|v)_proj.",
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


BERT = {
    "embedding.table.": "bert.embeddings.word_embeddings.",
    "position.table": "bert.embeddings.position_embeddings.weight",
    "embedding_norm.": "bert.embeddings.LayerNorm.",
    "types.": "bert.embeddings.token_type_embeddings.",
    "encoder.blocks.": "bert.encoder.layer.",
    "self_attention.qkv.": "attention.self.(query|key|value).",
    "self_attention.output.": "attention.output.dense.",
    "around_self.norm.": "attention.output.LayerNorm.",
    "feed_forward.inner.": "intermediate.dense.",
    "feed_forward.outer.": "output.dense.",
    "around_feed.norm.": "output.LayerNorm.",
    "filler.0.": "cls.predictions.transform.dense.",
    "filler.2.": "cls.predictions.transform.LayerNorm.",
    "output_bias": "cls.predictions.bias",
    "pooler.0.": "bert.pooler.dense.",
    "tagger.": "classifier.",
}

ROBERTA = {
    "classifier.": "classifier.out_proj.",
    **{ours: theirs.replace("bert.", "roberta.") for ours, theirs in BERT.items()},
    "filler.0.": "lm_head.dense.",
    "filler.2.": "lm_head.layer_norm.",
    "output_bias": "lm_head.bias",
    "pooler.0.": "classifier.dense.",
}

DISTILBERT = {
    "embedding.table.": "distilbert.embeddings.word_embeddings.",
    "position.table": "distilbert.embeddings.position_embeddings.weight",
    "embedding_norm.": "distilbert.embeddings.LayerNorm.",
    "encoder.blocks.": "distilbert.transformer.layer.",
    "self_attention.qkv.": "attention.(q|k|v)_lin.",
    "self_attention.output.": "attention.out_lin.",
    "around_self.norm.": "sa_layer_norm.",
    "feed_forward.inner.": "ffn.lin1.",
    "feed_forward.outer.": "ffn.lin2.",
    "around_feed.norm.": "output_layer_norm.",
    "filler.0.": "vocab_transform.",
    "filler.2.": "vocab_layer_norm.",
    "output_bias": "vocab_projector.bias",
    "pooler.0.": "pre_classifier.",
    "tagger.": "classifier.",
}

GPT2 = {
    "embedding.table.": "transformer.wte.",
    "output.table.": "lm_head.",
    "position.table": "transformer.wpe.weight",
    "decoder.blocks.": "transformer.h.",
    "decoder.norm.": "transformer.ln_f.",
    "self_attention.qkv.weight": "attn.c_attn.weightᵀ",
    "self_attention.qkv.": "attn.c_attn.",
    "self_attention.output.weight": "attn.c_proj.weightᵀ",
    "self_attention.output.": "attn.c_proj.",
    "around_self.norm.": "ln_1.",
    "feed_forward.inner.weight": "mlp.c_fc.weightᵀ",
    "feed_forward.inner.": "mlp.c_fc.",
    "feed_forward.outer.weight": "mlp.c_proj.weightᵀ",
    "feed_forward.outer.": "mlp.c_proj.",
    "around_feed.norm.": "ln_2.",
}

GPT = GPT2 | {"embedding.table.": "transformer.tokens_embed.", "position.table": "transformer.positions_embed.weight"}

VIT = {
    "embedding.": "vit.embeddings.patch_embeddings.projection.",
    "summary": "vit.embeddings.cls_token",
    "position.table": "vit.embeddings.position_embeddings¹",
    "encoder.blocks.": "vit.encoder.layer.",
    "encoder.norm.": "vit.layernorm.",
    "self_attention.qkv.": "attention.attention.(query|key|value).",
    "self_attention.output.": "attention.output.dense.",
    "around_self.norm.": "layernorm_before.",
    "feed_forward.inner.": "intermediate.dense.",
    "feed_forward.outer.": "output.dense.",
    "around_feed.norm.": "layernorm_after.",
}

THREE = re.compile(r"\((\w+)\|(\w+)\|(\w+)\)")
MARKS = "ᵀ¹"


def elsewhere(name: str, table: Mapping[str, str]) -> list[str]:
    """What a parameter of ours is called there: one name, or those of q, k and v."""
    return [there.rstrip(MARKS) for there in marked(name, table)]


def marked(name: str, table: Mapping[str, str]) -> list[str]:
    for ours, theirs in table.items():
        name = name.replace(ours, theirs)
    three = THREE.search(name)
    return [THREE.sub(each, name) for each in three.groups()] if three else [name]


def renamed(parameters: Mapping[str, Tensor], table: Mapping[str, str]) -> dict[str, Tensor]:
    """Our parameters as theirs."""
    result: dict[str, Tensor] = {}
    for name, parameter in parameters.items():
        names = marked(name, table)
        for there, part in zip(names, parameter.chunk(len(names)), strict=True):
            part = part.mT if "ᵀ" in there else part
            result[there.rstrip(MARKS)] = part.unsqueeze(0) if "¹" in there else part
    return result


def returned(theirs: Mapping[str, Tensor], names: Iterable[str], table: Mapping[str, str]) -> dict[str, Tensor]:
    """Their parameters as ours, under these names: the way back from `renamed`."""
    result: dict[str, Tensor] = {}
    for name in names:
        parts = marked(name, table)
        whole = torch.cat([theirs[there.rstrip(MARKS)] for there in parts])
        whole = whole.mT if "ᵀ" in parts[0] else whole
        result[name] = whole.squeeze(0) if "¹" in parts[0] else whole
    return result
