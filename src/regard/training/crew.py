"""Workers that each compute a part of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch

from regard.data.batch import Batch
from regard.model.dropout import drawing_from
from regard.workers import threads, workers

LEAST = 400  # tokens of work in a part: below, more parts cost more than they bring

T = TypeVar("T")


class Crew:
    """As many workers as torch has threads. Each takes rows of a batch and computes them by itself.

    Every part draws its dropout from a generator of its own, seeded by torch's: whichever thread is faster, a run
    with the same number of threads is the same run.
    """

    def __init__(self, device: torch.device):
        self.threads = torch.get_num_threads() if device.type == "cpu" else 1

    def cut(self, batch: Batch) -> Sequence[Batch]:
        """The batch in parts of like size."""
        return batch.cut(max(1, min(self.threads, batch.work // LEAST)))

    def each(self, work: Callable[[Batch], T], parts: Sequence[Batch]) -> Iterator[T]:
        """What the work gives for every part, in their order."""
        if len(parts) == 1:
            with threads(self.threads):
                done = work(parts[0])
            yield done
            return

        def draw_and_work(part: Batch, seed: int) -> T:
            with drawing_from(torch.Generator().manual_seed(seed)):
                return work(part)

        seeds = torch.randint(2**62, (len(parts),)).tolist()
        yield from workers(len(parts), self.threads).map(draw_and_work, parts, seeds)
