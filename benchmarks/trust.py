"""What confidence is worth: calibrated on one file, measured on another.

    .venv/bin/python benchmarks/trust.py runs/m30k ../shared/data/multi30k/{val,test_2016_flickr}.{en,de}.gz

Translates both files with the run's own search. Prints the expected calibration error (mean distance between confidence
and chrF over ten equally filled bins, and over ten equally wide ones), how confidence goes with the chrF of a sentence,
what is left at some least confidence, how often each flag is raised on translations and on references and omission on
translations that were shortened, and what it all costs in processor time. The run's folder is left as it is.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

import regard
from regard.data.corpus import read_pairs
from regard.data.direction import Directed
from regard.decoding.translate import Translation
from regard.decoding.trust import Signals, Written, score, signals
from regard.run import Run
from regard.training.calibrate import chrf, learn_trust

T = TypeVar("T")


def timed(what: Callable[[], T]) -> tuple[T, float]:
    began = time.process_time()
    return what(), time.process_time() - began


def read_and_translate(run: Run, source: Path, target: Path) -> tuple[list[Directed], list[Translation], float]:
    pairs = [Directed(*pair) for pair in read_pairs(source, target)]
    found, seconds = timed(lambda: list(regard.translate(run, [pair.source for pair in pairs], engine="torch")))
    return pairs, found, seconds


def error(confidence: np.ndarray, quality: np.ndarray, bins: list[np.ndarray]) -> float:
    return sum(len(b) * abs(confidence[b].mean() - quality[b].mean()) for b in bins if len(b)) / len(quality)


def ranks(values: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(values))


def report(name: str, confidence: np.ndarray, quality: np.ndarray) -> None:
    filled = np.array_split(np.argsort(confidence), 10)
    wide = [np.flatnonzero((confidence * 10).astype(int).clip(max=9) == place) for place in range(10)]
    errors = [error(confidence, quality, bins) for bins in (filled, wide)]
    pearson = np.corrcoef(confidence, quality)[0, 1]
    spearman = np.corrcoef(ranks(confidence), ranks(quality))[0, 1]
    print(f"{name:22} error {errors[0]:.3f}, {errors[1]:.3f}   Pearson {pearson:.3f}   Spearman {spearman:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("run", "valid_source", "valid_target", "test_source", "test_target"):
        parser.add_argument(name, type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = replace(regard.load(given.run, on="cpu"), folder=Path(folder))
        valid, found, _ = read_and_translate(run, given.valid_source, given.valid_target)
        _, learning = timed(lambda: learn_trust(run, valid, found))
        pairs, found, decoding = read_and_translate(run, given.test_source, given.test_target)
        written = [Written(each.source, each.candidates[0].ids) for each in found]
        judged, judging = timed(lambda: signals(run, written))
        gold = signals(run, [Written(pair.source, run.target_tokenizer.encode(pair.target)) for pair in pairs])
        cut = {size: signals(run, list(shortened(run, found, size))) for size in (1, 3)}

    quality = np.array([chrf(each.text, pair.target) / 100 for each, pair in zip(found, pairs, strict=True)])
    confidence = np.array([each.confidence for each in judged])
    report("confidence", confidence, quality)
    report("geometric mean alone", np.array([score(np.array(each.log_probabilities)) for each in judged]), quality)
    for least in (0.4, 0.5, 0.6, 0.7):
        kept = confidence >= least
        print(
            f"at least {least}: {kept.mean():6.1%} of the lines are kept, mean chrF {100 * quality[kept].mean():.1f}; "
            f"of those left out {100 * quality[~kept].mean():.1f}"
        )
    for name, each in {"translations": judged, "references": gold}.items():
        print(f"flags on {len(each)} {name}: {dict(flags(each))}")
    for size, each in cut.items():
        share = flags(each)["omission"] / len(each)
        print(f"{size} words deleted from {len(each)} translations: omission is raised on {share:.1%}")
    print(f"learning from {len(valid)} pairs {learning:.1f} s, signals of {len(pairs)} lines {judging:.1f} s, ", end="")
    print(f"which is {judging / decoding:.0%} of the {decoding:.1f} s that their search takes")


def shortened(run: Run, found: list[Translation], size: int) -> Iterator[Written]:
    """Translations of six words and more, without some that follow each other, one of which is long."""
    draw = random.Random(size)
    for each in found:
        words = each.text.split()
        places = [at for at in range(1, len(words) - size) if max(map(len, words[at : at + size])) >= 5]
        if len(words) >= 6 and places:
            at = draw.choice(places)
            yield Written(each.source, run.target_tokenizer.encode(" ".join(words[:at] + words[at + size :])))


def flags(judged: list[Signals]) -> Counter[str]:
    return Counter(flag for each in judged for flag in each.flags)


if __name__ == "__main__":
    main()
