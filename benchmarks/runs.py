"""How fast several runs decode the same text on one engine, beside each other: deep and shallow ones, say.

    .venv/bin/python benchmarks/runs.py ../shared/data/multi30k/test_2016_flickr.en.gz runs/deep runs/shallow

They take turns in each round; a ratio is of two times in one round, against the first run, and what is printed is the
median.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from time import perf_counter

import regard
from regard.data.corpus import read_lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    lines = read_lines(given.source)
    loaded = {folder: regard.load(folder, on="cpu") for folder in given.runs}
    times: dict[Path, list[float]] = {folder: [] for folder in given.runs}
    for number in range(given.rounds + 1):  # the first is for warmth
        for folder, run in loaded.items():
            began = perf_counter()
            list(regard.translate(run, lines, engine=given.engine))
            if number:
                times[folder].append(perf_counter() - began)
    for folder, took in times.items():
        ratio = median(first / mine for first, mine in zip(times[given.runs[0]], took, strict=True))
        print(f"{folder}: {len(lines) / median(took):.0f} sentences/s, {ratio:.2f} ×")


if __name__ == "__main__":
    main()
