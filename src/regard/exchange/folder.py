"""Folders that come from elsewhere, and folders that go there."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.errors import RunError

CONFIG, GENERATION = "config.json", "generation_config.json"
ORIGIN, ROWS = "origin", "rows.json"  # where an imported run keeps what the way back needs, and in what order ids were
SMALL = (
    ".json",
    ".txt",
    ".model",
    ".spm",
    ".jinja",
    ".md",
)  # how the files end that a folder has beside its parameters
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


def whole(folder: Path, described: Mapping[str, Any], name: str) -> int:
    """A whole number of a folder's config.json."""
    value = described.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 24:
        raise RunError(f"{folder / CONFIG} has {name}={value!r}, which should be a whole number")
    return value


def keep(folder: Path, run: Path) -> None:
    """The small files that a folder came with, for the way back."""
    (run / ORIGIN).mkdir()
    for path in sorted(folder.iterdir()):
        if path.suffix in SMALL and inside(folder, path.name).is_file():
            (run / ORIGIN / path.name).write_bytes(read(folder, path.name))


def give_back(run: Path, folder: Path, without: Collection[str]) -> None:
    """The files that `keep` kept, but for those that an import wrote beside them."""
    for path in sorted((run / ORIGIN).iterdir()):
        if path.suffix in SMALL and path.name not in without:
            (folder / path.name).write_bytes(read(run, f"{ORIGIN}/{path.name}"))
