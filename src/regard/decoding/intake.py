"""What a network that tells classes apart takes in: texts or pictures, from files, from stdin or from memory.

An intake is made for a run. It reads what the run can be asked about, and makes examples of it and batches of these.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.console import say
from regard.data.corpus import read_lines, split_lines
from regard.data.gallery import read_part
from regard.data.image import read_picture, resized
from regard.data.labelled import Picture, Text, Texts, collate_pictures, collate_texts, read_labelled
from regard.data.pictures import Pictures, read_npz
from regard.decoding.windows import AsTheyCome
from regard.errors import DataError
from regard.run import TEXT, Run
from regard.tokens.image import in_colour
from regard.tokens.text import BOS, EOS


class TextIntake:
    """Texts as a BERT reads them: <s> the text </s>, cut where it is longer than the network's positions."""

    collate = staticmethod(collate_texts)

    def __init__(self, run: Run):
        self.tokenizer, self.most = run.tokenizers[TEXT], run.window

    def inputs(self, files: Sequence[str]) -> Iterable[str] | AsTheyCome:
        """The lines of files, or of stdin as they come."""
        if list(files) == ["-"]:
            stdin = os.fdopen(sys.stdin.fileno(), "rb", closefd=False)  # our own, as a thread reads it
            return AsTheyCome(split_lines(stdin))
        if "-" in files:
            raise DataError("- is the lines of stdin, as they come, and stands alone: give it, or files, but not both")
        return [line for file in files for line in read_lines(Path(file))]

    def read(self, file: str) -> Texts:
        """Texts with their classes."""
        return read_labelled(Path(file))

    def labelled(self, corpus: Texts) -> list[Text]:
        ids = [self.tokenizer.encode(text) for text in corpus.texts]
        if long := sum(len(each) + 2 > self.most for each in ids):
            say(f"of {long:,} texts only the first {self.most - 2} tokens are read")
        framed = ([BOS, *each[: self.most - 2], EOS] for each in ids)
        return [Text(each, int(label)) for each, label in zip(framed, corpus.labels, strict=True)]

    def unlabelled(self, given: Sequence[Any]) -> tuple[list[str], list[Text]]:
        """Texts as examples, and what to call each."""
        for each in given:
            if not isinstance(each, str):
                raise DataError(f"a {type(each).__name__} is no text, and this run reads texts: give lines of text")
        return list(given), self.labelled(Texts(tuple(given), np.zeros(len(given), dtype=int), ()))


class PictureIntake:
    """Pictures of one size, in patches."""

    collate = staticmethod(collate_pictures)

    def __init__(self, run: Run):
        config = run.model.config
        self.size, self.channels = config.picture, config.channels
        self.patches = config.grid[0] * config.grid[1]

    def inputs(self, files: Sequence[str]) -> Sequence[str]:
        """The files themselves."""
        if "-" in files:
            raise DataError("this run reads pictures, and stdin has lines of text: give image files")
        return files

    def read(self, file: str) -> Pictures:
        """Pictures with their classes, brought to the size that the network sees."""
        return read_part(file, self.size)

    def labelled(self, corpus: Pictures) -> list[Picture]:
        labels = np.zeros(len(corpus), dtype=int) if corpus.labels is None else corpus.labels
        pixels = in_colour(corpus.pixels, self.channels)
        return [Picture(each, label, self.patches) for each, label in zip(pixels, labels.tolist(), strict=True)]

    def unlabelled(self, given: Sequence[Any]) -> tuple[list[str], list[Picture]]:
        """Pictures of files or from memory as examples, and what to call each; one of another size is resized."""
        names, pictures = [], []
        for name, pixels in (pair for each in given for pair in seen(each)):
            height, width = pixels.shape[:2]
            if (height, width) != self.size:
                say(f"{name}: {height} × {width} pixels are brought to {self.size[0]} × {self.size[1]}")
            names.append(name)
            pictures += self.labelled(Pictures(resized(pixels[None], self.size)))
        return names, pictures


def seen(given: str | Path | np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The pictures of a file, or the one in memory, each with a name."""
    if isinstance(given, np.ndarray):
        yield "pixels", checked(given)
    elif Path(given).suffix == ".npz":
        yield from ((f"{given}[{place}]", pixels) for place, pixels in enumerate(read_npz(Path(given)).pixels))
    else:
        yield str(given), read_picture(Path(given))


def checked(pixels: np.ndarray) -> np.ndarray:
    if pixels.ndim != 3 or pixels.dtype != np.uint8 or pixels.shape[-1] not in (1, 3):
        raise DataError(f"pixels of shape {pixels.shape} are no picture: give bytes, (height, width, 1 or 3)")
    return pixels


Intake = TextIntake | PictureIntake
INTAKES: dict[str, type[TextIntake] | type[PictureIntake]] = {"texts": TextIntake, "pictures": PictureIntake}


def intake(run: Run) -> Any:
    """The one for what a run's network reads."""
    return INTAKES[run.model.reads](run)


def names_of(run: Run) -> tuple[str, ...]:
    """What a run calls its classes; one that came from elsewhere may have numbers for them."""
    return run.settings.data.labels or tuple(map(str, range(run.model.config.classes)))
