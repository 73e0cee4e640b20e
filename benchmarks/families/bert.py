"""What pre-training brings: BERT on Tatoeba's English, then 2,000 labels that tell real sentences from swapped ones.

    .venv/bin/python benchmarks/families/bert.py --out runs/families

A swapped sentence has two neighbouring words in each other's place, neither the first nor the last one: no word,
capital or full stop gives it away. Four classifiers learn from the same 2,000 sentences, half of them swapped, and are
judged on the same others, which pre-training has not seen either: the pre-trained network, the same network and
tokenizer untrained, and logistic regression over the counts of words, and of words and pairs of words. The first two
learn once with each seed. What is there already is not done again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import torch

import regard
from regard.data.corpus import read_table

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("REGARD_DATA", ROOT.parent / "shared" / "data")) / "tatoeba"
LABELS = {"train": 2000, "valid": 500, "test": 2000}
UNLABELLED = 6000  # more sentences of the same kind, for distilbert.py: a teacher says what they are
FINE = {"optimizer": "adamw", "learning_rate": 5e-4, "schedule": "cosine", "batch_tokens": 2048}


def sentences(part: str) -> list[str]:
    """Each English sentence of a part of Tatoeba once; no two parts share one."""
    return list(dict.fromkeys(pair.source for pair in read_table(DATA / f"en-de.{part}.tsv.xz")))


def swapped(sentence: str, choose: random.Random) -> str | None:
    """The sentence with two neighbouring words within it swapped; None where no two that differ are."""
    words = sentence.split(" ")
    places = [place for place in range(1, len(words) - 2) if words[place].lower() != words[place + 1].lower()]
    if not places:
        return None
    place = choose.choice(places)
    words[place], words[place + 1] = words[place + 1], words[place]
    return " ".join(words)


def write_files(folder: Path, seed: int) -> None:
    """Text to learn from, and labelled sentences, half of them swapped."""
    folder.mkdir(parents=True, exist_ok=True)
    train, valid, test = (sentences(part) for part in ("train", "valid", "test"))
    for name, lines in (("english", train), ("english.valid", valid)):
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    choose = random.Random(seed)
    for (part, count), lines in zip(LABELS.items(), (train, valid, test), strict=True):
        fit = [line for line in lines if swapped(line, choose) is not None]
        rows = []
        for number, line in enumerate(choose.sample(fit, min(count, len(fit)))):
            rows.append(f"{swapped(line, choose)}\tswapped\n" if number % 2 else f"{line}\treal\n")
        (folder / f"swapped.{part}.tsv").write_text("".join(rows), encoding="utf-8")
    labelled = {pair.source for pair in read_table(folder / "swapped.train.tsv")}
    fit = [line for line in train if line not in labelled and swapped(line, choose) is not None]
    more = [swapped(line, choose) if number % 2 else line for number, line in enumerate(choose.sample(fit, UNLABELLED))]
    (folder / "unlabelled.txt").write_text("".join(f"{line}\n" for line in more), encoding="utf-8")


def once(folder: Path, make: Callable[[], Any]) -> regard.Run:
    """The run in a folder, trained if it is not there."""
    if not (folder / "model.safetensors").is_file():
        make()
    return regard.load(folder, on="cpu")


def pretrained(out: Path, name: str, **train: Any) -> regard.Run:
    data = {"text": str(out / "english.txt"), "valid_text": str(out / "english.valid.txt"), "documents": "lines"}
    given = {"data": data, "model": {"family": "bert"}, "train": train}
    return once(out / name, lambda: regard.train(given, out / name, on="cpu", overwrite=True))


def finetuned(out: Path, start: str, steps: int, seed: int, labels: str = "swapped") -> regard.Run:
    """A classifier that starts from the run of a name, and learns from labelled sentences."""
    data = {"labelled": str(out / f"{labels}.train.tsv"), "valid_labelled": str(out / "swapped.valid.tsv")}
    train = {"task": "classify", "start_from": str(out / start), "steps": steps, "seed": seed, "choose_by": "accuracy"}
    folder = out / f"{start}-{labels}-{seed}"
    given = {"data": data, "train": {**FINE, **train, "validate_every": max(1, steps // 8)}}
    return once(folder, lambda: regard.train(given, folder, on="cpu", overwrite=True))


def judged(out: Path, run: regard.Run) -> float:
    """Its accuracy on the test sentences."""
    return regard.evaluate_classes(run, out / "swapped.test.tsv").accuracy


def counted(out: Path, features: Callable[[list[str]], Iterable[str]]) -> float:
    """The accuracy of logistic regression over counts of what sentences have, with the decay that validates best."""
    parts = {
        part: [
            (pair.source.lower().split(), pair.target == "swapped") for pair in read_table(out / f"swapped.{part}.tsv")
        ]
        for part in LABELS
    }
    known = {
        name: place for place, name in enumerate(sorted({f for words, _ in parts["train"] for f in features(words)}))
    }

    def matrix(rows: Sequence[tuple[list[str], bool]]) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.zeros(len(rows), len(known))
        for row, (words, _) in enumerate(rows):
            for name, count in Counter(features(words)).items():
                if name in known:
                    x[row, known[name]] = count
        return x, torch.tensor([float(label) for _, label in rows])

    (x, y), valid, test = (matrix(parts[part]) for part in LABELS)

    def learned(decay: float) -> torch.Tensor:
        weights = torch.zeros(len(known) + 1, requires_grad=True)
        optimizer = torch.optim.LBFGS([weights], max_iter=100)

        def loss() -> torch.Tensor:
            optimizer.zero_grad()
            value = torch.nn.functional.binary_cross_entropy_with_logits(x @ weights[:-1] + weights[-1], y)
            value = value + decay * weights.square().sum()
            value.backward()
            return value

        optimizer.step(loss)
        return weights.detach()

    def accuracy(weights: torch.Tensor, part: tuple[torch.Tensor, torch.Tensor]) -> float:
        return ((part[0] @ weights[:-1] + weights[-1] > 0) == (part[1] > 0.5)).float().mean().item()

    best = max((learned(decay) for decay in (1e-1, 1e-2, 1e-3, 1e-4)), key=lambda weights: accuracy(weights, valid))
    return accuracy(best, test)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/families"))
    parser.add_argument("--steps", type=int, default=4000, help="of pre-training")
    parser.add_argument("--fine-steps", type=int, default=400)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    given = parser.parse_args()
    write_files(given.out, seed=1)
    pretrained(given.out, "bert", steps=given.steps)
    pretrained(given.out, "untrained", steps=1, learning_rate=1e-12)
    result: dict[str, Any] = {
        name: [judged(given.out, finetuned(given.out, start, given.fine_steps, seed)) for seed in given.seeds]
        for name, start in (("pre-trained", "bert"), ("from scratch", "untrained"))
    }
    result["words"] = [counted(given.out, lambda words: words)]
    result["words and pairs"] = [counted(given.out, lambda words: [*words, *map(" ".join, pairwise(words))])]
    for name, accuracies in result.items():
        print(f"{name:16} {100 * mean(accuracies):6.2f} %   {', '.join(f'{100 * each:.2f}' for each in accuracies)}")
    (given.out / "bert.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
