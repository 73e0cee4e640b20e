"""The parameters in a folder that comes from elsewhere: safetensors alone, the header before the numbers."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from regard.errors import RunError
from regard.exchange.folder import inside
from regard.run import PARAMETERS

TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


class Stored:
    """A folder's parameters: what their header says, and each of them when it is asked for."""

    def __init__(self, folder: Path):
        self.path = parameter_file(folder)
        try:
            with safe_open(self.path, framework="pt") as file:
                slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
                self.shapes = {name: tuple(each.get_shape()) for name, each in slices.items()}
                self.types = {name: each.get_dtype() for name, each in slices.items()}
                self.metadata: dict[str, str] = file.metadata() or {}
        except (OSError, SafetensorError) as error:
            raise self.unreadable(error) from None

    def load(self, name: str) -> Tensor:
        return self.raw(name).float()

    def raw(self, name: str) -> Tensor:
        """As it lies there, whole numbers and half precision too."""
        try:
            with safe_open(self.path, framework="pt") as file:
                return file.get_tensor(name)
        except (OSError, SafetensorError) as error:
            raise self.unreadable(error) from None

    def unreadable(self, error: Exception) -> RunError:
        return RunError(f"{self.path} cannot be read as parameters: {str(error).splitlines()[0]}")


def parameter_file(folder: Path) -> Path:
    path = inside(folder, PARAMETERS)
    if path.is_file():
        return path
    if inside(folder, f"{PARAMETERS}.index.json").is_file():
        raise RunError(f"{folder} has its parameters in several files: save it again as one {PARAMETERS}")
    if any(folder.glob("*.bin")):
        raise RunError(
            f"{folder} has its parameters pickled in a .bin file, which could run code: save it as {PARAMETERS} first, "
            "with save_pretrained of transformers"
        )
    raise RunError(f"{folder} has no {PARAMETERS}: give the folder that save_pretrained of transformers wrote")
