"""A tiny run that was never trained, in memory."""

from __future__ import annotations

import pytest
import torch

from regard.config import Settings
from regard.model import build
from regard.run import Run
from regard.tokens.text import TextTokenizer

SENTENCES = (
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
    "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
    "Où est la forêt ? Elle coûte 10 $, très loin.",
)


@pytest.fixture(scope="session")
def tokenizer() -> TextTokenizer:
    return TextTokenizer.learn(SENTENCES * 5, size=400, languages=("en", "fr"))


@pytest.fixture
def run(tokenizer) -> Run:
    """Sizes that all differ; two layers that read and four that write."""
    torch.manual_seed(5)
    model = {"width": 12, "heads": 3, "hidden": 20, "layers": 2, "decoder_layers": 4, "dropout": 0.3}
    vocabulary = {"source_vocabulary": len(tokenizer), "target_vocabulary": len(tokenizer)}
    data = {"languages": ("en", "fr"), "both_ways": True}
    settings = Settings.model_validate({"data": data, "model": model | vocabulary, "decode": {"beam": 2}})
    network = build(settings.model).eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.endswith("qkv.weight"):
                parameter.mul_(4)  # so that no two weights are near each other
    return Run(settings, network, {"source": tokenizer, "target": tokenizer})
