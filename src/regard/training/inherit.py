"""Starting from another run: its tokenizer, its network where none is named, and of its parameters all that fit.

BERT ──▶ a classifier, a tagger       BART ──▶ a translator       a teacher ──▶ a student with half the layers
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from regard.config import ModelConfig, Settings, validate
from regard.console import say
from regard.errors import ConfigError
from regard.run import Run, load, read_settings, task_of, vocabularies

BLOCK = re.compile(r"(.*\bblocks\.)(\d+)(\..*)")
OWN = {"sampling"}  # what a tokenizer that is taken over may be told anew
OF_ITS_TASK = {"fills", "classes", "tags"}  # the heads of a network: the next one has those of its own task


def like_its_parent(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they are written, with the tokenizer and the network of the run that they start from.

    What is written there stays as it is, of the tokenizer how it cuts words anew; a student has half of its teacher's
    layers. Where another family is named, it keeps what sets the two apart.
    """
    train = given.get("train")
    named = train if isinstance(train, Mapping) else {}
    folder = named.get("start_from") or named.get("teacher")
    if (
        not folder
        or not isinstance(folder, str)
        or not all(isinstance(given.get(part, {}), Mapping) for part in ("model", "data", "tokenizer"))
    ):
        return dict(given)  # nothing to start from; or no settings at all, which validation will say
    parent = read_settings(Path(folder))
    network = parent.model.model_dump(exclude=OF_ITS_TASK & type(parent.model).model_fields.keys())
    if not named.get("start_from"):
        network["layers"] = max(1, parent.model.layers // 2)
    asked, cut = given.get("model", {}), given.get("tokenizer", {})
    if asked.get("family", parent.model.family) != parent.model.family:
        own = type(validate(Settings, {"model": {"family": asked["family"]}}, "settings").model)
        network = {name: value for name, value in network.items() if alike(name, type(parent.model), own)}
    return {
        **given,
        "tokenizer": parent.tokenizer.model_dump() | {key: cut[key] for key in OWN & cut.keys()},
        "model": {**network, **asked},
        "data": {"block": parent.data.block, **given.get("data", {})},
    }


def alike(name: str, one: type[ModelConfig], other: type[ModelConfig]) -> bool:  # pyright: ignore[reportInvalidTypeForm]
    """Whether two families have a setting in common, and the same default for it."""
    mine, its = one.model_fields.get(name), other.model_fields.get(name)
    return bool(mine and its and mine.default == its.default)


def parent_of(settings: Settings) -> Run | None:
    """The run that a new one of these settings starts from."""
    train, task = settings.train, task_of(settings)
    if train.teacher and task != "fill":
        raise ConfigError(
            f"train.teacher={train.teacher} teaches to fill in words, and train.task={task} is another task: leave it "
            "out, or start from it with train.start_from"
        )
    folder = train.start_from or train.teacher
    return load(folder, on="cpu") if folder else None


def adopted(settings: Settings, parent: Run) -> tuple[Settings, dict[str, Any]]:
    """The settings with the parent's tokenizer, and that for each vocabulary."""
    first = next(iter(parent.tokenizers.values()), None)  # pictures may have none
    tokenizers = {role: parent.tokenizers.get(role, first) for role in vocabularies(settings.model)}
    told = settings.tokenizer.model_dump(include=OWN & settings.tokenizer.model_fields_set)
    return settings.model_copy(update={"tokenizer": parent.settings.tokenizer.model_copy(update=told)}), tokenizers


def inherit(run: Run, parent: Run) -> None:
    """Give the run's network every parameter of its parent's that has its name and its shape, and say what is new.

    A network of fewer layers takes them evenly from its parent's: one of half as many, every other one.
    """
    theirs = dict(parent.model.named_parameters())
    deep, shallow = depths(parent), depths(run)
    new, taken = list[str](), 0
    with torch.no_grad():
        for name, parameter in run.model.named_parameters():
            its = theirs.get(origin(name, shallow, deep))
            if its is not None and its.shape == parameter.shape:
                parameter.copy_(its)
                taken += parameter.numel()
            else:
                new.append(name)
    if not taken:
        raise ConfigError(
            f"{parent.folder} has no parameter that fits this network: leave its sizes out, and they are as there"
        )
    parts = ", ".join(dict.fromkeys(name.split(".")[0] for name in new)) or "nothing"
    say(f"starting from {parent.folder}: {taken:,} of {run.size:,} parameters taken over; new: {parts}")


def depths(run: Run) -> dict[str, int]:
    """How many blocks each stack has, by what its parameters' names begin with."""
    found: dict[str, int] = {}
    for name, _ in run.model.named_parameters():
        if match := BLOCK.fullmatch(name):
            found[match[1]] = max(found.get(match[1], 0), int(match[2]) + 1)
    return found


def origin(name: str, own: Mapping[str, int], theirs: Mapping[str, int]) -> str:
    """The parameter of the parent that one of this name starts from."""
    match = BLOCK.fullmatch(name)
    if not match or theirs.get(match[1], 0) <= own[match[1]]:
        return name
    stack, number, rest = match.groups()
    return f"{stack}{int(number) * theirs[stack] // own[stack]}{rest}"
