"""Positions written out as a table, for those who do not compute them as we do."""

from __future__ import annotations

from torch import Tensor, nn

from regard.config import DecodeConfig, TranslatorConfig
from regard.model.position import Learned, Sinusoidal

MOST = 1 << 16  # rows of a table of sinusoids, whatever the settings say


def count(config: TranslatorConfig, decode: DecodeConfig) -> int:
    """How many positions to write out where ours know no end: what a longest translation needs, and more."""
    if config.position == "learned":
        return config.max_positions
    return min(max(config.max_positions, decode.max_length + 1), MOST)


def table(position: nn.Module, rows: int) -> Tensor:
    """Row by row what a position adds, (rows, D)."""
    match position:
        case Learned():
            return position.table[position.offset :]
        case Sinusoidal():
            return position.rows(rows)
        case other:
            raise TypeError(f"{type(other).__name__} adds nothing that a table could hold")
