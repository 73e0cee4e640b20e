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


def workers(count: int) -> ThreadPoolExecutor:
    """So many, made once; where torch has more threads than that, each worker gets several."""
    return pool(count, max(1, torch.get_num_threads() // count))


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
