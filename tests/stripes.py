"""Small things to tell apart and to paint in seconds: stripes that lie or stand, glad and sad words, flags."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from regard.config import Settings, validate
from regard.data.labelled import Parts, Texts
from regard.data.pictures import Pictures

LEARNING = {
    "steps": 60,
    "warmup": 5,
    "learning_rate": 5e-3,
    "optimizer": "muon",
    "label_smoothing": 0.0,
    "validate_every": 30,
    "precision": "float32",
}
SIZES = {"width": 24, "hidden": 32, "heads": 2, "layers": 2, "dropout": 0.0}
DIRECTIONS = ("lying", "standing")
GLAD, SAD = ("sun", "song", "laugh", "dance"), ("rain", "grave", "tears", "gloom")
COLOURS = {"red": (220, 30, 30), "green": (30, 180, 60), "blue": (30, 60, 220)}


def stripes(count: int, seed: int) -> Pictures:
    """Colour pictures of 8 × 12 pixels, each with a bright line across the whole of it, lying or standing."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, 2, count)
    pixels = draw.integers(0, 90, (count, 8, 12, 3))
    for picture, label in zip(pixels, labels, strict=True):
        if label:
            picture[:, draw.integers(12)] = 250
        else:
            picture[draw.integers(8)] = 250
    return Pictures(pixels.astype(np.uint8), labels, DIRECTIONS)


def stripe_settings(**data: Any) -> Settings:
    model = {"family": "vit", "patch": 4, "summary": "mean", **SIZES}
    given = {"data": data, "model": model, "train": LEARNING | {"steps": 100, "batch_tokens": 192}}
    return validate(Settings, given, "test")


def moods(count: int, seed: int) -> Texts:
    """Six words each, all glad or all sad."""
    draw = random.Random(seed)
    labels = [draw.randrange(2) for _ in range(count)]
    texts = (" ".join(draw.choices((GLAD, SAD)[label], k=draw.randint(2, 6))) for label in labels)
    return Texts(tuple(texts), np.array(labels), ("glad", "sad"))


def mood_settings() -> Settings:
    model = {"family": "bert", "max_positions": 10, "norm": "pre", "fills": False, **SIZES}
    train = LEARNING | {"task": "classify", "steps": 100, "batch_tokens": 160}
    return validate(Settings, {"tokenizer": {"size": 300}, "model": model, "train": train}, "test")


def flags(count: int, seed: int) -> Pictures:
    """Flags of 8 × 12 pixels in two colours, "red over blue", that patches of 4 × 4 cut into 2 × 3."""
    draw = random.Random(seed)
    pairs = [(draw.choice(list(COLOURS)), draw.choice(list(COLOURS))) for _ in range(count)]
    return Pictures(np.stack([flag(*pair) for pair in pairs]), captions=tuple(f"{a} over {b}" for a, b in pairs))


def flag(above: str, below: str) -> np.ndarray:
    rows = np.array([COLOURS[above]] * 4 + [COLOURS[below]] * 4, dtype=np.uint8)  # (8, 3)
    return np.repeat(rows[:, None], 12, axis=1)


def flag_settings(**train: Any) -> Settings:
    return validate(
        Settings,
        {
            "tokenizer": {"size": 300, "codes": 3, "colours": 5, "patch": 4, "codec_steps": 40},
            "model": {"family": "dalle", **SIZES},
            "train": LEARNING | {"steps": 240, "batch_tokens": 320} | train,
        },
        "test",
    )


def parts(make: Any, train: int = 300, valid: int = 60) -> Parts[Any]:
    return Parts(make(train, 1), make(valid, 2))


def judge_settings(**train: Any) -> Settings:
    """To find the caption of a flag."""
    model = {"family": "clip", "patch": 4, "summary": "mean", "max_positions": 9, "classes": 10, **SIZES}
    learning = LEARNING | {"steps": 300, "learning_rate": 1e-2, "batch_tokens": 400} | train
    return validate(Settings, {"tokenizer": {"size": 300}, "model": model, "train": learning}, "test")
