"""Threads that each compute by themselves, on their own share of the cores.

Torch's own way is to halve every operation between two cores, and a small network is some thousand operations of less
than a millisecond, after each of which one core waits for the other. Workers wait once.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import torch


def workers(count: int, cores: int | None = None) -> ThreadPoolExecutor:
    """So many, made once, on so many cores or as many as torch has threads; where these are more, each gets several."""
    return pool(count, max(1, (cores or torch.get_num_threads()) // count))


@cache
def pool(count: int, threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, "worker", torch.set_num_threads, (threads,))


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Within, torch computes with so many."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
