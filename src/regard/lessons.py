"""What validation taught, kept beside the model: each lesson a small JSON file of the run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from regard.config import Config, to_json
from regard.errors import RunError

C = TypeVar("C", bound=Config)


def save(lesson: Config, path: Path) -> None:
    path.write_text(to_json(lesson), encoding="utf-8")


def load(kind: type[C], path: Path) -> C | None:
    """The lesson in a file; none where there is no such file."""
    try:
        return kind.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):  # pydantic's complaints are ValueErrors
        raise RunError(f"{path} is damaged: copy it again, or delete it to do without") from None
