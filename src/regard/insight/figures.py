"""Trace → pictures: all maps, what one word looks at, the same head on several sentences, and one for the terminal.

Layers and heads that are given here count from 0, as arrays do; those that are drawn count from 1, as people do.
Colours are Okabe and Ito's, told apart by colour-blind people too; maps go from paper white to ink. No global state of
matplotlib is used: a Figure is made, returned, and its own.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path as Curve
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from rich.cells import cell_len, set_cell_size

from regard.errors import ConfigError, RegardError
from regard.insight.trace import Trace, to_json
from regard.insight.words import Word, by_word, index_of, words

INK, GREY, PALE, FAINT, PAPER = "#1a1a1a", "#767676", "#b0b0b0", "#ececec", "#ffffff"
BLUE, ORANGE = "#0072b2", "#d55e00"
SHADES = LinearSegmentedColormap.from_list("regard", [PAPER, "#a8cde6", BLUE, "#00243a"]).with_extremes(bad=FAINT)
SCALE = PowerNorm(0.5, 0, 1)  # by the square root: even a small share leaves a trace on the paper

TITLES = {
    "encoder": ("Encoder self-attention", "each row, a source token, looks at the columns, all source tokens"),
    "decoder": (
        "Decoder self-attention",
        "the step that writes the row looks at the columns, written before (grey: not yet)",
    ),
    "cross": ("Cross-attention", "the step that writes the row looks at the columns, the source tokens"),
}
FONTS = ("DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Hiragino Sans", "Arial Unicode MS")


@cache
def fonts() -> tuple[str, ...]:
    """matplotlib's own font, and behind it what the machine has for scripts that it lacks."""
    return tuple(name for name in FONTS if name in font_manager.get_font_names())


def font(size: float, weight: str = "normal", style: str = "normal") -> FontProperties:
    return FontProperties(family=list(fonts()), size=size, weight=weight, style=style)  # pyright: ignore[reportArgumentType]


# ------------------------------------------------------------------------------------------------------- all maps

DPI = 130
MOST_PIXELS = 50e6  # of one picture; beyond, the resolution gives way
WIDEST_MAP = 9.0  # inches
GAP = 0.16  # inches between maps
LEAST_LABEL = 0.09  # inches from one token to the next; where they lie closer, not all are named


def figure(trace: Trace, *, layer: int | None = None, head: int | None = None, kinds: Sequence[str] = ()) -> Figure:
    """Encoder, decoder and cross attention of a sentence: a row of maps for each layer, a map for each head.

    `layer` and `head` choose one, counted from 0. A long sentence makes a large picture; choose one of them for it.
    """
    found = {kind: trace.maps(kind) for kind in (kinds or trace.kinds)}
    if not found:
        raise ConfigError("this trace holds no attention to draw: record a pass through a model")
    if layer is not None:  # encoder and decoder need not be equally deep
        within(layer, max(len(maps) for maps in found.values()), "layer")
        found = {kind: maps for kind, maps in found.items() if -len(maps) <= layer < len(maps)}
    shown = {kind: chosen(maps, layer, head) for kind, maps in found.items()}
    tokens = max(len(axis) for kind in shown for axis in trace.axes(kind))
    cell = min(max(1.3 / tokens, 0.16 if tokens <= 14 else 0.125 if tokens <= 30 else 0.095), WIDEST_MAP / tokens)
    size = min(8.0, max(cell, LEAST_LABEL) * 72 * 0.78)  # of the labels, in points
    step = math.ceil(LEAST_LABEL / cell)  # from one label to the next
    label = max(width_of(text, font(size)) for kind in shown for axis in trace.axes(kind) for text in axis) + 0.06
    heads = max(len(row) for maps in shown.values() for _, row in maps)
    across = {kind: len(trace.axes(kind)[1]) * cell for kind in shown}
    down = {kind: len(trace.axes(kind)[0]) * cell for kind in shown}

    left = 0.55 + label
    width = max(left + heads * (max(across.values()) + GAP) + 0.1, 7.2)
    heading = [(line, font(12, "bold")) for line in wrapped(trace.text, font(12, "bold"), width - 3)]
    heading += [(line, font(12)) for line in wrapped(f"→ {trace.translation}", font(12), width - 3)]
    top = 0.35 + 0.23 * len(heading)
    height = top + sum(0.8 + len(maps) * (label + down[kind] + 0.24) for kind, maps in shown.items())
    fig = Figure(figsize=(width, height), dpi=min(DPI, math.sqrt(MOST_PIXELS / (width * height))), facecolor=PAPER)
    for place, (line, how) in enumerate(heading):
        write(fig, 0.2, 0.35 + 0.23 * place, line, how)
    legend(fig)

    y = top
    for kind, maps in shown.items():
        rows, columns = trace.axes(kind)
        title, meaning = TITLES[kind]
        write(fig, 0.2, y + 0.3, title, font(11, "bold"), BLUE)
        write(fig, 0.2, y + 0.48, meaning, font(8), GREY)
        y += 0.8
        for number, row in maps:
            y += label
            for place, (name, weights) in enumerate(row):
                x = left + place * (across[kind] + GAP)
                box = (x / width, 1 - (y + down[kind]) / height, across[kind] / width, down[kind] / height)
                axes = fig.add_axes(box, label=f"{kind} {number} {name}")
                draw_map(axes, weights, causal=kind == "decoder")
                name_tokens(axes, rows if place == 0 else (), columns, cell, size, step)
                below = y + down[kind] + 0.14
                write(fig, x + across[kind] / 2, below, f"head {name + 1}", font(7.5), GREY, ha="center")
            middle = y + down[kind] / 2
            write(fig, 0.3, middle, f"layer {number + 1}", font(8.5, "bold"), rotation=90, va="center", ha="center")
            y += down[kind] + 0.24
    return fig


def chosen(maps: np.ndarray, layer: int | None, head: int | None) -> list[tuple[int, list[tuple[int, np.ndarray]]]]:
    """Of (L, H, T, S), layer by layer and head by head, with their numbers, those that are asked for."""
    layers = range(len(maps)) if layer is None else [within(layer, len(maps), "layer")]
    heads = range(len(maps[0])) if head is None else [within(head, len(maps[0]), "head")]
    return [(layer, [(head, maps[layer, head]) for head in heads]) for layer in layers]


def within(number: int, count: int, what: str) -> int:
    """A number from 0, or from the end if it is negative; the message counts as people do."""
    if not -count <= number < count:
        raise ConfigError(f"there is no {what} {number + (number >= 0)}: they are 1 to {count}")
    return number % count


def draw_map(axes: Axes, weights: np.ndarray, causal: bool) -> None:
    if causal:
        weights = np.where(np.tri(*weights.shape, dtype=bool), weights, np.nan)  # the future
    axes.imshow(weights, cmap=SHADES, norm=SCALE, aspect="auto", interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(color=PALE, linewidth=0.5)


def name_tokens(axes: Axes, rows: Sequence[str], columns: Sequence[str], cell: float, size: float, step: int) -> None:
    """Tokens beside the rows and above the columns; plain texts, since ticks take ten times as long."""
    how: dict[str, Any] = {"fontproperties": font(size), "color": INK, "parse_math": False}  # $ is no formula
    edge = -0.5 - 0.04 / cell
    for place in range(0, len(columns), step):
        axes.text(place, edge, legible(columns[place]), rotation=90, ha="center", va="bottom", **how)
    for place in range(0, len(rows), step):
        axes.text(edge, place, legible(rows[place]), ha="right", va="center_baseline", **how)


def legible(token: str) -> str:
    """▁ is a heavy bar in most fonts."""
    return token.replace("▁", "_")


def legend(fig: Figure) -> None:
    """What the shades mean."""
    width, height = fig.get_size_inches()
    x = width - 2.0
    axes = fig.add_axes((x / width, 1 - 0.36 / height, 1.8 / width, 0.14 / height), label="legend")
    axes.imshow(np.linspace(0, 1, 256)[None] ** 2, cmap=SHADES, norm=SCALE, aspect="auto", extent=(0, 1, 0, 1))
    axes.set_yticks([])
    axes.set_xticks(np.sqrt([0, 0.1, 0.25, 0.5, 1]), ["0", ".1", ".25", ".5", "1"], fontproperties=font(7), color=GREY)
    axes.tick_params(length=2, pad=1, color=GREY)
    axes.spines[:].set(color=PALE, linewidth=0.5)
    write(fig, x - 0.08, 0.33, "weight", font(7.5), GREY, ha="right")


def write(fig: Figure, x: float, y: float, text: str, how: FontProperties, color: str = INK, **more: Any) -> Text:
    """Text at inches from the left and from the top."""
    width, height = fig.get_size_inches()
    return fig.text(x / width, 1 - y / height, text, fontproperties=how, color=color, parse_math=False, **more)


def wrapped(text: str, how: FontProperties, width: float) -> list[str]:
    """Text in lines of at most so many inches."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, how) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


@cache
def measure() -> FigureCanvasAgg:
    return FigureCanvasAgg(Figure(dpi=72))


def width_of(text: str, how: FontProperties) -> float:
    """In inches."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # drawn as a box
        return measure().get_renderer().get_text_width_height_descent(text, how, False)[0] / 72


# ------------------------------------------------------------------------------------------------ one word's look

WIDEST_LINE = 11.0  # inches of words before the next line begins
WORD = 15.0  # points
LINE = 0.36  # inches: a line of words
NUMBERS = 0.26  # inches: the room for figures above or below it
BETWEEN = 0.5  # inches: from there to the next line
NAMED = 0.045  # a share from which it is written out, and drawn in full
MARGIN = 0.4
HALO = withStroke(linewidth=3, foreground=PAPER)  # keeps words legible where lines pass behind them


@dataclass(frozen=True)
class Look:
    """How much one word looks at each of others; the weights, one for each column, sum to 1."""

    rows: list[Word]
    columns: list[Word]
    index: int  # of the word that looks, among the rows
    weights: np.ndarray


@dataclass(frozen=True)
class Placed:
    """A word on the page: the middle of its upper edge, and its width, in inches from the left and the top."""

    word: Word
    x: float
    y: float
    width: float


def look(trace: Trace, word: str | int, *, layer: int = -1, head: int | None = None, kind: str = "") -> Look:
    """What one word looks at, in one head or on the mean over heads, word by word."""
    kind = kind or trace.kinds[0]
    rows, columns = (words(tokens) for tokens in trace.axes(kind))
    index = index_of(word, rows)
    return Look(rows, columns, index, by_word(one_map(trace, kind, layer, head), rows, columns)[index])


def one_map(trace: Trace, kind: str, layer: int, head: int | None) -> np.ndarray:
    maps = trace.maps(kind)
    maps = maps[within(layer, len(maps), "layer")]
    return maps.mean(0) if head is None else maps[within(head, len(maps), "head")]


def caption(trace: Trace, kind: str, layer: int, head: int | None) -> str:
    layers, heads = trace.maps(kind).shape[:2]
    which = f"mean of {heads} heads" if head is None else f"head {head % heads + 1}"
    return f"{TITLES[kind][0]}, layer {layer % layers + 1}, {which}"


def focus(
    trace: Trace, word: str | int, *, layer: int = -1, head: int | None = None, kind: str = "", title: str = ""
) -> Figure:
    """What one word looks at in one head, or on the mean over heads: the wider the line, the more."""
    return compare([trace], word, layer=layer, head=head, kind=kind, title=title)


def compare(
    traces: Sequence[Trace],
    word: str | int,
    *,
    layer: int = -1,
    head: int | None = None,
    kind: str = "",
    title: str = "",
) -> Figure:
    """What the same word looks at in the same head, sentence under sentence; words that differ are bold.

    Weights are of words: summed over the tokens looked at, averaged over the tokens that look. Without a kind of
    attention it is the first that the trace has.
    """
    kind = kind or traces[0].kinds[0]
    looks = [look(trace, word, layer=layer, head=head, kind=kind) for trace in traces]
    common = set.intersection(*({each.text for each in (*one.columns, *one.rows)} for one in looks))
    sheets = [lay_out(one, common, self_attention=kind == "encoder") for one in looks]
    answers = [f"→ {trace.translation}".split() if kind == "encoder" else [] for trace in traces]
    shared = set.intersection(*map(set, answers))
    answered = [answer_lines(answer, shared) for answer in answers]

    width = max([5.5, *(each.x + each.width / 2 for seen, here, _ in sheets for each in (*seen, *here))]) + MARGIN
    height = 0.8 + sum(below + 0.28 * len(lines) + 0.4 for (*_, below), lines in zip(sheets, answered, strict=True))
    fig = Figure(figsize=(width, height), dpi=200, facecolor=PAPER)
    page = fig.add_axes((0, 0, 1, 1), label="page")
    page.set(xlim=(0, width), ylim=(height, 0))
    page.axis("off")

    looking = f"“{looks[0].rows[looks[0].index].text}”"
    subject = looking if kind == "encoder" else f"the step that writes {looking}"
    write(fig, MARGIN, 0.42, title or f"What {subject} looks at", font(14, "bold"))
    write(fig, MARGIN, 0.66, caption(traces[0], kind, layer, head), font(9.5), GREY)
    y = 0.8
    for one, (seen, here, below), lines in zip(looks, sheets, answered, strict=True):
        draw_look(page, one, [lowered(each, y) for each in seen], [lowered(each, y) for each in here], common)
        y += below
        for line in lines:
            y += 0.28
            for x, text in line:
                bold = text not in shared
                write(fig, x, y, text, answer_font(bold), INK if bold else GREY)
        y += 0.4
    return fig


def answer_font(bold: bool) -> FontProperties:
    return font(13, "bold" if bold else "normal", "italic")


def answer_lines(answer: Sequence[str], shared: set[str]) -> list[list[tuple[float, str]]]:
    """The words of a translation with the inches at which they begin, from line to line."""
    lines: list[list[tuple[float, str]]] = []
    x = WIDEST_LINE
    for text in answer:
        width = width_of(text, answer_font(text not in shared))
        if not lines or x + width > WIDEST_LINE:
            lines, x = [*lines, []], 0.0
        lines[-1].append((MARGIN + x, text))
        x += width + 0.075
    return lines


def lowered(placed: Placed, by: float) -> Placed:
    return replace(placed, y=placed.y + by)


def lay_out(look: Look, common: set[str], self_attention: bool) -> tuple[list[Placed], list[Placed], float]:
    """Where the words looked at stand, where those that look stand, and how far down that reaches."""
    if self_attention:
        seen = here = in_lines(look.columns, common, look.index)
    else:
        seen = in_lines(look.columns, common)
        depth = seen[-1].y + LINE + 2 * BETWEEN
        here = [lowered(each, depth) for each in in_lines(look.rows, common, look.index)]
    top = NUMBERS
    if here[look.index].y == 0.0:
        top = 0.75 * max(rise(here[look.index], each) for each in seen if each.y == 0.0) + 0.15
    seen, here = [lowered(each, top) for each in seen], [lowered(each, top) for each in here]
    return seen, here, here[-1].y + LINE + (NUMBERS if self_attention else 0.0)


def in_lines(sentence: Sequence[Word], common: set[str], looking: int | None = None) -> list[Placed]:
    """Words one after the other, from line to line."""
    placed: list[Placed] = []
    x = y = 0.0
    for index, word in enumerate(sentence):
        width = width_of(word.text, word_font(word, common, index == looking))
        space = 0.2 if word.spaced else 0.13
        if x and x + space + width > WIDEST_LINE:
            x, y = 0.0, y + LINE + NUMBERS + BETWEEN
        x += space if x else 0.0
        placed.append(Placed(word, MARGIN + x + width / 2, y, width))
        x += width
    return placed


def word_font(word: Word, common: set[str], looking: bool = False) -> FontProperties:
    return font(10 if word.control else WORD, "bold" if looking or word.text not in common else "normal")


def rise(a: Placed, b: Placed) -> float:
    """How high the line between two words of one line of text is drawn up; it reaches three quarters of that."""
    return 0.25 + min(0.13 * abs(a.x - b.x), 0.9) if a.y == 0.0 else min(0.25 + 0.05 * abs(a.x - b.x), 0.62)


def draw_look(page: Axes, look: Look, seen: Sequence[Placed], here: Sequence[Placed], common: set[str]) -> None:
    looking = here[look.index]
    first = min(each.y for each in seen)
    named: set[Placed] = set()
    unseen: set[Placed] = set()  # behind the mask: not yet written
    for placed, weight in zip(seen, look.weights.tolist(), strict=True):
        if weight == 0:
            unseen.add(placed)
        if weight > 0.005 and placed != looking:
            draw_line(page, looking, placed, weight, first)
        if weight >= NAMED:
            named.add(placed)
            page.add_patch(frame(placed, facecolor=BLUE, alpha=min(1.0, 0.08 + 0.55 * weight), linewidth=0))
            above = placed.y < looking.y  # a line comes from below, so the number goes above
            y = placed.y - 0.07 if above else placed.y + LINE + 0.17
            page.text(placed.x, y, f"{weight:.0%}", fontproperties=font(9.5, "bold"), color=BLUE, ha="center", zorder=5)
    page.add_patch(frame(looking, facecolor="none", edgecolor=ORANGE, linewidth=1.8, zorder=4))
    for placed in {*seen, *here}:
        page.text(
            placed.x,
            placed.y + 0.68 * LINE,
            placed.word.text,
            fontproperties=word_font(placed.word, common, placed == looking),
            color=ORANGE if placed == looking else PALE if placed in unseen else GREY if placed.word.control else INK,
            path_effects=[] if placed in named else [HALO],
            ha="center",
            zorder=5,
            parse_math=False,
        )


def frame(placed: Placed, **how: Any) -> FancyBboxPatch:
    corner = placed.x - placed.width / 2 - 0.055, placed.y + 0.02
    return FancyBboxPatch(
        corner, placed.width + 0.11, LINE - 0.04, boxstyle="round,pad=0,rounding_size=0.07", **{"zorder": 2, **how}
    )


def draw_line(page: Axes, a: Placed, b: Placed, weight: float, first: float) -> None:
    """From the word that looks to one that it looks at."""
    if a.y == b.y:
        up = rise(lowered(a, -first), lowered(b, -first))
        points = [(a.x, a.y), (a.x, a.y - up), (b.x, b.y - up), (b.x, b.y)]
    else:
        start, end = (a.y, b.y + LINE) if b.y < a.y else (a.y + LINE, b.y)
        middle = (start + end) / 2
        points = [(a.x, start), (a.x, middle), (b.x, middle), (b.x, end)]
    curve = Curve(points, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
    page.add_patch(
        PathPatch(
            curve,
            facecolor="none",
            edgecolor=BLUE,
            linewidth=0.5 + 9 * weight,
            alpha=min(1.0, 0.18 + 0.62 * weight),
            capstyle="butt",
            zorder=1,
        )
    )


# ---------------------------------------------------------------------------------------------------- the terminal

BLOCKS = ((0.6, "█"), (0.35, "▓"), (0.15, "▒"), (0.05, "░"))
TALLEST_WORD = 10  # letters of a column's name, where names stand upright


def terminal(trace: Trace, *, kind: str = "", layer: int = -1, head: int | None = None, width: int = 88) -> str:
    """A picture in plain characters: words written as rows, words looked at as columns; of one head, or their mean.

    Without a kind it is the last that the trace has: a translator's cross-attention, another's own.
    Columns are as wide as their words if all fit; if not, the words stand upright, over as many strips as they need.
    """
    kind = kind or trace.kinds[-1]
    rows, columns = (words(tokens) for tokens in trace.axes(kind))
    weights = by_word(one_map(trace, kind, layer, head), rows, columns)
    margin = min(max(cell_len(row.text) for row in rows), 18)
    room = width - margin - 1
    lines = [caption(trace, kind, layer, head), ""]
    lying = sum(cell_len(column.text) + 1 for column in columns) <= room
    wide = [cell_len(column.text) if lying else max(1, min(2, room // len(columns) - 1)) for column in columns]
    gap = " " if lying or 2 * len(columns) <= room else ""
    strip = len(columns) if lying else room // (wide[0] + len(gap))
    for start in range(0, len(columns), strip):
        part = slice(start, start + strip)
        names = [column.text for column in columns[part]]
        heads = [gap.join(names)] if lying else upright(names, wide[0], gap)
        lines += [" " * (margin + 1) + line for line in heads]
        for row, shares in zip(rows, weights[:, part], strict=True):
            name = row.text if cell_len(row.text) <= margin else set_cell_size(row.text, margin - 1) + "…"
            cells = gap.join(block(share, size) for share, size in zip(shares, wide[part], strict=True))
            lines.append(" " * (margin - cell_len(name)) + f"{name} {cells}")
        lines.append("")
    lines.append("from  " + "  ".join(f"{least:.0%} {character}" for least, character in reversed(BLOCKS)))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def block(share: float, size: int) -> str:
    shade = next((character for least, character in BLOCKS if share >= least), None)
    return shade * size if shade else "·".center(size)


def upright(names: Sequence[str], wide: int, gap: str) -> list[str]:
    """Names written downwards, side by side, all ending on the last line."""
    cut = [name if len(name) <= TALLEST_WORD else name[: TALLEST_WORD - 1] + "…" for name in names]
    tall = max(len(name) for name in cut)
    lines = zip(*(name.rjust(tall) for name in cut), strict=True)
    return [gap.join(set_cell_size(letter, wide) for letter in line) for line in lines]


# ------------------------------------------------------------------------------------------------------------ files


def save(trace: Trace, path: str | Path, *, layer: int | None = None, head: int | None = None) -> None:
    """All maps as a picture, or the whole trace as JSON, by the suffix of the path."""
    path = check(path)
    try:
        if path.suffix.lower() == ".json":
            path.write_text(to_json(trace), encoding="utf-8")
        else:
            save_figure(trace.figure(layer=layer, head=head), path)
    except OSError as error:
        raise RegardError(f"{path} cannot be written: {error.strerror}") from None


def save_figure(fig: Figure, path: str | Path) -> None:
    """Like Figure.savefig, and silent on letters that no font of the machine has: the picture shows a box for each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        fig.savefig(path, dpi=fig.dpi, metadata={"Software": None} if str(path).lower().endswith(".png") else None)


def check(path: str | Path) -> Path:
    """A path that save can write to, or a RegardError, before any work is done for it."""
    path = Path(path)
    if path.suffix.lower() not in (".png", ".json"):
        raise RegardError(f"{path} ends in neither .png nor .json: a picture is written as .png, its numbers as .json")
    return path
