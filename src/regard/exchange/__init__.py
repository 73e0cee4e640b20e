"""Other runtimes' formats, out and in: a run as a folder of theirs, and a folder of theirs as a run."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.run import Run

FORMATS = {
    "huggingface": "regard.exchange.huggingface",
    "ctranslate2": "regard.exchange.ctranslate2",
    "onnx": "regard.exchange.onnx",
}


def export(run: Run, format: str, out: str | Path, precision: str = "float32") -> Path:
    """Write the run as a new folder that another runtime loads: huggingface, ctranslate2 or onnx."""
    if format not in FORMATS:
        raise ConfigError(f"format {format!r} is unknown: choose from {', '.join(FORMATS)}")
    import_module(FORMATS[format]).export(run, Path(out), precision)
    return Path(out)


def adopt(folder: str | Path, out: str | Path) -> Run:
    """Take a Hugging Face folder in as a new run: a translator, BART, BERT, RoBERTa, DistilBERT, GPT, GPT-2 or ViT."""
    from regard.exchange import adoption

    return adoption.adopt(Path(folder), Path(out))
