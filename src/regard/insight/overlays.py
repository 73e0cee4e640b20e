"""Trace → pictures of a picture: what was looked at in it, or what each patch looked at while it was painted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from rich.cells import cell_len

from regard.insight.figures import ORANGE, block, caption, one_map, within
from regard.insight.pictures import grid
from regard.insight.trace import Patches, Trace
from regard.insight.words import words

FINE = 96  # pixels along the shorter side of an overlay, at least
STRONGEST = 0.8  # how much of the picture the colour hides where most is looked at

Overlay = tuple[str, np.ndarray]  # what it shows, and a share for each patch, (rows, columns)


def figure(trace: Trace, *, layer: int | None = None, head: int | None = None) -> Figure:
    """The picture, and beside it the same under colour: the stronger, the more was looked at.

    Of a picture that was seen: what the class token looks at in each layer, or without one the mean of all patches, and
    the roll-out. Of one that was painted: how much each patch looked at each word, in the last layer unless told.
    """
    patches = patches_of(trace)
    shown = list(painted(trace, layer, head) if trace.read else seen(trace, layer, head))
    pictures = [fine(patches), *(laid_over(patches, share) for _, share in shown)]
    captions = [trace.translation, *(name for name, _ in shown)]
    return grid(np.stack(pictures), captions, title=trace.text)


def seen(trace: Trace, layer: int | None, head: int | None) -> Iterator[Overlay]:
    maps = trace.encoder  # (L, H, N, N)
    for number in range(len(maps)) if layer is None else [within(layer, len(maps), "layer")]:
        for name, weights in by_head(maps[number], head, all_heads=layer is not None):
            yield f"layer {number + 1}{name}", looked_at(trace, weights)
    if layer is None and head is None:
        yield f"roll-out of {len(maps)} layers", looked_at(trace, trace.rollout("encoder")[-1])


def by_head(maps: np.ndarray, head: int | None, all_heads: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Of (H, N, N): one head, or each, or their mean."""
    if head is None and not all_heads:
        yield "", maps.mean(0)
    else:
        for number in range(len(maps)) if head is None else [within(head, len(maps), "head")]:
            yield f", head {number + 1}", maps[number]


def looked_at(trace: Trace, weights: np.ndarray) -> np.ndarray:
    """How much of (N, N) goes from the class token, or on the mean from all patches, to each patch, (rows, columns)."""
    patches = patches_of(trace)
    looking = weights[0] if patches.row else weights.mean(0)
    return looking[patches.column :].reshape(patches.grid)


def painted(trace: Trace, layer: int | None, head: int | None) -> Iterator[Overlay]:
    """For each word of the text, how much each patch looked at it when it was painted."""
    patches = patches_of(trace)
    weights = one_map(trace, "decoder", -1 if layer is None else layer, head)[patches.row :]  # (patches, C)
    for word in words(trace.read[: patches.column]):
        if word.text != "<pad>":
            yield word.text, weights[:, word.start : word.end].sum(-1).reshape(patches.grid)


def fine(patches: Patches) -> np.ndarray:
    """The picture in fine pixels and in colour, (H, W, 3), 0 … 1."""
    height, width = patches.pixels.shape[:2]
    finer = -(-FINE // min(height, width))
    return np.broadcast_to(patches.pixels, (height, width, 3)).repeat(finer, 0).repeat(finer, 1) / 255


def laid_over(patches: Patches, shares: np.ndarray) -> np.ndarray:
    """The same in grey under colour, the strongest where a share is the largest."""
    grey = fine(patches).mean(-1, keepdims=True)
    (rows, columns), (height, width, _) = patches.grid, grey.shape
    down, across = np.arange(height) * rows // height, np.arange(width) * columns // width  # the patch of each pixel
    strength = STRONGEST * shares[down][:, across, None] / max(float(shares.max()), 1e-9)
    return (1 - strength) * grey + strength * np.array(to_rgb(ORANGE))


def terminal(trace: Trace, *, layer: int = -1, head: int | None = None) -> str:
    """What was looked at in the picture, or the word that each patch looked at most, in plain characters."""
    patches, [kind] = patches_of(trace), trace.kinds
    weights, title = one_map(trace, kind, layer, head), caption(trace, kind, layer, head)
    if trace.read:
        told = f"{title}: the word that each patch looks at most"
        columns = words(trace.read[: patches.column])
        shares = np.add.reduceat(weights[patches.row :, : patches.column], [word.start for word in columns], axis=1)
        names = [columns[most].text for most in shares.argmax(-1)]
        wide = max(map(cell_len, names))
        cells = np.array([name + " " * (wide - cell_len(name) + 2) for name in names]).reshape(patches.grid)
    else:
        told = f"{title}: what the whole looks at, █ most"
        shares = looked_at(trace, weights)
        cells = [[block(share, 2) for share in row] for row in shares / shares.max()]
    return "\n".join([told, "", *("".join(row).rstrip() for row in cells)]) + "\n"


def patches_of(trace: Trace) -> Patches:
    assert trace.patches is not None
    return trace.patches
