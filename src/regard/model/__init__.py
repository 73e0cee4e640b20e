"""Batch → logits. One attention, one block, one stack; a family differs from another only at its edges."""

from __future__ import annotations

from typing import overload

from regard.config import ModelConfig, TranslatorConfig
from regard.model.bart import Bart
from regard.model.bert import Bert
from regard.model.clip import Clip
from regard.model.dalle import Dalle
from regard.model.distilbert import Distilbert
from regard.model.gpt import Gpt
from regard.model.gpt2 import Gpt2
from regard.model.gpt3 import Gpt3
from regard.model.network import Network
from regard.model.roberta import Roberta
from regard.model.translator import Translator
from regard.model.vit import Vit

FAMILIES: dict[str, type[Network]] = {
    "translator": Translator,
    "bart": Bart,
    "bert": Bert,
    "roberta": Roberta,
    "distilbert": Distilbert,
    "gpt": Gpt,
    "gpt2": Gpt2,
    "gpt3": Gpt3,
    "vit": Vit,
    "dalle": Dalle,
    "clip": Clip,
}


@overload
def build(config: TranslatorConfig) -> Translator: ...
@overload
def build(config: ModelConfig) -> Network: ...
def build(config: ModelConfig) -> Network:
    """A model with new parameters, drawn from torch's current random state."""
    return FAMILIES[config.family](config)
