"""A small language to learn in seconds: numbers in English and in French."""

from __future__ import annotations

import random
from typing import Any

from regard.config import Settings, validate
from regard.data.corpus import Pair

NUMBERS = {
    "one": "un",
    "two": "deux",
    "three": "trois",
    "four": "quatre",
    "five": "cinq",
    "six": "six",
    "seven": "sept",
}


def pairs(count: int, seed: int) -> list[Pair]:
    draw = random.Random(seed)
    texts = [" ".join(draw.sample(list(NUMBERS), k=draw.randint(1, 5))) for _ in range(count)]
    return [Pair(text, " ".join(NUMBERS[word] for word in text.split())) for text in texts]


def settings(**train: Any) -> Settings:
    learning = {
        "steps": 500,
        "optimizer": "muon",  # learns it without a mistake from every seed tried, whatever processor adds the sums up
        "warmup": 20,
        "learning_rate": 8e-3,
        "schedule": "cosine",
        "label_smoothing": 0.0,
        "batch_tokens": 512,
        "validate_every": 250,
        "precision": "float32",
        "log_every": 100,
    }
    given = {
        "data": {"languages": ["en", "fr"], "both_ways": True},
        "tokenizer": {"size": 320},
        "model": {"width": 32, "hidden": 64, "heads": 2, "layers": 1, "dropout": 0.0},
        "train": learning | train,
    }
    return validate(Settings, given, "test")
