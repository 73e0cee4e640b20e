"""GPT-2: GPT with its norms moved, so that it can be deep."""

from __future__ import annotations

from regard.model.gpt import Gpt


class Gpt2(Gpt):
    """Norms stand before the sublayers, and one more after the last block             Radford et al. 2019, section 2.3

    Nothing but settings: norm=pre, initial=normal-scaled, and twice the positions.
    """
