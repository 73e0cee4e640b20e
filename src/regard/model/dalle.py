"""DALL-E: a GPT that reads a text and writes on with a picture, code by code, over one joint vocabulary."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.model.gpt import Gpt
from regard.model.mask import banded, strided
from regard.model.position import TextThenGrid


class Dalle(Gpt):
    """ids (B, T) of a text and then of a picture → logits (B, T, V) of the id that follows each     Ramesh et al. 2021

    The ids of text come first in the vocabulary, then the codes of pictures. A text is padded to its fixed length, so
    that a code's place in the sequence is its place in the grid, row by row.
    """

    tasks = ("paint",)

    def places(self) -> nn.Module:
        """A vector for each place in the text, and for each row and each column of the grid."""
        config = self.config
        learned = config.position == "learned"
        return TextThenGrid(config.width, config.text_length, config.grid) if learned else super().places()

    def masks(self, length: int, past: int, device: torch.device) -> list[Tensor]:
        """All that went before; or, where it is sparse, the text, and of the picture a row's worth or the same column.

        Every fourth block looks along columns, beginning with the second (ibid., appendix B.1); the paper's last block,
        which looks at a square around a code, is left out.
        """
        dense = super().masks(length, past, device)
        if not self.config.sparse:
            return dense
        columns = self.config.grid[1]
        text = torch.arange(past + length, device=device) < self.config.text_length  # (S,): keys that are text
        row, column = text | banded(length, columns, past, device), text | strided(length, columns, past, device)
        return [mask & (column if layer % 4 == 1 else row) for layer, mask in enumerate(dense)]
