"""Folders that come from elsewhere, and folders that go there."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.errors import RunError

LIMIT = 1 << 26  # bytes of any file that is not the parameters, far more than a vocabulary takes


@contextmanager
def written_whole(out: Path) -> Iterator[Path]:
    """A new folder to fill, which becomes `out` once it is complete; where that fails, nothing is left of it."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(f"{out} already exists: give the name of a new folder, or remove it first")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as error:
        raise RunError(f"{out} cannot be written: {error.strerror}") from None
    try:
        yield place
        place.chmod(0o755)  # mkdtemp makes it for the owner alone
        if out.is_dir():
            out.rmdir()
        place.rename(out)
    except OSError as error:
        raise RunError(f"{out} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(place, ignore_errors=True)


def inside(folder: Path, name: str) -> Path:
    """A file of that name which lies in the folder itself, and nowhere that a link leads to."""
    path = folder / name
    if path.exists() and not path.resolve().is_relative_to(folder.resolve()):
        raise RunError(f"{path} is a link that leads out of its folder: copy the folder with cp -rL first")
    return path


def read(folder: Path, name: str) -> bytes:
    path = inside(folder, name)
    try:
        if path.stat().st_size > LIMIT:
            raise RunError(f"{path} is larger than {LIMIT:,} bytes, which none of its kind is: copy the folder again")
        return path.read_bytes()
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from None


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """A JSON object, or an empty one where there is no such file."""
    if not inside(folder, name).exists():
        return {}
    try:
        given = json.loads(read(folder, name))
    except (ValueError, RecursionError) as error:
        raise RunError(f"{folder / name} is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise RunError(f"{folder / name} is not a JSON object: copy the folder again")
    return given


def write_json(folder: Path, name: str, given: Any) -> None:
    (folder / name).write_text(json.dumps(given, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
