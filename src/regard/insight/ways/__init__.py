"""Run → way: how each kind of run is looked into, by what it does and by what it reads."""

from __future__ import annotations

from regard.insight.ways.matching import Matching
from regard.insight.ways.painting import Painting
from regard.insight.ways.reading import Classifying, Filling, Tagging
from regard.insight.ways.seeing import Seeing
from regard.insight.ways.translating import Translating
from regard.insight.ways.way import Pass, Way
from regard.insight.ways.writing import Writing
from regard.run import Run

__all__ = ["Pass", "Way", "way_of"]

WAYS: dict[tuple[str, str], type[Way]] = {
    ("translate", "texts"): Translating,
    ("denoise", "texts"): Translating,
    ("write", "texts"): Writing,
    ("fill", "texts"): Filling,
    ("classify", "texts"): Classifying,
    ("tag", "texts"): Tagging,
    ("classify", "pictures"): Seeing,
    ("paint", "texts"): Painting,
    ("match", "pictures"): Matching,
}


def way_of(run: Run) -> Way:
    run.require(run.task)
    return WAYS[run.task, run.model.reads](run)
