"""Which device to compute on."""

from __future__ import annotations

import torch

from regard.errors import DeviceError

DEVICES = ("auto", "cpu", "cuda", "mps")


def choose(name: str = "auto") -> torch.device:
    """The device of that name if the machine has it; auto takes a GPU where there is one."""
    present = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = next(device for device in ("cuda", "mps", "cpu") if present[device])
    if name not in present:
        raise DeviceError(f"device {name!r} is unknown: choose from {', '.join(DEVICES)}")
    if not present[name]:
        raise DeviceError(f"this machine has no {name} device that torch can use: try --device auto")
    return torch.device(name)
