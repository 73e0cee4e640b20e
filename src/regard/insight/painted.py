"""What a run has painted, as a file: one picture pixel for pixel, several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from regard.decoding.paint import Painted
from regard.errors import ConfigError
from regard.insight.figures import save_figure
from regard.insight.pictures import grid


def check(path: Path) -> Path:
    """A path that save_painted can write to, or a ConfigError, before anything is painted for it."""
    if path.suffix.lower() != ".png":
        raise ConfigError(f"{path} does not end in .png, as a picture here does: write, say, --out picture.png")
    return path


def save_painted(painted: Sequence[Painted], path: Path) -> Path:
    check(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if len(painted) == 1:
            pixels = painted[0].pixels
            Image.fromarray(pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels).save(path)
        else:
            captions = [each.caption for each in painted]
            alike = len(set(captions)) == 1
            pictures = np.stack([each.pixels for each in painted])
            save_figure(grid(pictures, () if alike else captions, title=captions[0] if alike else ""), path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}; choose another --out") from None
    return path
