"""How often a sentence hangs by so little that it is decoded again, alone, and what that costs.

    .venv/bin/python benchmarks/invariance.py runs/m30k ../shared/data/multi30k/test_2016_flickr.en.gz

Translates the same lines at batch 1, 7 and 64 and shuffled, without the cache, and with a trace; counts the lines that
differ (none should), and times batch 64 with and without the second look, interleaved.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import regard
from regard.data.corpus import read_lines
from regard.decoding import torch_engine as module
from regard.run import Run


def translations(run: Run, lines: list[str], to: str | None, batch: int) -> tuple[list[str], float]:
    began = time.perf_counter()
    texts = [each.text for each in regard.translate(run, lines, to, engine="torch", batch=batch)]
    return texts, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("--to")
    given = parser.parse_args()
    run, lines = regard.load(given.run), read_lines(given.source)
    looks = module.MARGIN

    counted = []
    decode_batch = module.decode_batch
    module.decode_batch = lambda *arguments: counted.append(len(arguments[1])) or decode_batch(*arguments)
    reference, _ = translations(run, lines, given.to, batch=64)
    again = sum(size == 1 for size in counted)
    module.decode_batch = decode_batch
    print(f"{again} of {len(lines)} sentences were decoded a second time, alone ({again / len(lines):.1%})")

    def told(name: str, texts: Sequence[str]) -> None:
        print(f"{name}: {sum(a != b for a, b in zip(texts, reference, strict=True))} lines differ from batch 64")

    for batch in (1, 7):
        told(f"batch {batch}", translations(run, lines, given.to, batch)[0])
    order = random.Random(1).sample(range(len(lines)), len(lines))
    shuffled = dict(zip(order, translations(run, [lines[i] for i in order], given.to, batch=64)[0], strict=True))
    told("shuffled", [shuffled[i] for i in range(len(lines))])
    module.decode_batch = partial(decode_batch, cached=False)
    told("without the cache", translations(run, lines, given.to, batch=64)[0])
    module.decode_batch = decode_batch
    told("with a trace", [regard.explain(run, line, given.to).translation for line in lines])

    seconds = {True: 0.0, False: 0.0}
    differ = 0
    for _ in range(3):
        for second_look in (True, False):
            module.MARGIN = looks if second_look else 0.0
            texts, took = translations(run, lines, given.to, batch=64)
            seconds[second_look] += took
            differ += 0 if second_look else sum(a != b for a, b in zip(texts, reference, strict=True))
    print(f"the second look costs {seconds[True] / seconds[False] - 1:.1%} of the time at batch 64")
    print(f"without it {differ // 3} lines would differ at batch 64 from what they are alone")


if __name__ == "__main__":
    main()
