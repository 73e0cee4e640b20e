"""Pictures side by side, each with its caption: what a model has painted, or what it was shown."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from regard.insight.figures import GREY, PALE, PAPER, font, wrapped, write

PICTURE = 1.35  # inches along the longer side of one
GAP = 0.18  # inches between two
LINE = 0.15  # inches: a line of a caption
DPI = 150


def grid(pictures: np.ndarray, captions: Sequence[str] = (), *, columns: int = 0, title: str = "") -> Figure:
    """Pictures (N, H, W, C) in rows; about as many rows as columns, unless the columns are given."""
    count, height, width = pictures.shape[:3]
    columns = columns or math.ceil(math.sqrt(count))
    rows = math.ceil(count / columns)
    scale = PICTURE / max(height, width)
    lines = [wrapped(caption, font(7.5), width * scale + GAP / 2) for caption in captions]
    room = LINE * max(map(len, lines), default=0) + GAP  # below each picture
    top = 0.5 if title else GAP
    across, down = columns * (width * scale + GAP) + GAP, top + rows * (height * scale + room)
    figure = Figure(figsize=(across, down), dpi=DPI, facecolor=PAPER)
    if title:
        write(figure, GAP, 0.3, title, font(10, "bold"))
    for place in range(count):
        x = GAP + place % columns * (width * scale + GAP)
        y = top + place // columns * (height * scale + room)
        box = (x / across, 1 - (y + height * scale) / down, width * scale / across, height * scale / down)
        axes = figure.add_axes(box, label=str(place))
        axes.imshow(np.broadcast_to(pictures[place], (height, width, 3)), interpolation="nearest")
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(color=PALE, linewidth=0.5)
        for number, line in enumerate(lines[place] if place < len(lines) else ()):
            write(figure, x, y + height * scale + LINE * (number + 0.85), line, font(7.5), GREY)
    return figure
