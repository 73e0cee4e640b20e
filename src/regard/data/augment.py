"""Other pictures of the same: what a small corpus is stretched by. Batches of pixels (N, H, W, C) in and out.

Each function leaves what it was given as it is, and draws from the generator that it is handed: the same state of it
gives the same pictures.
"""

from __future__ import annotations

import numpy as np

Random = np.random.Generator


def shifted(pixels: np.ndarray, most: int, random: Random) -> np.ndarray:
    """Each picture moved by up to `most` pixels down and across; what comes in at the edge repeats it."""
    count, height, width, _ = pixels.shape
    down, across = random.integers(-most, most + 1, (2, count, 1))
    rows = np.clip(np.arange(height) + down, 0, height - 1)  # (N, H)
    columns = np.clip(np.arange(width) + across, 0, width - 1)  # (N, W)
    return pixels[np.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]]


def flipped(pixels: np.ndarray, random: Random) -> np.ndarray:
    """Half of the pictures mirrored, left for right. Not for digits and letters, which it makes into others."""
    mirrored = random.random(len(pixels)) < 0.5
    return np.where(mirrored[:, None, None, None], pixels[:, :, ::-1], pixels)


def erased(pixels: np.ndarray, side: int, random: Random) -> np.ndarray:
    """A square of each picture, grey noise (Zhong et al. 2020); at the edge only a part of it falls on the picture."""
    count, height, width, channels = pixels.shape
    down = np.arange(height) - random.integers(0, height, (count, 1))  # (N, H) from the middle of the square
    across = np.arange(width) - random.integers(0, width, (count, 1))
    square = (abs(down) * 2 < side)[:, :, None] & (abs(across) * 2 < side)[:, None, :]  # (N, H, W)
    changed = pixels.copy()
    changed[square] = random.integers(0, 256, (int(square.sum()), channels), dtype=np.uint8)
    return changed
