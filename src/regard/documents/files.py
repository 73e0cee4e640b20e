"""A document's file: read in its own encoding, written beside and put in its place when it is whole."""

from __future__ import annotations

import codecs
import io
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from regard.errors import DataError

BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
BOM = "\ufeff"
HEAD = 4096  # bytes in which a file says its encoding


def encoding_of(path: Path, declared: re.Pattern[bytes] | None) -> str:
    """UTF-8, unless a byte order mark, or what the file declares, says other."""
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: give the path of a document") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder: give the path of a document") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    for mark, encoding in BOMS.items():
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        raise DataError(f"{path} holds a NUL, which text has none of: save the file as UTF-8 text")
    found = declared.search(head) if declared else None
    encoding = found[1].decode("ascii") if found else "utf-8"
    try:
        io.TextIOWrapper(io.BytesIO(), encoding)
    except LookupError:
        raise DataError(f"{path} declares the encoding {encoding!r}, which is unknown: save it as UTF-8") from None
    return encoding


@contextmanager
def opened(path: Path, encoding: str) -> Iterator[TextIO]:
    """The text of a file, with its line ends as they are."""
    with path.open(encoding=encoding, newline="") as stream:
        try:
            yield stream
        except UnicodeDecodeError as error:
            raise undecodable(path, error.encoding) from None


def undecodable(path: Path, encoding: str) -> DataError:
    """Says where; the decoder knew only the place in its buffer."""
    content = path.read_bytes()
    try:
        content.decode(encoding)
    except UnicodeDecodeError as error:
        line, byte = content.count(b"\n", 0, error.start) + 1, content[error.start]
        return DataError(f"{path}, line {line}: byte 0x{byte:02x} is not {encoding.upper()}: save the file as UTF-8")
    return DataError(f"{path} changed while it was read: try again")


@contextmanager
def written_whole(out: Path, encoding: str, errors: str) -> Iterator[TextIO]:
    """A file to write that becomes `out` once it is complete; where that fails, `out` is as it was before."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{out.name}-", dir=out.parent)
    except OSError as error:
        raise DataError(f"{out} cannot be written: {error.strerror}") from None
    place = Path(name)
    try:
        with os.fdopen(handle, "w", encoding=encoding, errors=errors, newline="") as stream:
            yield stream
            stream.flush()
            os.fsync(handle)
        place.chmod(out.stat().st_mode if out.exists() else 0o666 & ~umask())
        place.replace(out)
    except UnicodeEncodeError as error:
        wanted = error.object[error.start]
        raise DataError(f"{out} cannot hold {wanted!r} in {encoding}: save the document as UTF-8 first") from None
    except OSError as error:
        raise DataError(f"{out} cannot be written: {error.strerror or error}") from None
    finally:
        place.unlink(missing_ok=True)


def umask() -> int:
    """What files of this process do not grant to others; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
