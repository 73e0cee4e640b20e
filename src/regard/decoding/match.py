"""Pictures compared with captions: which of these says what each of those shows, and which of those shows it best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.data.image import resized
from regard.data.labelled import Picture
from regard.data.pictures import Pictures
from regard.decoding.classify import WINDOW, Classified, likeliest, of_each
from regard.decoding.intake import PictureIntake, TextIntake
from regard.decoding.windows import in_windows
from regard.errors import ConfigError, DataError
from regard.run import Run


def match(
    run: Run, given: Iterable[str | Path | np.ndarray], captions: Sequence[str] = (), *, top: int = 1
) -> Iterator[Classified]:
    """Of each picture the `top` likeliest of the captions, or of those that the run keeps from its training."""
    run.require("match")
    if top < 1:
        raise ConfigError(f"top={top} should be at least 1")
    names = tuple(dict.fromkeys(captions)) or run.settings.data.labels
    return answers(run, given, names, read_captions(run, names), top)


def answers(run: Run, given: Iterable[Any], names: tuple[str, ...], read: Tensor, top: int) -> Iterator[Classified]:
    takes = PictureIntake(run)
    for window in in_windows(given, WINDOW):
        shown, examples = takes.unlabelled(window)
        yield from likeliest(shown, likeness(run, see_pictures(run, examples), read), names, top)


def ranked(run: Run, pixels: np.ndarray, caption: str) -> list[int]:
    """The places of pictures (N, H, W, C), those first that show the most of what a caption says."""
    run.require("match")
    takes = PictureIntake(run)
    seen = see_pictures(run, takes.labelled(Pictures(resized(pixels, takes.size))))
    return likeness(run, seen, read_captions(run, [caption]))[:, 0].argsort(descending=True, stable=True).tolist()


@torch.inference_mode()
def likeness(run: Run, seen: Tensor, read: Tensor) -> Tensor:
    """Logits (N, M) of each of M captions being that of each of N pictures."""
    return run.model.likeness(seen.to(run.device), read.to(run.device)).float().cpu()


def see_pictures(run: Run, pictures: Sequence[Picture]) -> Tensor:
    """A vector of each, (N, classes), in their order."""
    return of_each(run, PictureIntake(run), pictures, run.model.see)


def read_captions(run: Run, captions: Sequence[str]) -> Tensor:
    """The same of captions, (M, classes)."""
    if empty := [caption for caption in captions if not caption.strip()]:
        raise DataError(f"the caption {empty[0]!r} is empty: say what a picture may show")
    takes = TextIntake(run)
    _, texts = takes.unlabelled(captions)
    return of_each(run, takes, texts, run.model.read)
