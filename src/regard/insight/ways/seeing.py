"""Runs that see a picture: an encoder over its patches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.config import DecodeConfig, validate
from regard.data.gallery import DIGITS, read_part
from regard.data.image import read_picture, resized
from regard.data.pictures import Pictures
from regard.decoding.intake import PictureIntake, checked
from regard.errors import DataError
from regard.insight.contract import Line, LineName, Question
from regard.insight.image import from_address, to_address
from regard.insight.lines import grouped
from regard.insight.trace import Patches
from regard.insight.ways.reading import label
from regard.insight.ways.way import Enters, Pass, Stream, Way, evaluating, recorded, short_enough
from regard.run import Run
from regard.tokens.image import to_tensor

SHOWN = 6  # pictures to begin with
ENTERS: Enters = ("embedding", "embedding"), ("summary", "summary"), ("position", "position")
SUMMARY = "<class>"  # the token that stands for the whole


class Seeing(Way):
    """The patches stand in the source, row by row, behind the class token if there is one."""

    input = "picture"
    verb = "Classify"
    kinds = ("encoder",)
    streams = (Stream("encoder", "source", ENTERS, "position"),)
    ends = ("classifier",)
    panels = ("machine", "picture", "vectors", "steps", "heads", "answer", "whatif", "training")
    changes = ("heads", "positions")

    def __init__(self, run: Run):
        super().__init__(run)
        self.rows, self.columns = run.model.config.grid
        self.first = int(run.model.summary is not None)  # the place of the first patch

    @property
    def vocabulary(self) -> dict[str, int]:
        return {"source": 0, "target": self.run.model.config.classes}

    @property
    def longest(self) -> int | None:
        return None  # a picture is brought to as many patches as there are positions

    @property
    def examples(self) -> list[str]:
        if self.run.settings.data.pictures != DIGITS:
            return []
        try:
            pixels = read_part(DIGITS, None).pixels[:SHOWN]
        except DataError:  # they come with a package that looking at a run does not need
            return []
        return [to_address(self.fitted(each)) for each in pixels]

    def pieces(self, line: LineName, ids: Sequence[int]) -> list[str]:
        if line == "target":
            return [label(self.run, id) for id in ids]
        places = (divmod(id - self.first, self.columns) for id in ids)
        return [SUMMARY if row < 0 else f"{row + 1}·{column + 1}" for row, column in places]

    def line(self, name: LineName, seen: Pass) -> Line:
        ids = seen.source if name == "source" else seen.target if name == "target" else ()
        return grouped(([id] for id in ids), lambda one: self.pieces(name, one))

    def typed(self, question: Question) -> Line:
        return Line([], [])

    def question(self, given: Any, to: str | None = None) -> Question:
        """Of an image file, or of pixels (H, W, C)."""
        if not isinstance(given, np.ndarray | str | Path):
            raise DataError(f"a {type(given).__name__} is no picture: give the path of an image file, or pixels")
        pixels = checked(given) if isinstance(given, np.ndarray) else read_picture(Path(given))
        name = "" if isinstance(given, np.ndarray) else Path(given).name
        return validate(Question, {"text": name, "picture": to_address(self.fitted(pixels))}, "the picture")

    def settled(self, question: Question) -> Question:
        """With the picture as the network sees it."""
        return question.model_copy(update={"picture": to_address(self.fitted(from_address(question.picture)))})

    def fitted(self, pixels: np.ndarray) -> np.ndarray:
        """Pixels (H, W, C) of the size and the colours that the network was made for."""
        intake = PictureIntake(self.run)
        [found] = intake.labelled(Pictures(resized(pixels[None], intake.size)))
        return np.array(found.pixels)

    def ask(self, question: Question, config: DecodeConfig, most: int) -> Pass:
        run, count = self.run, self.first + self.rows * self.columns
        short_enough(count, most, "a picture")
        pixels = self.fitted(from_address(question.picture))
        with evaluating(run.model), torch.no_grad(), recorded(run.model) as seen:
            logits = self.said(to_tensor(pixels[None]).to(run.device))  # (1, classes)
        target = logits.argmax(-1).tolist()
        found = Pass(**vars(seen), logits=logits, source=range(count), target=target)
        patches = Patches(pixels, (self.rows, self.columns), row=self.first, column=self.first)
        return self.named(found, question.text, self.pieces("target", target)[0], patches=patches)

    def said(self, pictures: Tensor) -> Tensor:
        """Logits of what each picture is of, (B, classes)."""
        return self.run.model(pictures).float().cpu()
