"""Sentences to learn to fill in, in seconds: numbers in their order, of which any is clear from its neighbours."""

from __future__ import annotations

from typing import Any

from regard.config import Settings, validate
from regard.data.text import Prose
from rhymes import lines


def prose() -> Prose:
    return Prose(lines(700, seed=1).splitlines(), lines(50, seed=2).splitlines())


def settings(model: dict[str, Any] | None = None, **train: Any) -> Settings:
    learning = {
        "steps": 240,
        "warmup": 10,
        "learning_rate": 1e-2,
        "optimizer": "muon",
        "label_smoothing": 0.0,
        "batch_tokens": 256,
        "validate_every": 120,
        "precision": "float32",
        "hide": 0.4,
    }
    sizes = {"width": 32, "hidden": 48, "heads": 2, "layers": 2, "dropout": 0.0, "norm": "pre", "max_positions": 16}
    given = {
        "tokenizer": {"size": 310},
        "model": {"family": "bert", **sizes, **(model or {})},
        "train": learning | train,
    }
    return validate(Settings, given, "test")
