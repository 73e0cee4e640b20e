"""What training can be taken up from: parameters, optimizer, random state and place in the data, and nothing pickled.

    checkpoints/00001500/model.safetensors       the parameters
                         learner.safetensors     the optimizer's moments of each, and torch's random state
                         state.json              step, place in the data, validation figures so far

A checkpoint is written under another name and renamed when whole, so that one that can be seen is complete.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from regard.config import TrainConfig
from regard.data.batch import Place
from regard.model import parameters
from regard.training.learner import Learner

FOLDER = "checkpoints"


@dataclass
class Progress:
    """Where training stands. `history` has (step, figure) of each validation, a smaller figure being better."""

    step: int = 0
    tokens: int = 0  # target tokens learned from
    place: Place = field(default_factory=Place)
    history: list[tuple[int, float]] = field(default_factory=list)

    @property
    def best(self) -> int:
        """The step of the best validation so far; where there was none, the last step."""
        return min(self.history, key=lambda entry: entry[1])[0] if self.history else self.step

    @property
    def since_best(self) -> int:
        """Validations since the best one."""
        return sum(step > self.best for step, _ in self.history)


def path_of(run: Path, step: int) -> Path:
    return run / FOLDER / f"{step:08d}"


def steps(run: Path) -> list[int]:
    """The steps of the whole checkpoints there are, in order."""
    return sorted(int(path.name) for path in (run / FOLDER).glob("[0-9]*") if path.name.isdigit())


def save(run: Path, progress: Progress, learner: Learner) -> None:
    final = path_of(run, progress.step)
    part = final.with_name(f"{final.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    parameters.save(learner.model, part / "model.safetensors")
    save_file({**learner.state(), **random_state()}, part / "learner.safetensors")
    (part / "state.json").write_text(json.dumps(asdict(progress)))
    shutil.rmtree(final, ignore_errors=True)
    part.rename(final)


def load(run: Path, step: int, learner: Learner) -> Progress:
    """Put learner and random numbers back where they were after a step."""
    folder = path_of(run, step)
    parameters.load(learner.model, folder / "model.safetensors")
    tensors = load_file(folder / "learner.safetensors")
    restore_random_state(tensors)
    learner.restore(tensors)
    saved = json.loads((folder / "state.json").read_text())
    history = [(step, figure) for step, figure in saved["history"]]
    return Progress(saved["step"], saved.get("tokens", 0), Place(**saved["place"]), history)


def random_state() -> dict[str, Tensor]:
    states = {"random.cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["random.cuda"] = torch.cuda.get_rng_state()
    return states


def restore_random_state(tensors: dict[str, Tensor]) -> None:
    torch.set_rng_state(tensors["random.cpu"])
    if "random.cuda" in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors["random.cuda"])


def prune(run: Path, progress: Progress, settings: TrainConfig) -> None:
    """Drop what no average can need any more: neither that of the chosen so far nor one yet to come."""
    needed = {*chosen(run, progress, settings), *steps(run)[-settings.average :]}
    for step in set(steps(run)) - needed:
        shutil.rmtree(path_of(run, step))


def chosen(run: Path, progress: Progress, settings: TrainConfig) -> list[int]:
    """The checkpoints whose mean becomes the model: the last `average` ones up to the best, or the best ones."""
    if settings.average_of == "best" and progress.history:
        ranked = sorted(progress.history, key=lambda entry: entry[1])[: settings.average]
        return sorted(step for step, _ in ranked)
    return [step for step in steps(run) if step <= progress.best][-settings.average :]


def mean(run: Path, chosen: Sequence[int], model: nn.Module) -> None:
    """Load into the model the mean of its parameters at these steps."""
    sums: dict[str, Tensor] = {}
    for step in chosen:
        for name, tensor in load_file(path_of(run, step) / "model.safetensors").items():
            sums[name] = sums[name] + tensor.double() if name in sums else tensor.double()
    parameters.put(model, {name: total / len(chosen) for name, total in sums.items()})
