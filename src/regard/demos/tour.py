"""What all tours have in common: where they are told, the seed that they are asked for, and what stays of them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from regard.config import Settings, validate
from regard.data import phrasebook
from regard.data.text import Prose


def teller() -> Console:
    return Console(highlight=False, soft_wrap=True)


def seeded(settings: dict[str, dict[str, Any]], seed: int) -> Settings:
    """The settings of a tour, with the seed that it is asked for."""
    return validate(Settings, {**settings, "train": {**settings["train"], "seed": seed}}, "demo")


def english(train: int, valid: int, seed: int) -> Prose:
    """So many sentences of the phrasebook to learn from, and so many others to watch it by; English alone."""
    sentences = phrasebook.phrases("train", train, seed), phrasebook.phrases("valid", valid)
    return Prose(*([phrase.english for phrase in part] for part in sentences))


def keep(findings: Any, folder: Path) -> None:
    """What a tour has measured, a dataclass, as `demo.json` of its run."""
    written = json.dumps(asdict(findings), indent=2, ensure_ascii=False)
    (folder / "demo.json").write_text(f"{written}\n", encoding="utf-8")
