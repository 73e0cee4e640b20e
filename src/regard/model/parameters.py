"""Parameters to and from a safetensors file, each once under one name, however often the model ties it."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn


def save(model: nn.Module, path: Path) -> None:
    save_file({name: parameter.detach().cpu().contiguous() for name, parameter in model.named_parameters()}, path)


def load(model: nn.Module, path: Path) -> None:
    put(model, load_file(path))


def put(model: nn.Module, parameters: dict[str, Tensor]) -> None:
    """Overwrite the model's parameters with these, which must be all of them."""
    own = dict(model.named_parameters())
    if own.keys() != parameters.keys():
        raise ValueError(f"it does not hold the model: {min(own.keys() ^ parameters.keys())} is missing or too much")
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(parameters[name])


def versions(model: nn.Module) -> tuple[int, ...]:
    """What changes as soon as a parameter does: which tensor each is, and how often that was written to."""
    return tuple(number for parameter in model.parameters() for number in (parameter.data_ptr(), parameter._version))


def shapes(model: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}


def shapes_in(path: Path) -> dict[str, tuple[int, ...]]:
    """What the file's header says it holds; nothing else of it is read."""
    with safe_open(path, framework="pt") as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
