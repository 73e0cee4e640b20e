"""A small language whose word order is turned round, so that every link is known: "red two cat" → "chat deux rouge"."""

from __future__ import annotations

import random
from typing import Any

from regard.config import Settings, validate
from regard.data.corpus import Links, Pair

WORDS = {
    "red": "rouge",
    "two": "deux",
    "cat": "chat",
    "house": "maison",
    "small": "petite",
    "garden": "jardin",
    "water": "eau",
    "seven": "sept",
    "tree": "arbre",
    "bread": "pain",
    "night": "nuit",
    "window": "fenêtre",
}


def pairs(count: int, seed: int) -> list[Pair]:
    draw = random.Random(seed)
    texts = [draw.sample(list(WORDS), k=draw.randint(2, 6)) for _ in range(count)]
    return [Pair(" ".join(text), " ".join(WORDS[word] for word in reversed(text))) for text in texts]


def gold(pair: Pair) -> Links:
    last = len(pair.source.split()) - 1
    return [(last - target, target) for target in range(last + 1)]


def settings(**train: Any) -> Settings:
    learning = {
        "steps": 400,
        "warmup": 20,
        "learning_rate": 8e-3,
        "label_smoothing": 0.0,
        "batch_tokens": 512,
        "validate_every": 400,
        "precision": "float32",
        "log_every": 400,
    }
    given = {
        "tokenizer": {"size": 330},
        "model": {"width": 32, "hidden": 64, "heads": 2, "layers": 2, "dropout": 0.0},
        "train": learning | train,
    }
    return validate(Settings, given, "test")


def error_rate(found: list[Links], wanted: list[Links]) -> float:
    """AER, 1 − 2 |A ∩ S| / (|A| + |S|): every gold link is a sure one           Och and Ney 2003"""
    both = sum(len(set(a) & set(s)) for a, s in zip(found, wanted, strict=True))
    return 1 - 2 * both / (sum(map(len, found)) + sum(map(len, wanted)))
