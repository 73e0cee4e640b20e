"""What all settings have in common: they are frozen, they know every key they take, and their sizes have bounds."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

LARGEST = 2**31 - 1  # no size that a machine could hold comes near it, and below it none overflows
Count = Annotated[int, Field(ge=1, le=LARGEST)]
Whole = Annotated[int, Field(ge=0, le=LARGEST)]
Depth = Annotated[int, Field(ge=1, le=1000)]  # building takes time for each layer, before any other check can act
Share = Annotated[float, Field(ge=0, lt=1)]


class Config(BaseModel):
    """Settings that cannot change once made, and that know every key they take."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
