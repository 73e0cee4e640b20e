"""Our own search over many sources: longest first, side by side with their likes, and the same text in any batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from regard.config import DecodeConfig
from regard.data.batch import pad
from regard.decoding.search import Found, Watch, search
from regard.languages import lead_of
from regard.run import Run
from regard.workers import workers

BATCH = 64  # sentences decoded together
MARGIN = 1e-4  # a choice closer than this may fall otherwise in another batch: that sentence is decoded again, alone


class TorchEngine:
    """The reference: every family, every setting, every device."""

    name = "torch"

    def __init__(self, run: Run, batch: int = BATCH):
        self.run, self.batch = run, batch

    def search(self, sources: Sequence[list[int]], config: DecodeConfig, best: int | None = None) -> list[Found]:
        """What is found for each source; all of the beam, whatever number is asked for."""
        longest_first = sorted(range(len(sources)), key=lambda index: -len(sources[index]))
        batches = [longest_first[start : start + self.batch] for start in range(0, len(sources), self.batch)]
        given = [[sources[index] for index in batch] for batch in batches]
        found = [Found()] * len(sources)
        for batch, results in zip(batches, self.each(given, config), strict=True):
            for index, result in zip(batch, results, strict=True):
                found[index] = result
        return found

    def each(self, batches: Sequence[list[list[int]]], config: DecodeConfig) -> Iterable[list[Found]]:
        """What is found for each batch, which on a CPU workers decode side by side."""
        count = min(torch.get_num_threads(), len(batches)) if self.run.device.type == "cpu" else 1
        side_by_side = workers(count).map if count > 1 else map
        return side_by_side(lambda batch: decode_surely(self.run, batch, config), batches)


def decode_surely(run: Run, sources: Sequence[list[int]], config: DecodeConfig) -> list[Found]:
    """What is found for a batch; of what hung on a hair, what is found for it alone."""
    found = decode_batch(run, sources, config)
    if len(sources) == 1:
        return found
    return [
        decode_batch(run, [source], config)[0] if each.margin < MARGIN else each
        for source, each in zip(sources, found, strict=True)
    ]


def decode_batch(
    run: Run,
    sources: Sequence[list[int]],
    config: DecodeConfig,
    cached: bool = True,
    prefix: Sequence[int] = (),
    watch: Watch | None = None,
) -> list[Found]:
    """What is found for a batch; translations begin with what leads them, and then with the prefix."""
    source = pad(sources)
    lengths = torch.tensor([len(ids) for ids in sources])
    readable = torch.arange(source.size(1)) < lengths.unsqueeze(1)
    given = [[*lead_of(ids), *prefix] for ids in sources]
    limits = [max(len(ids), limit) for ids, limit in zip(given, limits_of(sources, config), strict=True)]
    never = torch.tensor(run.target_tokenizer.unwritten)
    source, readable = source.to(run.device), readable.to(run.device)
    return search(run.model, source, readable, config, limits, never, cached, given, watch)


def limits_of(sources: Sequence[list[int]], config: DecodeConfig) -> list[int]:
    """How many tokens the translation of each source may have."""
    return [min(config.max_length, int(config.max_ratio * len(ids)) + 10) for ids in sources]
