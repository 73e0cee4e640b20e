"""Runs that compare a picture with captions: the half that sees, and which of the captions it finds most fitting."""

from __future__ import annotations

from torch import Tensor

from regard.decoding.match import likeness, read_captions
from regard.insight.ways.seeing import Seeing
from regard.run import Run


class Matching(Seeing):
    """As a run that tells classes apart, where the classes are captions that the run keeps from its training."""

    verb = "Compare"
    ends = ("classifier", "reader")  # a picture's vector, and the captions' that it is multiplied by

    def __init__(self, run: Run):
        super().__init__(run)
        self.captions = read_captions(run, run.settings.data.labels)

    @property
    def vocabulary(self) -> dict[str, int]:
        return {"source": 0, "target": len(self.captions)}

    def said(self, pictures: Tensor) -> Tensor:
        return likeness(self.run, self.run.model.see(pictures), self.captions)
