"""Runs to be exchanged with other runtimes: random ones that know what they want, and what to give them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import regard
from regard.config import Settings, validate
from regard.data.batch import pad
from regard.model import build
from regard.run import Run
from regard.tokens.text import EOS, TextTokenizer

TEXTS = ["It’s a naïve café.", "two five one", "Ünïcödé 日本 \N{CAT FACE}", "one", "seven six five four three two one"]


def random_run(tokenizers: tuple[TextTokenizer, TextTokenizer], folder: Path, seed: int = 1, **model: Any) -> Run:
    """A run of random parameters whose choices differ clearly from step to step, in sizes that all differ."""
    source, target = tokenizers
    if model.get("tied", "all") == "all":
        target = source
    sizes = {"width": 12, "hidden": 20, "heads": 3, "layers": 2, "decoder_layers": 1}
    given = {
        "tokenizer": {"size": 400, "joint": source is target},
        "model": {**sizes, "source_vocabulary": len(source), "target_vocabulary": len(target), **model},
        "decode": {"beam": 4, "length_penalty": 0.8, "max_length": 14},
    }
    chosen = validate(Settings, given, "test")
    torch.manual_seed(seed)
    network = build(chosen.model).eval()
    for parameter in network.parameters():
        parameter.data += torch.randn_like(parameter) * 0.3
    run = Run(chosen, network, {"source": source, "target": target})
    run.save(folder)
    return run


def sources_for(run: Run, count: int = 12) -> list[list[int]]:
    """Token ids of every length from 1 to `count`, each closed by EOS."""
    size = run.translator.source_vocabulary
    return [[*torch.randint(4, size, (length,)).tolist(), EOS] for length in range(1, count + 1)]


def batch_of(sources: list[list[int]]) -> tuple[Tensor, Tensor]:
    source = pad(sources)
    return source, torch.arange(source.size(1)) < torch.tensor([len(ids) for ids in sources]).unsqueeze(1)


def translations(run: Run, texts: list[str], to: str | None = None) -> list[str]:
    return [translation.text for translation in regard.translate(run, texts, to)]
