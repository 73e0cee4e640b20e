"""How much of BERT is left in half of it: DistilBERT, taught by the BERT of bert.py, on the same 2,000 labels.

    .venv/bin/python benchmarks/families/distilbert.py --out runs/families

It needs what benchmarks/families/bert.py leaves in the same folder. The student starts from every other layer of its
teacher and learns from the same text what that finds likely; then both are fine-tuned in the same way, with each seed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import mean
from typing import Any

from bert import finetuned, once

import regard


def taught(out: Path, teacher: Path, **train: Any) -> regard.Run:
    data = {"text": str(out / "english.txt"), "valid_text": str(out / "english.valid.txt"), "documents": "lines"}
    given = {"data": data, "model": {"family": "distilbert"}, "train": {"teacher": str(teacher), **train}}
    return once(out / "distilbert", lambda: regard.train(given, out / "distilbert", on="cpu", overwrite=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/families"))
    parser.add_argument("--steps", type=int, default=4000, help="of distillation, as many as its teacher had")
    parser.add_argument("--fine-steps", type=int, default=400)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    given = parser.parse_args()
    teacher = regard.load(given.out / "bert", on="cpu")
    student = taught(given.out, given.out / "bert", steps=given.steps)
    runs = {"teacher": teacher, "student": student}
    found = {
        name: [finetuned(given.out, run, given.fine_steps, seed) for seed in given.seeds] for name, run in runs.items()
    }
    for name, run in runs.items():
        layers, each = run.settings.model.layers, ", ".join(f"{100 * share:.2f}" for share in found[name])
        print(f"{name}: {layers} layers, {run.size:,} parameters, {100 * mean(found[name]):.2f} %   {each}")
    print(f"the student keeps {100 * mean(found['student']) / mean(found['teacher']):.1f} % of its teacher's accuracy")
    (given.out / "distilbert.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
