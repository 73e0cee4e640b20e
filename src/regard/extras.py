"""Packages that come with an extra: what needs one says which."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from regard.errors import RegardError


def needed(module: str, extra: str = "export") -> ModuleType:
    """A module, if it is there."""
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise RegardError(f"this needs {package}, which is not installed: pip install 'regard[{extra}]'") from None
