"""Tiny runs of every kind that were never trained, in memory. Sizes all differ, and no two weights are near."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from regard.config import Settings, validate
from regard.model import build
from regard.run import IMAGE, TEXT, Run
from regard.tokens.characters import CharacterTokenizer
from regard.tokens.image import CodecConfig, ImageTokenizer
from regard.tokens.text import TextTokenizer

SIZES: dict[str, Any] = {"width": 12, "heads": 3, "hidden": 20, "layers": 2, "dropout": 0.3}
SENTENCES = ("The animal is tired, and the street is wide.", "A red circle above a blue square.")


def run_of(model: dict[str, Any], tokenizers: dict[str, Any], **others: Any) -> Run:
    settings = validate(Settings, {"model": SIZES | model, **others}, "test")
    torch.manual_seed(7)
    network = build(settings.model).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return Run(settings, network, tokenizers)


def writer(**model: Any) -> Run:
    """It writes characters, at most 50 of them in view."""
    tokenizer = CharacterTokenizer.learn(SENTENCES)
    sizes = {"family": "gpt2", "vocabulary": len(tokenizer), "max_positions": 50}
    return run_of(sizes | model, {TEXT: tokenizer}, tokenizer={"kind": "characters"}, decode={"beam": 2})


def reader(task: str, **model: Any) -> Run:
    """It reads up to 30 tokens, and fills in, classifies or tags."""
    tokenizer = TextTokenizer.learn(SENTENCES * 5, size=330)
    heads = {"fill": {}, "classify": {"fills": False, "classes": 4}, "tag": {"fills": False, "tags": 5}}[task]
    sizes = {"family": "bert", "vocabulary": len(tokenizer), "max_positions": 30, **heads}
    labels = ("calm", "glad", "sad", "wild", "none")
    return run_of(sizes | model, {TEXT: tokenizer}, train={"task": task}, data={"labels": labels})


def seer(**model: Any) -> Run:
    """It sees grey pictures of 8 × 12 pixels in six patches."""
    sizes = {"family": "vit", "picture": (8, 12), "patch": 4, "channels": 1, "classes": 5}
    return run_of(sizes | model, {}, data={"labels": ("ant", "bee", "cow", "dog", "elk")})


def judge(**model: Any) -> Run:
    """It sees grey pictures of 8 × 12 pixels in six patches, and tells which of four sentences each is like."""
    tokenizer = TextTokenizer.learn(SENTENCES * 5, size=330)
    sizes = {"family": "clip", "picture": (8, 12), "patch": 4, "channels": 1, "classes": 7, "max_positions": 30}
    labels = ("a wide street", "a dog", "a red circle", "an animal")
    return run_of(sizes | {"vocabulary": len(tokenizer)} | model, {TEXT: tokenizer}, data={"labels": labels})


def painter(**model: Any) -> Run:
    """It paints 8 × 12 pixels in six patterns and their colours after a text of twelve tokens."""
    text = TextTokenizer.learn(SENTENCES * 5, size=330)
    torch.manual_seed(3)
    image = ImageTokenizer(CodecConfig(height=8, width=12, channels=3, patch=4, codes=11, colours=5, hidden=6))
    sizes = {"family": "dalle", "text_vocabulary": len(text), "image_vocabulary": 16, "text_length": 12, "grid": (2, 6)}
    return run_of(sizes | model, {TEXT: text, IMAGE: image})


def photograph() -> np.ndarray:
    """In colour, and larger than the seer's pictures."""
    return np.random.default_rng(4).integers(0, 256, (16, 30, 3), dtype=np.uint8)
