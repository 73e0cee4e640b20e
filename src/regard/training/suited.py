"""Settings that suit a corpus, a machine and a time, for whoever names no recipe."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

import torch

from regard.config import Settings, TrainConfig, validate
from regard.data.corpus import Pair


class Network(NamedTuple):
    """A size, from how many sentence pairs on it is worth it, and how often it should see each of them."""

    pairs: int
    epochs: int
    vocabulary: int
    batch: int
    sizes: dict[str, int]

    def work(self, tokens: float) -> float:
        """Floating-point operations of learning from so many target tokens: 6 for each number in a matrix."""
        width, hidden, layers = self.sizes["width"], self.sizes["hidden"], self.sizes["layers"]
        matrices = layers * (12 * width**2 + 4 * width * hidden) + width * self.vocabulary
        return 6 * matrices * tokens


SMALLEST = {"width": 128, "hidden": 512, "heads": 4, "layers": 3, "decoder_layers": 3}
NETWORKS = (
    Network(0, 10, 4000, 1024, SMALLEST),
    Network(10_000, 10, 8000, 1024, SMALLEST),
    Network(200_000, 8, 8000, 4096, {"width": 256, "hidden": 1024, "heads": 4, "layers": 4, "decoder_layers": 4}),
    Network(1_000_000, 5, 16_000, 8192, {"width": 512, "hidden": 2048, "heads": 8, "layers": 6, "decoder_layers": 6}),
)
EFFICIENCY = 0.5  # of what the machine multiplies in a second, that training makes use of
CHARACTERS = 4.3  # in a token, about
FEWEST = 1000  # steps
QUICKLY = 100_000  # sentences that the tokenizer learns from where time is short
LEARNING = {  # what benchmarks/ablation.py changes one at a time
    "optimizer": "muon",
    "learning_rate": 4e-3,
    "schedule": "stable",
    "start": "neighbours",
}


def suit(settings: Settings, pairs: Sequence[Pair], seconds: float | None = None) -> Settings:
    """The settings, with what they leave open filled in for these pairs; with a time, for what can be done in it."""
    tokens = sum(len(pair.target) for pair in pairs) / CHARACTERS + len(pairs)
    network = [each for each in NETWORKS if len(pairs) >= each.pairs][-1]
    epochs = float(network.epochs)
    if seconds is not None:
        power = EFFICIENCY * seconds * operations_a_second()
        while network.sizes is not SMALLEST and power < network.work(network.epochs / 2 * tokens):
            network = NETWORKS[NETWORKS.index(network) - 1]
        epochs = power / network.work(tokens)
    given = settings.train.model_dump(include=settings.train.model_fields_set)
    batch = given.get("batch_tokens", network.batch)
    often = paced(settings.train, max(FEWEST, round(epochs * tokens / batch)))
    return filled(
        settings,
        tokenizer={"size": network.vocabulary, "learn_from": 1_000_000 if seconds is None else QUICKLY},
        model={**network.sizes, "norm": "pre", "dropout": 0.1 if epochs < 40 else 0.2 if epochs < 100 else 0.3},
        train={**LEARNING, "weight_decay": 0.1, **often, "batch_tokens": batch},
    )


class Scale(NamedTuple):
    """A network for plain text, from how many characters on it is worth it, and what it reads them with."""

    characters: int
    kind: str
    vocabulary: int
    block: int
    batch: int
    epochs: int
    sizes: dict[str, int]

    def tokens(self, characters: int) -> float:
        return characters / (1.0 if self.kind == "characters" else CHARACTERS)

    def work(self, tokens: float) -> float:
        """Floating-point operations of learning from so many tokens: 6 for each number in a matrix."""
        width, hidden, layers = self.sizes["width"], self.sizes["hidden"], self.sizes["layers"]
        return 6 * (layers * (4 * width**2 + 2 * width * hidden) + width * self.vocabulary) * tokens


SCALES = (
    Scale(0, "characters", 330, 128, 2048, 20, {"width": 128, "hidden": 512, "heads": 4, "layers": 4}),
    Scale(5_000_000, "unigram", 8000, 256, 8192, 5, {"width": 256, "hidden": 1024, "heads": 8, "layers": 6}),
    Scale(100_000_000, "unigram", 16_000, 512, 16_384, 2, {"width": 512, "hidden": 2048, "heads": 8, "layers": 8}),
)
READERS = (  # for networks that read both ways
    Scale(0, "unigram", 4000, 128, 4096, 20, {"width": 128, "hidden": 512, "heads": 4, "layers": 4}),
    Scale(5_000_000, "unigram", 8000, 256, 8192, 10, {"width": 256, "hidden": 1024, "heads": 4, "layers": 6}),
    Scale(100_000_000, "unigram", 16_000, 512, 16_384, 3, {"width": 512, "hidden": 2048, "heads": 8, "layers": 8}),
)


def suit_text(
    settings: Settings,
    characters: int,
    seconds: float | None = None,
    scales: Sequence[Scale] = SCALES,
    **model: Any,
) -> Settings:
    """The same for a network of plain text, and so many characters to learn from; keywords are settings of it."""
    scale = [each for each in scales if characters >= each.characters][-1]
    epochs = float(scale.epochs)
    if seconds is not None:
        power = EFFICIENCY * seconds * operations_a_second()
        while scale is not scales[0] and power < scale.work(scale.epochs / 2 * scale.tokens(characters)):
            scale = scales[scales.index(scale) - 1]
        epochs = power / scale.work(scale.tokens(characters))
    given = settings.train.model_dump(include=settings.train.model_fields_set)
    batch = given.get("batch_tokens", scale.batch)
    often = paced(settings.train, max(FEWEST, round(epochs * scale.tokens(characters) / batch)))
    dropout = 0.0 if epochs < 5 else 0.1  # what is seen so seldom is not learned by heart
    return filled(
        settings,
        data={"block": scale.block},
        tokenizer={"kind": scale.kind, "size": scale.vocabulary},
        model={**scale.sizes, "position": "rotary", "max_positions": scale.block, "dropout": dropout, **model},
        train={**LEARNING, "start": "random", "label_smoothing": 0.0, **often, "batch_tokens": batch},
    )


def paced(train: TrainConfig, steps: int) -> dict[str, int]:
    """How long to train, to warm up, and until each validation: so many steps, or as many as were given."""
    if "steps" in train.model_fields_set:
        return {"warmup": train.warmup, "validate_every": max(1, train.steps // 8)}
    return {"steps": steps, "warmup": steps // 20, "validate_every": max(1, steps // 8)}


def filled(settings: Settings, **sections: dict[str, Any]) -> Settings:
    """The settings with these values, but for those that were given."""
    whole = settings.model_dump()
    for name, values in sections.items():
        section = getattr(settings, name)
        whole[name] |= values | section.model_dump(include=section.model_fields_set)
    return validate(Settings, whole, "settings")


def operations_a_second(size: int = 512, measured: float = 0.3) -> float:
    """What the machine multiplies in a second: the best of matmuls of two square matrices."""
    a, b = torch.rand(size, size), torch.rand(size, size)
    best, until = 0.0, perf_counter() + measured
    while perf_counter() < until:
        began = perf_counter()
        torch.mm(a, b)
        best = max(best, 2 * size**3 / (perf_counter() - began))
    return best
