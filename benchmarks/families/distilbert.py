"""How much of BERT is left in half of it: DistilBERT, taught by the BERT of bert.py, on the same 2,000 labels.

    .venv/bin/python benchmarks/families/distilbert.py --out runs/families

It needs what benchmarks/families/bert.py leaves in the same folder. The student starts from every other layer of its
teacher and learns from the same text what that finds likely. Then teacher and student are fine-tuned in the same way,
with each seed; and the student once more, with what its fine-tuned teacher says of 6,000 sentences that nobody labelled
beside the 2,000 that somebody did: a second distillation, as in Sanh et al. 2019, section 4.1.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import mean
from typing import Any

from bert import finetuned, judged, once

import regard


def taught(out: Path, teacher: Path, **train: Any) -> regard.Run:
    data = {"text": str(out / "english.txt"), "valid_text": str(out / "english.valid.txt"), "documents": "lines"}
    given = {"data": data, "model": {"family": "distilbert"}, "train": {"teacher": str(teacher), **train}}
    return once(out / "distilbert", lambda: regard.train(given, out / "distilbert", on="cpu", overwrite=True))


def told(out: Path, teacher: regard.Run, name: str) -> str:
    """The name of labelled sentences: those that somebody labelled, and more as a teacher labels them."""
    sentences = (out / "unlabelled.txt").read_text(encoding="utf-8").splitlines()
    said = regard.classify(teacher, sentences)
    rows = [f"{text}\t{each.labels[0]}\n" for text, each in zip(sentences, said, strict=True)]
    labelled = (out / "swapped.train.tsv").read_text(encoding="utf-8")
    (out / f"{name}.train.tsv").write_text(labelled + "".join(rows), encoding="utf-8")
    return name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/families"))
    parser.add_argument("--steps", type=int, default=2000, help="of distillation")
    parser.add_argument("--fine-steps", type=int, default=400)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    given = parser.parse_args()
    out, steps = given.out, given.fine_steps
    taught(out, out / "bert", steps=given.steps)
    found = dict[str, list[regard.Run]]()
    found["teacher"] = [finetuned(out, "bert", steps, seed) for seed in given.seeds]
    found["student, taught once"] = [finetuned(out, "distilbert", steps, seed) for seed in given.seeds]
    found["student, taught twice"] = [
        finetuned(out, "distilbert", steps, seed, told(out, teacher, f"told-{seed}"))
        for seed, teacher in zip(given.seeds, found["teacher"], strict=True)
    ]
    accuracies = {name: [judged(out, run) for run in runs] for name, runs in found.items()}
    for name, runs in found.items():
        each, share = accuracies[name], mean(accuracies[name]) / mean(accuracies["teacher"])
        print(
            f"{name}: {runs[0].settings.model.layers} layers, {runs[0].size:,} parameters, {100 * mean(each):.2f} %, "
            f"{100 * share:.1f} % of its teacher's   {', '.join(f'{100 * one:.2f}' for one in each)}"
        )
    (out / "distilbert.json").write_text(json.dumps(accuracies, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
