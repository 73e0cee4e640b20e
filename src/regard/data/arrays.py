"""Arrays from files: NumPy's .npz and MNIST's IDX. Nothing pickled is read, and nothing beyond LIMIT bytes."""

from __future__ import annotations

import lzma
import math
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np

from regard.data.corpus import LIMIT, open_binary
from regard.errors import DataError

BYTES = 0x08  # how an IDX file says that its numbers are unsigned bytes
DAMAGED = (EOFError, OSError, ValueError, MemoryError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error)


def npz_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz by their names."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > LIMIT:
            raise DataError(f"{path} holds {size:,} bytes, more than {LIMIT:,}: split it into smaller files")
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: give the path of an .npz") from None
    except DAMAGED as error:
        if "pickle" in str(error):
            raise DataError(
                f"{path} holds pickled objects, which could run code: save plain arrays, and texts as np.array(texts)"
            ) from None
        raise DataError(f"{path} cannot be read as an .npz: save it again with np.savez") from None


def idx_array(path: Path, dimensions: int) -> np.ndarray:
    """The bytes of an IDX file, plain or compressed: 0, 0, type, number of dimensions, their sizes, the numbers."""
    try:
        with open_binary(path) as stream:
            zero, kind, found = struct.unpack(">HBB", stream.read(4))
            if (zero, kind, found) != (0, BYTES, dimensions):
                raise DataError(
                    f"{path} is no IDX file of bytes in {dimensions} dimensions: give one as MNIST has them"
                )
            shape = struct.unpack(f">{dimensions}I", stream.read(4 * dimensions))
            size = math.prod(shape)
            if size > LIMIT:
                raise DataError(f"{path} says that it holds {size:,} bytes, more than {LIMIT:,}: split it")
            numbers = stream.read(size + 1)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: IDX files come in pairs, images and labels") from None
    except DAMAGED:
        raise DataError(f"{path} cannot be read, being cut short, damaged or no IDX file: fetch it again") from None
    if len(numbers) != size:
        raise DataError(f"{path} does not hold the {size:,} bytes that it says it does: fetch it again")
    return np.frombuffer(numbers, dtype=np.uint8).reshape(shape)
