"""Pictures from files: of classes, with captions, or by themselves. Whatever the files, one type comes out.

- A folder of folders: each subfolder is a class, named so, and holds its pictures (.png, .jpg …).
- A TSV of captions: path, tab, caption on each line; paths count from the folder of the TSV.
- An .npz of arrays: images (or x), with labels (or y) or captions or neither.
- An IDX file, as MNIST and Fashion-MNIST come in (also .gz), with its labels beside it.

Pictures of one corpus have one size: where the files differ, say which to bring them to. What is transparent lies on
white. Nothing is skipped in silence, and nothing larger than the limits is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from regard.data.arrays import idx_array, npz_arrays
from regard.data.corpus import read_lines
from regard.data.image import Size, resized, stacked
from regard.errors import DataError

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif"})
KEYS = ("images", "x"), ("labels", "y"), ("captions",)  # what the arrays of an .npz are called


@dataclass(frozen=True)
class Pictures:
    """Pictures, all of one size, with a class each, or a caption each, or neither."""

    pixels: np.ndarray  # (N, H, W, C), 0 … 255; C is 1 for grey, 3 for colour
    labels: np.ndarray | None = None  # (N,) places in names
    names: tuple[str, ...] = ()  # of the classes
    captions: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.pixels)

    def at(self, places: np.ndarray) -> Pictures:
        """Those at some places, in that order."""
        labels = None if self.labels is None else self.labels[places]
        captions = tuple(self.captions[place] for place in places) if self.captions else ()
        return replace(self, pixels=self.pixels[places], labels=labels, captions=captions)

    def under(self, names: Sequence[str]) -> Pictures:
        """The same with their classes numbered as in `names`, which a model has learned."""
        if self.labels is None:
            raise DataError("the pictures have no classes: put each into the folder of its class")
        return replace(self, labels=places_among(names, self.names)[self.labels], names=tuple(names))


def places_among(learned: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """Where the names of classes stand among those that a model has learned."""
    if strange := set(names) - set(learned):
        raise DataError(f"the class {min(strange)!r} is not one of those learned, which are {', '.join(learned)}")
    return np.array([list(learned).index(name) for name in names], dtype=np.int64)


class Sorted(Protocol):
    """What may be cut in two: anything with a class for each, or for none."""

    @property
    def labels(self) -> np.ndarray | None: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    def __len__(self) -> int: ...

    def at(self, places: np.ndarray) -> Self: ...


S = TypeVar("S", bound=Sorted)


def split(pictures: S, share: float, seed: int = 0) -> tuple[S, S]:
    """The pictures in two, the second with about that share of each class, of each at least one; both shuffled."""
    random = np.random.default_rng(seed)
    labels = np.zeros(len(pictures), dtype=np.int64) if pictures.labels is None else pictures.labels
    parts: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for label in np.unique(labels):
        places = random.permutation(np.flatnonzero(labels == label))
        if len(places) < 2:
            what = f"the class {pictures.names[label]!r} has" if pictures.names else "there is"
            raise DataError(f"{what} one picture, which cannot be split in two: give more, or a validation set")
        cut = min(max(round(share * len(places)), 1), len(places) - 1)
        parts[0].append(places[cut:])
        parts[1].append(places[:cut])
    first, second = (random.permutation(np.concatenate(part)) for part in parts)
    return pictures.at(first), pictures.at(second)


# ---------------------------------------------------------------------------------------------------------- readers


def read_pictures(path: Path, size: Size | None = None) -> Pictures:
    """The pictures of a folder of classes, a TSV of captions, an .npz or an IDX file, told apart by the path's name."""
    if path.is_dir():
        return read_classes(path, size)
    if path.suffix == ".npz":
        return read_npz(path, size)
    if path.suffix == ".tsv":
        return read_captioned(path, size)
    if "idx" in path.name:
        return read_idx(path, size)
    raise DataError(
        f"{path} is no corpus of pictures: give a folder with one subfolder for each class, a .tsv of path, tab, "
        "caption, an .npz of images, or an IDX file such as train-images-idx3-ubyte.gz"
    )


def read_classes(folder: Path, size: Size | None = None) -> Pictures:
    """folder/class/picture.png: the subfolders are the classes, in the order of their names."""
    classes = sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))
    if not classes:
        raise DataError(f"{folder} has no subfolders: make one for each class, with its pictures in it")
    found = [sorted(each for each in one.rglob("*") if each.suffix.lower() in SUFFIXES) for one in classes]
    for one, paths in zip(classes, found, strict=True):
        if not paths:
            raise DataError(f"{one} has no pictures: put some there, or remove it; {', '.join(sorted(SUFFIXES))} count")
    labels = np.repeat(np.arange(len(classes)), [len(paths) for paths in found])
    pixels = stacked([path for paths in found for path in paths], size)
    return Pictures(pixels, labels, tuple(one.name for one in classes))


def read_captioned(path: Path, size: Size | None = None) -> Pictures:
    """path, tab, caption on each line."""
    paths, captions = [], []
    for number, line in enumerate(read_lines(path), start=1):
        name, tab, caption = line.partition("\t")
        if not tab:
            raise DataError(f"{path}, line {number}: there is no tab: write path, tab, caption on each line")
        if not caption.strip():
            raise DataError(f"{path}, line {number}: there is no caption after the tab: write one, or remove the line")
        paths.append(path.parent / name)
        captions.append(caption)
    if not paths:
        raise DataError(f"{path} is empty: give a file with path, tab, caption on each line")
    return Pictures(stacked(paths, size), captions=tuple(captions))


def read_npz(path: Path, size: Size | None = None) -> Pictures:
    """The arrays of an .npz: images (or x), labels (or y), captions, which may be lines of a .txt beside it, too."""
    arrays, beside = npz_arrays(path), path.with_suffix(".txt")
    images, labels, told = (next((arrays[key] for key in keys if key in arrays), None) for keys in KEYS)
    if images is None:
        raise DataError(f"{path} has the arrays {', '.join(arrays)} and none called images or x: name it so")
    pixels = resized(as_pixels(images, path), size)
    if told is None and beside.exists():
        told = np.array(read_lines(beside))
    for what, found in (("labels", labels), ("captions", told)):
        if found is not None and found.shape != pixels.shape[:1]:
            raise DataError(f"{path} has {found.size} {what} for {len(pixels)} pictures: give one for each")
    captions = () if told is None else tuple(map(str, told))
    places, names = (None, ()) if labels is None else numbered(labels)
    return Pictures(pixels, places, names, captions)


def read_idx(path: Path, size: Size | None = None) -> Pictures:
    """The images of an IDX file, …-images-idx3-ubyte, and the labels of the file beside it, …-labels-idx1-ubyte.

    The format has no names for classes: they are read from a file classes.txt in the same folder, one a line, if it is
    there, and are the labels' numbers otherwise.
    """
    beside = path.with_name(path.name.replace("images", "labels").replace("idx3", "idx1"))
    if beside == path:
        raise DataError(f"{path} is not named as IDX images are: name it like train-images-idx3-ubyte.gz")
    images, labels = idx_array(path, 3), idx_array(beside, 1)
    if len(images) != len(labels):
        raise DataError(f"{path} has {len(images)} pictures but {beside} has {len(labels)} labels: give one for each")
    pixels = resized(as_pixels(images, path), size)
    listed = path.with_name("classes.txt")
    if not listed.exists():
        return Pictures(pixels, *numbered(labels))
    names = tuple(read_lines(listed))
    if len(labels) and labels.max() >= len(names):
        raise DataError(
            f"{listed} has {len(names)} names and {beside} goes up to {labels.max()}: write one name a line"
        )
    return Pictures(pixels, labels.astype(np.int64), names)


def digits() -> Pictures:
    """scikit-learn's handwritten digits: 1,797 grey pictures of 8 × 8 pixels (Alpaydin and Kaynak 1998)."""
    try:
        from sklearn.datasets import load_digits  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise DataError("the digits come with scikit-learn, which is not installed: pip install scikit-learn") from None
    found: Any = load_digits()
    return Pictures((found.images[..., None] * (255 / 16)).round().astype(np.uint8), found.target, tuple("0123456789"))


def as_pixels(images: np.ndarray, path: Path) -> np.ndarray:
    """An array of images as (N, H, W, C) in bytes: grey ones may lack C, and fractions go from 0 to 1."""
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.shape[-1] not in (1, 3) or not images.size:
        raise DataError(
            f"{path} has images of shape {images.shape}: give (count, height, width) for grey ones or (count, height, "
            "width, 3) for colour"
        )
    if np.issubdtype(images.dtype, np.floating):
        images = np.where(images <= 1, images, np.nan) * 255
    if not np.issubdtype(images.dtype, np.number) or not (images.min() >= 0 and images.max() <= 255):
        raise DataError(f"{path} has images beyond 0 … 255, or fractions beyond 0 … 1: scale them so")
    return images.round().astype(np.uint8)


def numbered(labels: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels of any kind as places among their names, which are in order."""
    names, places = np.unique(labels, return_inverse=True)
    return places, tuple(map(str, names))
