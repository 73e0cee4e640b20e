"""What all families have in common: a network knows its settings, and what it can be used for."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import nn


class Network(nn.Module):
    """Made of settings of its family; `tasks` says what it can learn to do, the usual one first."""

    tasks: ClassVar[tuple[str, ...]]
    reads: ClassVar[str] = "texts"  # what it takes in: texts, or pictures
    config: Any
