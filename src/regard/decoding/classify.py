"""The verb classify: texts or pictures in, and of each the classes that it is likely to be of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data.batch import grouped
from regard.decoding.intake import Intake, intake, names_of
from regard.decoding.windows import AsTheyCome, in_windows
from regard.errors import ConfigError
from regard.run import Run

BUDGET = 16_384  # tokens or patches that are read at once
WINDOW = 256  # texts or files that are read before the first of them is answered


@dataclass(frozen=True)
class Classified:
    """A text or a picture, and the classes that it is likeliest to be of, the likeliest first."""

    given: str
    labels: tuple[str, ...]
    probabilities: tuple[float, ...]

    def __str__(self) -> str:
        both = zip(self.labels, self.probabilities, strict=True)
        return "\t".join([*(f"{label} {probability:.3f}" for label, probability in both), self.given])


def classify(run: Run, given: Iterable[str | Path | np.ndarray] | AsTheyCome, *, top: int = 1) -> Iterator[Classified]:
    """Of each text, or of each picture (a file, an .npz of several, or pixels), its `top` likeliest classes."""
    run.require("classify")
    if top < 1:
        raise ConfigError(f"top={top} should be at least 1")
    return answers(run, given if isinstance(given, AsTheyCome) else in_windows(given, WINDOW), top)


def inputs(run: Run, files: Sequence[str]) -> Iterable[Any] | AsTheyCome:
    """What files hold for a run: pictures one each, texts one a line; - is the lines of stdin, as they come."""
    run.require("classify", "match")
    return intake(run).inputs(files)


def answers(run: Run, windows: Iterable[list[Any]], top: int) -> Iterator[Classified]:
    takes, names = intake(run), names_of(run)
    for window in windows:
        shown, examples = takes.unlabelled(window)
        yield from likeliest(shown, logits_of(run, takes, examples), names, top)


def likeliest(shown: Sequence[str], logits: Tensor, names: tuple[str, ...], top: int) -> Iterator[Classified]:
    """Of each that is shown, the classes of the largest logits (N, classes)."""
    for name, row in zip(shown, logits.softmax(-1), strict=True):
        probabilities, places = row.topk(min(top, len(names)))
        yield Classified(name, tuple(names[place] for place in places.tolist()), tuple(probabilities.tolist()))


def logits_of(run: Run, takes: Intake, examples: Sequence[Any]) -> Tensor:
    """Of the class of each example, (N, classes), in their order."""
    return of_each(run, takes, examples, lambda *inputs: run.model.classify(run.model.states(*inputs)))


@torch.inference_mode()
def of_each(run: Run, takes: Intake, examples: Sequence[Any], say: Callable[..., Tensor]) -> Tensor:
    """What a network says of batches of examples, (N, classes), in their order."""
    run.model.eval()
    found = torch.zeros(len(examples), run.model.config.classes)
    for group in grouped(examples, BUDGET, range(len(examples))):
        batch = takes.collate([examples[place] for place in group]).to(run.device)
        found[group] = say(*batch.inputs).float().cpu()
    return found
