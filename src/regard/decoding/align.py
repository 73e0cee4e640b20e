"""Which word of the target comes from which word of the source: links, seen in what the decoder looks at.

    links = align(run, ["A man sleeps."], ["Ein Mann schläft."])
    pharaoh(links[0])                                            "0-0 1-1 2-2": source-target, words from 0

Words are what spaces part. A target word is linked to the source word that its tokens look at most; to none where that
is the closing </s>, which is where a head looks that finds nothing. Which heads are asked is told in `heads`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from regard.data.batch import Example
from regard.decoding.heads import choice_of
from regard.decoding.reading import Reading, read
from regard.errors import DataError
from regard.languages import lead_of
from regard.run import Run

MARGIN = 1e-5  # two words looked at as equally as this may change places in another batch

Links = list[tuple[int, int]]


def align(run: Run, sources: Sequence[str], targets: Sequence[str], to: str | None = None) -> list[Links]:
    """The links between each source and its target, by one pass over both."""
    if len(sources) != len(targets):
        raise DataError(f"{len(sources)} sources cannot be aligned with {len(targets)} targets: give as many of each")
    reads, writes = [run.encode_source(source, to) for source in sources], map(run.encode_target, targets)
    examples = [Example(source, [*lead_of(source), *target]) for source, target in zip(reads, writes, strict=True)]
    readings = read(run, examples, choice_of(run).heads, lambda _, reading: hangs(reading))
    return [links_in(reading) for reading in readings]


def pharaoh(links: Iterable[tuple[int, int]]) -> str:
    """Links as Pharaoh and fast_align write them: 0-0 1-2."""
    return " ".join(f"{source}-{target}" for source, target in links)


def links_in(reading: Reading) -> Links:
    """Every target word with the source word that it looks at most, in the order of the target."""
    words = reading.looks.shape[1] - 1
    return [(int(source), target) for target, source in enumerate(reading.looks.argmax(1)) if source < words]


def hangs(reading: Reading) -> bool:
    """Whether some word looks at two others almost equally, so that another batch might link it otherwise."""
    looks = np.sort(reading.looks, axis=1)
    return bool((looks[:, -1:] - looks[:, -2:-1] < MARGIN).any())
