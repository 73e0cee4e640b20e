"""How well a ViT trained here tells pictures apart: scikit-learn's digits on five fixed splits, and Fashion-MNIST.

    python benchmarks/families/vit.py digits
    python benchmarks/families/vit.py fashion /usr/share/datasets/fashion-mnist

The second takes the folder of Debian's package dataset-fashion-mnist, whose test set is used once, at the end. Recipes:
recipes/vit-digits.toml and recipes/vit-fashion.toml. Time is told by the clock and by the processor, which another
program's work does not change.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import mean
from typing import Any

from regard.config import Settings, read_recipe, validate
from regard.data.labelled import Parts
from regard.data.pictures import Pictures, digits, read_idx, split
from regard.decoding.intake import intake
from regard.training.accuracy import Accuracy, judged
from regard.training.train import train_into

RECIPES = Path(__file__).parents[2] / "recipes"
SPLITS = range(5)  # seeds
CLASSES = ("T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")


def trained(recipe: str, corpus: Parts[Pictures], test: Pictures) -> tuple[Accuracy, float, float]:
    """How a run of a recipe does on pictures kept for the end, and the seconds and processor seconds it took."""
    settings = validate(Settings, read_recipe(RECIPES / recipe), recipe)
    clock, processor = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        run = train_into(Path(folder) / "run", settings, corpus, on="cpu")
        took = time.perf_counter() - clock, time.process_time() - processor
        takes: Any = intake(run)
        return judged(run, takes, takes.labelled(test.under(run.settings.data.labels))), *took


def benchmark_digits() -> None:
    """A fifth of the digits is kept for the end, and a tenth of the rest validates."""
    found = []
    for seed in SPLITS:
        rest, test = split(digits(), 0.2, seed)
        result, clock, processor = trained("vit-digits.toml", Parts(*split(rest, 0.1, seed)), test)
        found.append(result.accuracy)
        took = f"{clock:.0f} s, {processor:.0f} s of processor"
        print(f"split {seed}: {100 * result.accuracy:.2f} % of {result.examples}, {took}", flush=True)
    print(
        f"mean of {len(found)} splits: {100 * mean(found):.2f} %, from {100 * min(found):.2f} to {100 * max(found):.2f}"
    )


def benchmark_fashion(folder: Path) -> None:
    """5,000 of the 60,000 training pictures validate; the 10,000 of the test set are kept for the end."""
    rest, test = (named(read_idx(folder / f"{part}-images-idx3-ubyte.gz")) for part in ("train", "t10k"))
    result, clock, processor = trained("vit-fashion.toml", Parts(*split(rest, 1 / 12, 0)), test)
    print(f"{result}\n{clock:.0f} s, {processor:.0f} s of processor")


def named(pictures: Pictures) -> Pictures:
    return Pictures(pictures.pixels, pictures.labels, CLASSES)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["digits"]:
            benchmark_digits()
        case ["fashion", folder]:
            benchmark_fashion(Path(folder))
        case _:
            sys.exit(__doc__)
