"""Where a token stands, added to what it is.

Attention alone does not know the order of what it looks at; each of these adds a vector to every position. What turns
queries and keys instead, or biases their scores, is in order.py.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.errors import ConfigError


def sinusoids(positions: Tensor, width: int, base: float = 10_000.0, layout: str = "halves") -> Tensor:
    """One row of sines and cosines for each position, (T, D).

        PE(pos, 2i)     = sin(pos / base^(2i / D))             Vaswani et al. 2017, section 3.5
        PE(pos, 2i + 1) = cos(pos / base^(2i / D))

    That is the interleaved layout. The halves layout holds the same numbers, all sines first, then all cosines. The
    spread layout is halves with exponents 2i / (D − 2), so that the last is 1: tensor2tensor's, and M2M100's.
    """
    last = width - 2 if layout == "spread" else width
    exponents = torch.arange(0, width, 2, dtype=torch.float64, device=positions.device) / max(last, 1)  # (D/2)
    angles = positions.to(torch.float64).unsqueeze(1) / base**exponents  # (T, D/2)
    if layout in ("halves", "spread"):
        table = torch.cat([angles.sin(), angles.cos()], dim=1)
    elif layout == "interleaved":
        table = torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)
    else:
        raise ConfigError(f"layout={layout!r} is neither halves nor interleaved nor spread")
    return table.to(torch.get_default_dtype())


class Sinusoidal(nn.Module):
    """Adds sinusoids; the table is computed, never learned nor saved, and grows with the longest sentence seen."""

    def __init__(self, width: int, base: float = 10_000.0, layout: str = "halves", offset: int = 0):
        super().__init__()
        self.width, self.base, self.layout, self.offset = width, base, layout, offset
        self.register_buffer("table", self.rows(64), persistent=False)

    def rows(self, count: int, device: torch.device | None = None) -> Tensor:
        return sinusoids(torch.arange(count, device=device) + self.offset, self.width, self.base, self.layout)

    def between(self, start: int, end: int, device: torch.device) -> Tensor:
        """The rows of these positions, (T, D)."""
        table = self.table
        if end > table.size(0):  # another thread may need another length at this moment: each takes what it has seen
            with torch.inference_mode(False):  # grown in a validation, it serves the training after
                table = self.table = self.rows(2 * end, device).to(table.dtype)
        return table[start:end]

    def forward(self, x: Tensor, past: int = 0) -> Tensor:
        return x + self.between(past, past + x.size(1), x.device)  # (B, T, D) + (T, D)


class Learned(nn.Module):
    """Adds a learned row for each position up to a fixed number; `offset` rows before them stay unread."""

    def __init__(self, width: int, positions: int, offset: int = 0):
        super().__init__()
        self.offset = offset
        self.table = nn.Parameter(torch.randn(offset + positions, width) * 0.02)

    def rows(self) -> Tensor:
        return self.table[self.offset :]

    def forward(self, x: Tensor, past: int = 0) -> Tensor:
        rows, end = self.rows(), past + x.size(1)
        if end > len(rows):
            raise ConfigError(
                f"a sequence of {end} tokens does not fit model.max_positions={len(rows)}: "
                "shorten it, or train with more positions"
            )
        return x + rows[past:end]


class TextThenGrid(Learned):
    """Adds a learned row for each position of a text, and to each place of a grid behind it its row's and its column's.

    The grid stands row by row in the sequence                                        Ramesh et al. 2021, appendix B.1
    """

    def __init__(self, width: int, text: int, grid: tuple[int, int]):
        super().__init__(width, text)
        self.row, self.column = (nn.Parameter(torch.randn(count, width) * 0.02) for count in grid)

    def rows(self) -> Tensor:
        return torch.cat([self.table, (self.row[:, None] + self.column).flatten(0, 1)])


class Unordered(nn.Module):
    """Adds nothing: attention over a bag of tokens."""

    def forward(self, x: Tensor, past: int = 0) -> Tensor:
        return x
