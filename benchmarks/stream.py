"""Memory while much text streams through `regard translate`: it should rise to a level and stay there.

    .venv/bin/python benchmarks/stream.py RUN ../shared/data/multi30k/test_2016_flickr.en.gz --lines 100000
    .venv/bin/python benchmarks/stream.py RUN ../shared/data/multi30k/test_2016_flickr.en.gz --megabytes 10

The file's lines are repeated, each numbered, so that no two are alike: through a pipe, or as a document of so many
megabytes. Prints the resident memory at every tenth of the lines that have come back, the rate, and whether as many
came out as went in.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Thread

from regard.data.corpus import read_lines

REGARD = [sys.executable, "-c", "from regard.cli import main; main()", "translate"]


def numbered(lines: list[str]) -> Iterator[str]:
    for number in count():
        yield f"{number}: {lines[number % len(lines)]}\n"


def resident(process: int) -> float:
    """Megabytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def pipe(run: Path, lines: list[str], total: int, options: list[str]) -> None:
    process = subprocess.Popen([*REGARD, str(run), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin
    assert process.stdout
    into = process.stdin

    def feed() -> None:
        for _, line in zip(range(total), numbered(lines), strict=False):
            into.write(line)
        into.close()

    Thread(target=feed, daemon=True).start()
    began, came = time.perf_counter(), 0
    for came, _ in enumerate(process.stdout, 1):
        if came % (total // 10) == 0:
            rate = came / (time.perf_counter() - began)
            print(f"{came:>8,} lines  {resident(process.pid):7.0f} MB  {rate:6.0f} lines/s", flush=True)
    check(process.wait(), came, total)


def check(code: int, came: int, went: int) -> None:
    if code or came != went:
        raise SystemExit(f"exit code {code}, {came} of {went} lines came back")


def document(run: Path, lines: list[str], megabytes: float, options: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "long.txt", Path(folder) / "out.txt"
        written = 0
        with path.open("w", encoding="utf-8") as file:
            for line in numbered(lines):
                written += file.write(line)
                if written > megabytes * 1e6:
                    break
        process = subprocess.Popen([*REGARD, str(run), str(path), "--out", str(out), *options])
        began = time.perf_counter()
        while process.poll() is None:
            print(f"{time.perf_counter() - began:6.0f} s  {resident(process.pid):7.0f} MB")
            time.sleep(20)
        came, went = (sum(1 for _ in each.open("rb")) for each in (out, path))
        check(process.returncode, came, went)
        print(f"{went:,} lines in {time.perf_counter() - began:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--megabytes", type=float, help="a document of this size, in place of a pipe")
    given, options = parser.parse_known_args()
    lines = read_lines(given.source)
    if given.megabytes:
        document(given.run, lines, given.megabytes, options)
    else:
        pipe(given.run, lines, given.lines, options)


if __name__ == "__main__":
    main()
