"""The picture of a training: how surprised the model was, how good what it does, how fast it learned."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

CURVE = "curve.png"
INK, BLUE, ORANGE, FAINT = "#222222", "#0072b2", "#d55e00", "#dddddd"
COLORS = (BLUE, "#009e73", "#cc79a7", ORANGE, "#e69f00")  # of figures in one panel, in turn
APART = ("loss", "perplexity")  # figures of a validation that the panel of the others leaves out
NAMES = {"bleu": "BLEU", "chrf": "chrF"}  # of figures that are not called by their own


def draw_curve(folder: Path) -> None:
    """Draw a run's metrics.jsonl into its curve.png."""
    text = (folder / "metrics.jsonl").read_text(encoding="utf-8")
    lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    curve(lines).savefig(folder / CURVE, dpi=110)


def curve(lines: list[dict[str, Any]]) -> Figure:
    """Three panels over the same steps: the loss, whatever else validations measured, and the rate."""
    fig = Figure(figsize=(7.5, 7.0), layout="constrained")
    loss, quality, rate = fig.subplots(3, 1, sharex=True, height_ratios=[3, 3, 1])
    plot(loss, lines, "loss", "training, with dropout", BLUE)
    plot(loss, lines, "valid_loss", "validation", ORANGE, marker="o")
    loss.set_ylabel("−log p of a token, in nats")
    measured = dict.fromkeys(key.removeprefix("valid_") for line in lines for key in line if key.startswith("valid_"))
    for name, color in zip((name for name in measured if name not in APART), cycle(COLORS), strict=False):
        plot(quality, lines, f"valid_{name}", NAMES.get(name, name.replace("_", " ")), color, marker="o")
    quality.set_ylabel("validation")
    plot(rate, lines, "learning_rate", "", INK)
    rate.set_ylabel("learning rate")
    rate.set_xlabel("step")
    rate.xaxis.set_major_formatter(FuncFormatter(lambda step, _: f"{step:,.0f}"))
    for axes in (loss, quality, rate):
        axes.set_ylim(bottom=0)
        axes.grid(color=FAINT, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(frameon=False)
    return fig


def plot(axes: Axes, lines: list[dict[str, Any]], key: str, label: str, color: str, marker: str = "") -> None:
    points = [(line["step"], line[key]) for line in lines if key in line]
    if points:
        axes.plot(*zip(*points, strict=True), color=color, marker=marker, markersize=4, linewidth=1.5, label=label)
