"""Pictures ⇄ addresses that hold them: data:image/png;base64,…"""

from __future__ import annotations

import base64
import binascii
import io
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from PIL import Image

from regard.data.image import read_picture
from regard.errors import DataError


class Given(NamedTuple):
    """An image file that lies in memory, and is opened as one on disk is."""

    content: bytes

    def open(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self.content)

    def __str__(self) -> str:
        return "the picture"


def from_address(address: str) -> np.ndarray:
    """The pixels (H, W, C) of an image file."""
    if not address:
        raise DataError("there is no picture to look at: choose an image file")
    try:
        content = base64.b64decode(address.partition(";base64,")[2], validate=True)
    except (binascii.Error, ValueError):
        raise DataError("the picture is not valid base64: choose an image file") from None
    return read_picture(cast(Path, Given(content)))


def to_address(pixels: np.ndarray) -> str:
    """Pixels (H, W, C) as a PNG."""
    file = io.BytesIO()
    Image.fromarray(pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels).save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
