"""GPT-3: GPT-2 in which every second block looks back over a band alone."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.model.gpt import Gpt
from regard.model.mask import banded


class Gpt3(Gpt):
    """Dense and locally banded sparse attention by turns                           Brown et al. 2020, section 2.1"""

    def masks(self, length: int, past: int, device: torch.device) -> list[Tensor]:
        near = banded(length, self.config.band, past, device)
        return [mask & near if layer % 2 else mask for layer, mask in enumerate(super().masks(length, past, device))]
