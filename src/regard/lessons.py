"""What a run keeps beside its model, learned at the end of training: each thing a small JSON file of its folder."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from regard.config import Config, to_json
from regard.errors import RunError

C = TypeVar("C", bound=Config)


def keep(what: Config, path: Path) -> None:
    path.write_text(to_json(what), encoding="utf-8")


def kept(kind: type[C], path: Path) -> C | None:
    """What a file holds; nothing where there is none."""
    try:
        return kind.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):  # pydantic's complaints are ValueErrors
        raise RunError(f"{path} is damaged: copy it again, or delete it to do without") from None
