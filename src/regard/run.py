"""A run: settings, tokenizers and model, to and from one folder. Nothing in it is pickled, nothing in it can run code.

config.json         every setting, resolved, with the folder's format number
model.safetensors   the parameters
tokenizer.model     one vocabulary for both sides, or source.model and target.model
README.md           the model card
confidence.json     what its scores are worth, and alignment.json, which heads align
metrics.jsonl       what was measured while it trained, and curve.png, its picture
checkpoints/        what training can be taken up from
engines/            the same model for faster runtimes, made when they are first used
origin/             of an imported run, what the way back needs
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from regard import device, languages
from regard.config import FORMAT, Settings, to_json, validate
from regard.errors import RunError
from regard.languages import Source
from regard.model import FAMILIES, build, parameters
from regard.model.translator import Translator
from regard.tokens.text import EOS, TextTokenizer

CONFIG, PARAMETERS = "config.json", "model.safetensors"
JOINT, SOURCE, TARGET = "tokenizer.model", "source.model", "target.model"


@dataclass
class Run:
    settings: Settings
    source_tokenizer: TextTokenizer
    target_tokenizer: TextTokenizer  # the same object where the vocabulary is joint
    model: Translator
    folder: Path | None = None
    engines: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)  # at work for it on other runtimes
    source_language: str | None = None  # of what it reads, where it must be told: see `reading`

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def size(self) -> int:
        """How many numbers were learned."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def reading(self, language: str | None) -> Run:
        """The same run, told the language of what it reads; None for a run that need not be told."""
        languages.check_source(self.settings.data, language)
        return replace(self, source_language=language)

    def encode_source(self, text: str, to: str | None = None, sampling: float = 0.0) -> list[int]:
        """The ids that the encoder reads, and their lead: a language's tag, if the run has several; the text; EOS."""
        return Source([*self.tag(to), *self.source_tokenizer.encode(text, sampling), EOS], self.lead(to))

    def encode_target(self, text: str, sampling: float = 0.0) -> list[int]:
        return [*self.target_tokenizer.encode(text, sampling), EOS]

    def tag(self, to: str | None) -> list[int]:
        """What opens a source sentence to be translated into a language."""
        told = languages.before_source(self.settings.data, self.source_language, to)
        return [self.source_tokenizer.tag(language) for language in told]

    def lead(self, to: str | None) -> list[int]:
        """What leads its translation, for a network that is told there."""
        return [self.target_tokenizer.tag(language) for language in languages.before_target(self.settings.data, to)]

    def way(self, to: str | None) -> tuple[str | None, str | None]:
        """The languages that a translation goes from and to, as far as their names are known."""
        return languages.way(self.settings.data, self.source_language, to)

    def save(self, folder: Path) -> None:
        self.save_description(folder)
        parameters.save(self.model, folder / PARAMETERS)
        self.folder = folder

    def save_description(self, folder: Path) -> None:
        """Settings and tokenizers: what is known before the first step of training."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CONFIG).write_text(to_json(self.settings), encoding="utf-8")
        if self.settings.tokenizer.joint:
            self.source_tokenizer.save(folder / JOINT)
        else:
            self.source_tokenizer.save(folder / SOURCE)
            self.target_tokenizer.save(folder / TARGET)


def load(folder: str | Path, on: str = "auto") -> Run:
    """The run in a folder, ready to translate, on a device: auto, cpu, cuda or mps."""
    folder = Path(folder)
    settings = read_settings(folder)
    source, target = load_tokenizers(settings, folder)
    chosen = device.choose(on)
    model = build_as_saved(settings, folder / PARAMETERS)
    return Run(settings, source, target, model.to(chosen).eval(), folder)


def read_settings(folder: Path) -> Settings:
    path = folder / CONFIG
    if not path.is_file():
        raise RunError(f"{folder} is not a run folder: it has no {CONFIG}; give the folder that regard train wrote")
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read: {error}") from None
    if not isinstance(given, dict) or not isinstance(given.get("format"), int):
        raise RunError(f"{path} is not the configuration of a run: it has no format number")
    if given["format"] > FORMAT:
        raise RunError(
            f"{folder} has format {given['format']} and this regard reads up to {FORMAT}: update regard to at least "
            f"{given.get('version', 'the version that wrote it')}"
        )
    model = given.get("model")
    family = model.get("family", "translator") if isinstance(model, dict) else "translator"
    if family not in FAMILIES:
        raise RunError(
            f"{folder} holds a run of the family {family!r}, and this regard knows {', '.join(FAMILIES)}: "
            "update regard, or give another run"
        )
    return validate(Settings, given, str(path))


def load_tokenizers(settings: Settings, folder: Path) -> tuple[TextTokenizer, TextTokenizer]:
    if settings.tokenizer.joint:
        joint = TextTokenizer.load(folder / JOINT)
        return joint, joint
    return TextTokenizer.load(folder / SOURCE), TextTokenizer.load(folder / TARGET)


def build_as_saved(settings: Settings, path: Path) -> Translator:
    """The model of the settings with the parameters of a file, whose header must first show the model's shapes."""
    try:
        with torch.device("meta"):  # takes no memory, whatever sizes the settings claim
            expected = parameters.shapes(build(settings.model))
        if (found := parameters.shapes_in(path)) != expected:
            name, shape = min(found.items() ^ expected.items())
            raise RunError(f"{path} does not hold the model that {CONFIG} describes: see {name}, {shape}")
        model = build(settings.model)
        parameters.load(model, path)
    except FileNotFoundError:
        raise RunError(
            f"{path.parent} has no {path.name}: training has not finished; regard train --resume goes on"
        ) from None
    except (OSError, SafetensorError, RuntimeError) as error:
        raise RunError(f"{path} cannot be read as the model's parameters: {str(error).splitlines()[0]}") from None
    return model
