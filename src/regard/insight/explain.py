"""The verb explain: let a run do what it does, then look at what it looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from regard.insight.trace import Trace
from regard.insight.ways import way_of
from regard.run import Run


def explain(run: Run, given: str | Path | np.ndarray, to: str | None = None, **decode: Any) -> Trace:
    """What comes of a sentence, a prompt or a picture, and the weights of every attention; keywords override the run's
    decode settings.

    A run that writes does so as it always does; then one pass over all that was read and written, without a cache, is
    recorded. A picture is the path of an image file, or pixels (H, W, C).
    """
    way = way_of(run)
    return way.ask(way.question(given, to), way.settings(decode), way.most).trace
