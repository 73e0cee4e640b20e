"""The pictures that a run's settings name, in two parts: of files, or of those that need none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from regard.config import DataConfig
from regard.console import say
from regard.data import shapes
from regard.data.image import Size, resized
from regard.data.labelled import Parts
from regard.data.pictures import Pictures, digits, read_pictures, split
from regard.errors import ConfigError

DIGITS, SHAPES = "digits", "shapes"  # what data.pictures may name besides a path
DRAWN = {"train": 20_000, "valid": 500}  # shapes


def read_gallery(data: DataConfig, seed: int) -> Parts[Pictures]:
    if not data.pictures:
        raise ConfigError("there is nothing to train on: give --pictures and a folder, a TSV, an .npz or an IDX file")
    if data.pictures == SHAPES:
        for name in ("picture_size", "valid_pictures"):
            if given := getattr(data, name):
                shown = given if isinstance(given, str) else list(given)
                raise ConfigError(
                    f"data.{name}={shown} means nothing to the shapes, which are drawn at one size, and others to "
                    "validate with: leave it out"
                )
        return Parts(*(shapes.pictures(part, count, seed) for part, count in DRAWN.items()))
    size = (data.picture_size[0], data.picture_size[1]) if data.picture_size else None
    pictures = read_part(data.pictures, size)
    if data.valid_pictures:
        return Parts(pictures, read_part(data.valid_pictures, size))
    parts = Parts(*split(pictures, data.valid_share, seed))
    say(f"no validation pictures: {len(parts.valid):,} of {len(pictures):,} set aside")
    return parts


def read_part(name: str, size: Size | None) -> Pictures:
    """Pictures of a path, or the digits, brought to a size."""
    if name != DIGITS:
        return read_pictures(Path(name), size)
    found = digits()
    return replace(found, pixels=resized(found.pixels, size))
