"""Which number format to compute in, and how it is known to work here."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from regard.errors import ConfigError, DeviceError
from regard.trial import FailedTrialError
from regard.trial import trial as run_trial

PRECISIONS = ("auto", "float32", "bfloat16", "float16")
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
GAIN = 1.2  # how many times as fast bfloat16 must be on a CPU before auto gives up float32's digits for it
PATIENCE = 60.0  # seconds for the trial, most of which go into importing torch

# Run by a Python of its own, given a width and a number of threads: training steps of a small translator, in both
# formats by turns, for two seconds or one slow step. Its last line is how many times as fast bfloat16 was.
TRIAL = """
import math, sys, time, torch
from regard.config import TrainConfig, TranslatorConfig
from regard.data.batch import Example, collate
from regard.model.translator import Translator
from regard.precision import Precision
from regard.training.learner import Learner
from regard.training.objective import Translating

width, threads = int(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(threads)
torch.manual_seed(0)
heads = next(count for count in range(1, width + 1) if width % count == 0 and width // count <= 64)
sizes = {"width": width, "hidden": 4 * width, "heads": heads, "layers": 1, "decoder_layers": 1}
network = TranslatorConfig(source_vocabulary=2000, target_vocabulary=2000, norm="pre", **sizes)
settings = TrainConfig(optimizer="muon")
batch = collate([Example(list(range(4, 24)), list(range(4, 22)))] * 25 * min(threads, 16))

def learner(name):
    return Learner(Translator(network), settings, Precision(name, torch.device("cpu"), ""), Translating(settings))

def step(learner):
    began = time.perf_counter()
    taken = learner.step([batch], rate=1e-4)
    assert math.isfinite(taken.surprise) and math.isfinite(taken.gradient), "not finite"
    return time.perf_counter() - began

low, full = learner("bfloat16"), learner("float32")
slow = max(step(low), step(full)) > 1  # so slow a step needs no second look
seconds, until = [], time.perf_counter() + 2
while not seconds or not slow and len(seconds) < 15 and time.perf_counter() < until:
    seconds.append((step(full), step(low)))
full, low = (sorted(each)[len(each) // 2] for each in zip(*seconds))
print(full / low)
"""


@dataclass(frozen=True)
class Precision:
    """The format that matmuls are computed in on a device; parameters and their sums stay in float32."""

    name: str
    device: torch.device
    why: str  # one clause, to be printed beside the name

    @property
    def dtype(self) -> torch.dtype:
        return DTYPES[self.name]

    @property
    def scaled(self) -> bool:
        """Whether small gradients vanish unless the loss is scaled up before backward."""
        return self.dtype is torch.float16

    def autocast(self) -> AbstractContextManager:
        """The context for forward passes and losses; backward and the optimizer stay outside."""
        return nullcontext() if self.name == "float32" else torch.autocast(self.device.type, self.dtype)

    def scaler(self) -> torch.amp.GradScaler:
        """scale, unscale_, step and update for the optimizer; where nothing is scaled it passes everything through."""
        return torch.amp.GradScaler(self.device.type, enabled=self.scaled)


def choose(
    name: str, device: torch.device, width: int, trial: str | None = None, patience: float = PATIENCE
) -> Precision:
    """The precision of that name if it works on the device; auto takes the fastest that does.

    On a CPU bfloat16 is tried at the model's width in a process of its own first: some machines kill the process that
    uses it. CUDA is written as torch's documentation has it and has not been tried on a GPU.
    """
    if name not in PRECISIONS:
        raise ConfigError(f"precision {name!r} is unknown: choose from {', '.join(PRECISIONS)}")
    if name == "float32":
        return Precision(name, device, "as asked")
    match device.type:
        case "cuda":
            return on_cuda(name, device)
        case "cpu":
            return on_cpu(name, device, width, trial, patience)
        case other if name == "auto":
            return Precision("float32", device, f"nothing else has been tried on {other}")
        case other:
            raise ConfigError(f"precision {name} is not offered on {other}: choose auto or float32")


def on_cuda(name: str, device: torch.device) -> Precision:
    native = torch.cuda.is_bf16_supported(including_emulation=False)
    if name == "bfloat16" and not native:
        raise DeviceError("this GPU does not compute in bfloat16: choose --precision auto or float16")
    if name != "auto":
        return Precision(name, device, "as asked")
    if native:
        return Precision("bfloat16", device, "this GPU computes in it")
    return Precision("float16", device, "this GPU does not compute in bfloat16")


def on_cpu(name: str, device: torch.device, width: int, trial: str | None, patience: float) -> Precision:
    if name == "float16":
        raise ConfigError("precision float16 is for GPUs alone: choose auto, bfloat16 or float32 on a CPU")
    if name == "auto" and trial is None and not may_gain(torch.cpu.get_capabilities()):
        return Precision("float32", device, "this CPU has no instructions for bfloat16")
    gain = tried(width, TRIAL if trial is None else trial, patience)
    if isinstance(gain, str):
        if name == "bfloat16":
            raise DeviceError(f"bfloat16 does not work on this CPU, {gain}: choose --precision auto or float32")
        return Precision("float32", device, gain)
    pace = f"is {gain:.2f} × as fast" if gain >= 1 else f"takes {1 / gain:.2f} × as long"
    measured = f"bfloat16 {pace} on this CPU at width {width}"
    if name == "bfloat16":
        return Precision(name, device, f"as asked; {measured}")
    if gain < GAIN:
        return Precision("float32", device, f"{measured}, and {GAIN} × as fast is asked of it")
    return Precision("bfloat16", device, measured)


def may_gain(cpu: Mapping[str, Any]) -> bool:
    """Whether bfloat16 may be faster than float32: an x86 without instructions for it spares itself the trial."""
    return cpu.get("architecture") != "x86_64" or bool(cpu.get("avx512_bf16") or cpu.get("amx_bf16"))


def tried(width: int, trial: str, patience: float) -> float | str:
    """How many times as fast as float32 bfloat16 is, or a clause that says how the trial of it failed."""
    try:
        printed = run_trial(trial, width, torch.get_num_threads(), patience=patience)
    except FailedTrialError as failed:
        return f"a trial of bfloat16 {failed}"
    try:
        gain = float(printed.split()[-1])
    except (IndexError, ValueError):
        gain = 0.0
    return gain if gain > 0 else "a trial of bfloat16 ended without a result"
