"""A small text to learn to write in seconds: numbers in their order, a line at a time."""

from __future__ import annotations

import random
from typing import Any

from regard.config import Settings, validate
from regard.data.text import Prose

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven"]


def lines(count: int, seed: int) -> str:
    """Some of the numbers in a row, beginning with any of them: what comes next is always clear, but in a new line."""
    draw = random.Random(seed)
    starts = [draw.randrange(len(NUMBERS)) for _ in range(count)]
    return "".join(" ".join((NUMBERS * 2)[start : start + draw.randint(2, 6)]) + "\n" for start in starts)


def prose() -> Prose:
    return Prose([lines(600, seed=1)], [lines(40, seed=2)])


def settings(kind: str = "characters", **train: Any) -> Settings:
    learning = {
        "steps": 150,
        "warmup": 10,
        "learning_rate": 1e-2,
        "optimizer": "muon",
        "label_smoothing": 0.0,
        "batch_tokens": 512,
        "validate_every": 75,
        "precision": "float32",
    }
    sizes = {"width": 32, "hidden": 64, "heads": 2, "layers": 2, "dropout": 0.0}
    given = {
        "data": {"block": 24},
        "tokenizer": {"kind": kind, "size": 300},
        "model": {"family": "gpt2", "position": "rotary", "max_positions": 40, **sizes},
        "train": learning | train,
    }
    return validate(Settings, given, "test")
