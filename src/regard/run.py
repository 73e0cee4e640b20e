"""A run: settings, model and tokenizers, to and from one folder. Nothing in it is pickled, nothing in it can run code.

config.json         every setting, resolved, with the folder's format number
model.safetensors   the parameters
tokenizer.model     one vocabulary for all text, or source.model and target.model; tokenizer.json, of characters or
                    as a folder of Hugging Face's had it
image/              of a run that paints, the codec that makes ids of pictures and pictures of ids
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
from typing import Any, NamedTuple, cast

import torch
from safetensors import SafetensorError
from torch import nn

from regard import device, languages
from regard.config import FORMAT, ModelConfig, Settings, TranslatorConfig, to_json, validate
from regard.errors import ConfigError, RunError
from regard.languages import Source
from regard.model import FAMILIES, build, parameters
from regard.tokens.characters import CharacterTokenizer
from regard.tokens.image import ImageTokenizer
from regard.tokens.imported import ImportedTokenizer
from regard.tokens.lines import Lines, Writer
from regard.tokens.text import EOS, TextTokenizer

CONFIG, PARAMETERS = "config.json", "model.safetensors"
VOCABULARY = "vocabulary"  # how the settings end that say how many ids a network knows
TEXT = "text"  # the role of a tokenizer that reads and writes all there is
IMAGE = "image"  # the role of one that reads and writes pictures, and the folder it is kept in
SUBWORDS = ".model", TextTokenizer.load
KEPT = {  # of other kinds of tokenizers: how a file of them ends, and what reads it
    "characters": (".json", CharacterTokenizer.load),
    "imported": (".json", ImportedTokenizer.load),
}


class Use(NamedTuple):
    """What a run of a task does, in words, and the verb that lets it."""

    does: str
    does_not: str
    verb: str


USES = {
    "translate": Use("translates", "does not translate", "translate"),
    "denoise": Use("restores text", "does not restore text", "translate"),
    "write": Use("writes text", "does not write text", "generate"),
    "paint": Use("paints", "does not paint", "generate"),
    "fill": Use("fills in words", "does not fill in words", "fill"),
    "classify": Use("tells classes apart", "does not tell classes apart", "classify"),
    "tag": Use("tags words", "does not tag words", "tag"),
    "match": Use("compares pictures with captions", "does not compare pictures with captions", "classify"),
}

HEADS = {"fill": "fills", "classify": "classes", "tag": "tags"}  # the setting that says whether a network has one


@dataclass
class Run:
    """A network of any family, and what its ids mean: a tokenizer for each vocabulary that it has.

    A translator's tokenizers are "source" and "target", one object where the vocabulary is joint; a network of one
    text has "text", and one that writes pictures "image" beside it.
    """

    settings: Settings
    model: Any  # of the class that FAMILIES has for settings.model.family
    tokenizers: dict[str, Any]
    folder: Path | None = None
    engines: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)  # at work for it on other runtimes
    source_language: str | None = None  # of what it reads, where it must be told: see `reading`
    kept: tuple[int, ...] = field(default=(), repr=False, compare=False)  # the state of the network that its folder has

    @property
    def task(self) -> str:
        """What it was trained for."""
        return task_of(self.settings)

    def require(self, *tasks: str) -> None:
        """Refuse, in a sentence that says what this run is for, to do what runs of these tasks do."""
        if self.task not in tasks:
            use, name = USES[self.task], self.folder or "this run"
            raise RunError(
                f"{name} {use.does} and {USES[tasks[0]].does_not}: try regard {use.verb} {self.folder or 'RUN'}"
            )
        if (head := HEADS.get(self.task)) and not getattr(self.settings.model, head):
            raise RunError(
                f"{self.folder or 'this run'} was imported without a head, and {USES[self.task].does_not}: teach it "
                f"with regard train --set train.start_from={self.folder or 'RUN'}"
            )

    @property
    def translator(self) -> TranslatorConfig:
        """The settings of a network that translates."""
        self.require("translate", "denoise")
        return cast(TranslatorConfig, self.settings.model)

    @property
    def source_tokenizer(self) -> TextTokenizer:
        self.require("translate", "denoise")
        return self.tokenizers["source"]

    @property
    def target_tokenizer(self) -> TextTokenizer:
        self.require("translate", "denoise")
        return self.tokenizers["target"]

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def is_as_kept(self) -> bool:
        """Whether the network is the one of its folder: no parameter has been changed since, and nothing is hooked."""
        hooked = any(module._forward_hooks or module._forward_pre_hooks for module in self.model.modules())
        return self.kept == parameters.versions(self.model) and not hooked

    @property
    def size(self) -> int:
        """How many numbers were learned."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def writer(self) -> Writer:
        """What a network that writes text reads and writes it with."""
        self.require("write")
        tokenizer = self.tokenizers[TEXT]
        return Lines(tokenizer) if isinstance(tokenizer, TextTokenizer) else tokenizer

    @property
    def parted(self) -> bool:
        """Whether its texts begin and end, so that <s> is where one begins; or else it is anywhere in a text."""
        return self.settings.data.documents != "files"

    @property
    def window(self) -> int:
        """How many tokens a network that writes text sees at once."""
        return self.settings.data.block or self.model.config.max_positions

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
        self.require("translate", "denoise")
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
        self.folder, self.kept = folder, parameters.versions(self.model)

    def save_description(self, folder: Path) -> None:
        """Settings and tokenizers: what is known before the first step of training."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CONFIG).write_text(to_json(self.settings), encoding="utf-8")
        for name, role in {file_of(role, self.settings): role for role in self.tokenizers}.items():
            self.tokenizers[role].save(folder / name)


def load(folder: str | Path, on: str = "auto") -> Run:
    """The run in a folder, ready to use, on a device: auto, cpu, cuda or mps."""
    folder = Path(folder)
    settings = read_settings(folder)
    tokenizers = load_tokenizers(settings, folder)
    chosen = device.choose(on)
    model = build_as_saved(settings, folder / PARAMETERS).to(chosen).eval()
    return Run(settings, model, tokenizers, folder, kept=parameters.versions(model))


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


def task_of(settings: Settings) -> str:
    """What a run of these settings is trained for: what they name, or what its family is mostly used for."""
    known = FAMILIES[settings.model.family].tasks
    task = settings.train.task or known[0]
    if task not in known:
        raise ConfigError(
            f"train.task={task} is nothing that the family {settings.model.family} can learn: "
            f"choose {' or '.join(known)}"
        )
    return task


def vocabularies(model: ModelConfig) -> dict[str, str]:
    """The roles of a network's tokenizers, and the settings that say how many ids each has."""
    settings = [name for name in type(model).model_fields if name.endswith(VOCABULARY)]
    return {name.removesuffix(VOCABULARY).strip("_") or TEXT: name for name in settings}


def file_of(role: str, settings: Settings) -> str:
    """The file of the tokenizer in a role, or its folder."""
    if role == IMAGE:
        return IMAGE
    stem = "tokenizer" if role == TEXT or settings.tokenizer.joint else role
    ending, _ = KEPT.get(settings.tokenizer.kind, SUBWORDS)
    return stem + ending


def load_tokenizers(settings: Settings, folder: Path) -> dict[str, Any]:
    files = {role: folder / file_of(role, settings) for role in vocabularies(settings.model)}
    _, load = KEPT.get(settings.tokenizer.kind, SUBWORDS)
    loaded = {path: (load if path.suffix else ImageTokenizer.load)(path) for path in dict.fromkeys(files.values())}
    return {role: loaded[path] for role, path in files.items()}


def build_as_saved(settings: Settings, path: Path) -> nn.Module:
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
