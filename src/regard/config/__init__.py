"""Every setting there is: its name, type, default and meaning, stated once.

A recipe (TOML) or `--set model.width=512` overrides defaults; a run's `config.json` holds them all, resolved.
Settings are frozen data: nothing in them is imported, evaluated or executed.

    Settings            a whole run                                                       settings.py
    ├── data            where the text comes from and which way it is translated
    ├── tokenizer       how text becomes ids
    ├── model           the network, one class for each family                            networks.py
    ├── train           how long and how fast to learn
    └── decode          how translations are searched for
"""

from __future__ import annotations

from regard.config.base import Config
from regard.config.networks import (
    BartConfig,
    BertConfig,
    ClipConfig,
    DalleConfig,
    DecoderConfig,
    DistilbertConfig,
    EncoderConfig,
    Gpt2Config,
    Gpt3Config,
    GptConfig,
    ModelConfig,
    NetworkConfig,
    RobertaConfig,
    StackConfig,
    TranslatorConfig,
    VitConfig,
)
from regard.config.recipe import override, read_recipe, suggestion, to_json, validate, value_of
from regard.config.settings import FORMAT, DataConfig, DecodeConfig, Settings, TokenizerConfig, TrainConfig

__all__ = [
    "FORMAT",
    "BartConfig",
    "BertConfig",
    "ClipConfig",
    "Config",
    "DalleConfig",
    "DataConfig",
    "DecodeConfig",
    "DecoderConfig",
    "DistilbertConfig",
    "EncoderConfig",
    "Gpt2Config",
    "Gpt3Config",
    "GptConfig",
    "ModelConfig",
    "NetworkConfig",
    "RobertaConfig",
    "Settings",
    "StackConfig",
    "TokenizerConfig",
    "TrainConfig",
    "TranslatorConfig",
    "VitConfig",
    "override",
    "read_recipe",
    "suggestion",
    "to_json",
    "validate",
    "value_of",
]
