"""What is told to the person who waits, on stderr: data alone goes to stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

T = TypeVar("T")


def say(text: str) -> None:
    """One line."""
    Console(stderr=True, highlight=False).print(text, markup=False, soft_wrap=True)


def counted(items: Iterable[T], what: str) -> Iterator[T]:
    """The items, and on a terminal a line that says how many have passed, unless they are printed there themselves."""
    console = Console(stderr=True)
    shown = console.is_terminal and not sys.stdout.isatty()
    columns = [TextColumn("{task.completed:,.0f} {task.description}, {task.speed:,.0f} a second"), TimeElapsedColumn()]
    with Progress(*columns, console=console, disable=not shown) as progress:
        task = progress.add_task(what, total=None)
        for item in items:
            yield item
            progress.advance(task)
