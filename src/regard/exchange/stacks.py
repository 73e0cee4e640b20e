"""Hugging Face's networks of one stack, a row each: what is theirs called, and what is it here.

A row says under which names their file has our parameters and their config.json our settings, which of our settings the
network has no choice about, which heads there are, and how text was cut before there was a tokenizer.json. Nothing else
knows one of these networks from another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from regard.config import StackConfig
from regard.exchange import names
from regard.exchange.tokenizer_in import Older, Specials, byte_level, letters, wordpiece

GELUS = {"gelu": "gelu", "relu": "relu", "gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh"}
ACTIVATIONS = {**GELUS, "silu": "swish", "swish": "swish"}
FIRST_GPT = {"gelu": "gelu-tanh", "relu": "relu", "silu": "swish", "swish": "swish"}  # its gelu always was the tanh


class Head(NamedTuple):
    """What a class of theirs has on top of the network."""

    task: str  # what it is for
    counted: str = ""  # the setting of ours that says there is one, and how many it tells apart


BERT_HEADS = {
    "ForMaskedLM": Head("fill", "fills"),
    "ForPreTraining": Head("fill", "fills"),
    "ForSequenceClassification": Head("classify", "classes"),
    "ForTokenClassification": Head("tag", "tags"),
    "Model": Head("fill"),
}
GPT_HEADS = {"LMHeadModel": Head("write"), "Model": Head("write")}
VIT_HEADS = {"ForImageClassification": Head("classify", "classes"), "Model": Head("classify")}
ROWS_OF = {"classes": "classifier.weight", "tags": "tagger.weight"}  # which parameter of ours has a row for each

FIXED: dict[str, Any] = {"norm_kind": "layer", "gated": False, "position": "learned"}
BERT_SIZES = {
    "vocabulary": "vocab_size",
    "width": "hidden_size",
    "hidden": "intermediate_size",
    "heads": "num_attention_heads",
    "layers": "num_hidden_layers",
    "max_positions": "max_position_embeddings",
    "token_types": "type_vocab_size",
    "activation": "hidden_act",
    "epsilon": "layer_norm_eps",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
}
BERT_USUAL = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_attention_heads": 12,
    "num_hidden_layers": 12,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
}
BERT_NEVER = {"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False}
GPT_SIZES = {
    "vocabulary": "vocab_size",
    "width": "n_embd",
    "heads": "n_head",
    "layers": "n_layer",
    "max_positions": "n_positions",
    "epsilon": "layer_norm_epsilon",
    "dropout": "resid_pdrop",
    "attention_dropout": "attn_pdrop",
    "tied": "tie_word_embeddings",
}
GPT_USUAL = {
    "vocab_size": 50257,
    "n_embd": 768,
    "n_head": 12,
    "n_layer": 12,
    "n_positions": 1024,
    "layer_norm_epsilon": 1e-5,
    "resid_pdrop": 0.1,
    "attn_pdrop": 0.1,
    "tie_word_embeddings": True,
}
PAIRS: dict[str, Callable[[Any], Any]] = {  # of a picture they give one number, or both
    "picture": lambda given: (given, given) if isinstance(given, int) else given,
    "patch": lambda given: given[0] if isinstance(given, list) and given[:1] * 2 == given else given,
}
IN_BRACKETS = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
IN_ANGLES = {"pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}


@dataclass(frozen=True)
class Stack:
    """One of their networks."""

    family: str  # ours
    named: str  # how its classes' names begin
    body: str  # what the names of its parameters begin with, where there is a head on it
    names: Mapping[str, str]
    heads: Mapping[str, Head]  # by the rest of a class's name
    sizes: Mapping[str, str]  # what their config.json calls a setting of ours
    usual: Mapping[str, Any]  # of their config.json, which may leave it out
    settings: Mapping[str, Any]  # of ours, about which it has no choice
    demanded: Mapping[str, Any] = field(default_factory=dict)  # of their config.json, or the network is not ours
    activations: Mapping[str, str] = field(default_factory=lambda: ACTIVATIONS)
    offset: Callable[[Mapping[str, Any]], int] = lambda described: 0  # rows of positions before the first token's
    again: Mapping[str, str] = field(default_factory=dict)  # names under which older files have a parameter once more
    older: Older | None = None  # reads its tokenizer where there is no tokenizer.json; None where it reads no text
    specials: Specials = field(default_factory=dict)
    order: tuple[int, ...] = (0, 1, 2, 3)  # of our first ids, where a run goes out
    closed: bool = True  # whether its texts end in </s>, and not only begin with <s>

    def ours(self, described: Mapping[str, Any]) -> dict[str, Any]:
        """Our settings for a config.json of theirs; a ValueError says what in it we have no setting for."""
        model: dict[str, Any] = {name: described.get(theirs) for name, theirs in self.sizes.items()}
        if str(model["activation"]) not in self.activations:
            known = ", ".join(self.activations)
            raise ValueError(f"{self.sizes['activation']}={model['activation']!r}: regard has {known}")
        model["activation"] = self.activations[model["activation"]]
        if model.get("hidden") is None:
            model["hidden"] = 4 * model["width"]
        for name, convert in PAIRS.items():
            if name in model:
                model[name] = convert(model[name])
        fixed = {name: value for name, value in self.settings.items() if not callable(value)}
        if "position_offset" in fixed:
            fixed["position_offset"] = self.offset(described)
            model["max_positions"] -= fixed["position_offset"]
        return {"family": self.family, **model, **fixed}

    def theirs(self, config: StackConfig) -> dict[str, Any]:
        """A config.json of theirs for our settings."""
        given = {theirs: getattr(config, name) for name, theirs in self.sizes.items()}
        given[self.sizes["activation"]] = self.called(config)
        if "position_offset" in self.settings:
            given["max_position_embeddings"] += self.settings["position_offset"]
        return {**given, **self.demanded}

    def called(self, config: StackConfig) -> str:
        """What they call the activation, if they have it."""
        return next((theirs for theirs, ours in self.activations.items() if ours == config.activation), "")

    def lack(self, config: StackConfig) -> str:
        """What of a network of ours theirs has not."""
        for name, value in self.settings.items():
            if getattr(config, name) != (value(config) if callable(value) else value):
                return f"has no model.{name}={getattr(config, name)}"
        return "" if self.called(config) else f"has no model.activation={config.activation}"


STACKS = {
    "bert": Stack(
        family="bert",
        named="Bert",
        body="bert.",
        names=names.BERT,
        heads=BERT_HEADS,
        sizes=BERT_SIZES,
        usual=BERT_USUAL,
        settings={**FIXED, "norm": "post", "pooling": "tanh", "position_offset": 0},
        demanded=BERT_NEVER,
        again={
            "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
            "cls.predictions.decoder.bias": "cls.predictions.bias",
        },
        older=wordpiece,
        specials=IN_BRACKETS,
    ),
    "roberta": Stack(
        family="roberta",
        named="Roberta",
        body="roberta.",
        names=names.ROBERTA,
        heads={name: head for name, head in BERT_HEADS.items() if name != "ForPreTraining"},
        sizes=BERT_SIZES,
        usual={**BERT_USUAL, "vocab_size": 50265, "pad_token_id": 1},
        settings={**FIXED, "norm": "post", "pooling": "tanh", "position_offset": 2},
        demanded=BERT_NEVER,
        offset=lambda described: described["pad_token_id"] + 1,
        again={
            "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
            "lm_head.decoder.bias": "lm_head.bias",
        },
        older=byte_level,
        specials=IN_ANGLES,
        order=(1, 3, 0, 2),  # it knows padding by its id, and counts positions from the next
    ),
    "distilbert": Stack(
        family="distilbert",
        named="DistilBert",
        body="distilbert.",
        names=names.DISTILBERT,
        heads={name: head for name, head in BERT_HEADS.items() if name != "ForPreTraining"},
        sizes={
            "vocabulary": "vocab_size",
            "width": "dim",
            "hidden": "hidden_dim",
            "heads": "n_heads",
            "layers": "n_layers",
            "max_positions": "max_position_embeddings",
            "activation": "activation",
            "dropout": "dropout",
            "attention_dropout": "attention_dropout",
        },
        usual={
            "vocab_size": 30522,
            "dim": 768,
            "hidden_dim": 3072,
            "n_heads": 12,
            "n_layers": 6,
            "max_position_embeddings": 512,
            "activation": "gelu",
            "dropout": 0.1,
            "attention_dropout": 0.1,
        },
        settings={
            **FIXED,
            "norm": "post",
            "pooling": "relu",
            "position_offset": 0,
            "token_types": 0,
            "epsilon": 1e-12,
        },
        again={"vocab_projector.weight": "distilbert.embeddings.word_embeddings.weight"},
        older=wordpiece,
        specials=IN_BRACKETS,
    ),
    "openai-gpt": Stack(
        family="gpt",
        named="OpenAIGPT",
        body="transformer.",
        names=names.GPT,
        heads=GPT_HEADS,
        sizes={**GPT_SIZES, "activation": "afn"},
        usual={**GPT_USUAL, "vocab_size": 40478, "n_positions": 512, "afn": "gelu"},
        settings={**FIXED, "norm": "post", "hidden": lambda config: 4 * config.width},
        activations=FIRST_GPT,
        again={"lm_head.weight": "transformer.tokens_embed.weight"},
        older=letters,
        specials={"unk": "<unk>"},
        closed=False,
    ),
    "gpt2": Stack(
        family="gpt2",
        named="GPT2",
        body="transformer.",
        names=names.GPT2,
        heads=GPT_HEADS,
        sizes={**GPT_SIZES, "hidden": "n_inner", "activation": "activation_function"},
        usual={**GPT_USUAL, "n_inner": None, "activation_function": "gelu_new"},
        settings={**FIXED, "norm": "pre"},
        demanded={
            "scale_attn_weights": True,
            "scale_attn_by_inverse_layer_idx": False,
            "add_cross_attention": False,
        },
        again={"lm_head.weight": "transformer.wte.weight"},
        older=byte_level,
        specials=dict.fromkeys(("unk", "bos", "eos"), "<|endoftext|>"),
        closed=False,
    ),
    "vit": Stack(
        family="vit",
        named="ViT",
        body="vit.",
        names=names.VIT,
        heads=VIT_HEADS,
        sizes={
            **{name: BERT_SIZES[name] for name in ("width", "hidden", "heads", "layers", "activation", "epsilon")},
            **{name: BERT_SIZES[name] for name in ("dropout", "attention_dropout")},
            "picture": "image_size",
            "patch": "patch_size",
            "channels": "num_channels",
            "mean": "image_mean",
            "deviation": "image_std",
        },
        usual={
            **BERT_USUAL,
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
            "image_size": 224,
            "patch_size": 16,
            "num_channels": 3,
            "image_mean": (0.5,),
            "image_std": (0.5,),
        },
        settings={**FIXED, "norm": "pre", "summary": "class"},
        demanded={"qkv_bias": True},
    ),
}
