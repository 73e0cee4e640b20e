"""Lines in lists: so many that like can be decoded beside like, so few that nobody waits for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from queue import Empty, Queue
from threading import Thread
from typing import TypeVar

T = TypeVar("T")
WINDOW = 1024  # lines that are sorted by length and decoded as a whole
PATIENCE = 0.02  # seconds to wait for one more


def in_windows(given: Iterable[T], most: int = WINDOW) -> Iterator[list[T]]:
    waiting = iter(given)
    return iter(lambda: list(islice(waiting, most)), [])


class AsTheyCome:
    """Lines in lists of what is waiting, at most so many: a pipe fills its lists, a person is answered at once."""

    def __init__(self, lines: Iterable[str], most: int = WINDOW):
        self.lines, self.most = lines, most

    def __iter__(self) -> Iterator[list[str]]:
        queue: Queue[str | BaseException | None] = Queue(maxsize=4 * self.most)

        def read() -> None:
            try:
                for line in self.lines:
                    queue.put(line)
                queue.put(None)
            except BaseException as error:  # a bad line is raised where the lines before it have been dealt with
                queue.put(error)

        Thread(target=read, daemon=True).start()
        while True:
            waiting: list[str] = []
            item = queue.get()
            while isinstance(item, str):
                waiting.append(item)
                if len(waiting) == self.most:
                    break
                try:
                    item = queue.get(timeout=PATIENCE)
                except Empty:
                    break
            if waiting:
                yield waiting
            if isinstance(item, BaseException):
                raise item
            if item is None:
                return
