"""What each setting does for quality at a fixed cost: one change at a time, on Multi30k, English → German.

    .venv/bin/python benchmarks/ablation.py --processor-time 20m --out runs/ablation
    .venv/bin/python benchmarks/ablation.py --variants "train.weight_decay=0.3 model.dropout=0.2" --out runs/ablation

Every variant is the recipe laptop.toml with the changes that its name stands for, or those that are named in its place,
trained for the same processor time (20 minutes are 10 on two cores) by one thread, chosen on the validation set and
then scored on the test set of 2016 with beam 5. Processor time is counted and not the clock's, so that a busy machine,
or another variant beside this one, takes little away. The baseline runs with three seeds, which shows how much of a
difference is luck. What is done already is not done again: results.jsonl in the output folder has a line for each.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

import torch

import regard
from regard.config import Settings, override, read_recipe, validate
from regard.training import checkpoint
from regard.training.deadline import Deadline, seconds_in

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("REGARD_DATA", ROOT.parent / "shared" / "data")) / "multi30k"

VARIANTS: dict[str, list[str]] = {
    "baseline": [],
    "baseline, seed 2": ["train.seed=2"],
    "baseline, seed 3": ["train.seed=3"],
    "no weight decay": ["train.weight_decay=0"],
    "AdamW": ["train.optimizer=adamw"],
    "random start": ["train.start=random"],
    "post-norm": ["model.norm=post", "train.learning_rate=2e-3"],
    "batches of 4,096": ["train.batch_tokens=4096"],
    "4,000 pieces": ["tokenizer.size=4000"],
    "dropout 0.2": ["model.dropout=0.2"],
    "no label smoothing": ["train.label_smoothing=0"],
    "R-Drop": ["train.r_drop=3"],
}


def settings(changes: list[str]) -> Settings:
    files = {
        "source": DATA / "train.en.gz",
        "target": DATA / "train.de.gz",
        "valid_source": DATA / "val.en.gz",
        "valid_target": DATA / "val.de.gz",
    }
    recipe: dict[str, Any] = read_recipe(ROOT / "recipes" / "laptop.toml")
    recipe["data"] = {**{key: str(path) for key, path in files.items()}, "languages": ["en", "de"]}
    return validate(Settings, override(recipe, changes), "ablation")


def measure(name: str, limit: str, out: Path) -> dict[str, Any]:
    deadline = Deadline(seconds_in(limit), clock=time.process_time)
    changes = VARIANTS.get(name, name.split())
    chosen = settings(changes)
    folder = out / name.replace(" ", "-").replace(",", "")
    run = regard.train(chosen, folder, time=deadline, overwrite=True)
    seconds = deadline.seconds + time.process_time() - deadline.at
    to = "de" if chosen.data.both_ways else None
    files = [[DATA / f"{part}.{side}.gz" for side in ("en", "de")] for part in ("val", "test_2016_flickr")]
    valid, test = (regard.evaluate(run, source, target, to) for source, target in files)
    return {
        "name": name,
        "changes": changes,
        "processor_time": limit,
        "processor_seconds": round(seconds),
        "steps": run.settings.train.steps,
        "tokens": tokens_seen(folder),
        "valid": round(valid.bleu.score, 2),
        "test": round(test.bleu.score, 2),
        "chrf": round(test.chrf.score, 2),
        "signature": test.bleu.signature,
        "machine": platform.processor() or platform.machine(),
        "date": time.strftime("%Y-%m-%d"),
    }


def tokens_seen(folder: Path) -> int:
    state = checkpoint.path_of(folder, checkpoint.steps(folder)[-1]) / "state.json"
    return json.loads(state.read_text())["tokens"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processor-time", default="20m")
    parser.add_argument("--out", type=Path, default=Path("runs/ablation"))
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), metavar="NAME")
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.out.mkdir(parents=True, exist_ok=True)
    results = given.out / "results.jsonl"
    done = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    for name in given.variants:
        if not any((each["name"], each["processor_time"]) == (name, given.processor_time) for each in done):
            done.append(measure(name, given.processor_time, given.out))
            with results.open("a") as file:
                file.write(json.dumps(done[-1]) + "\n")
    print("| | validation BLEU | test 2016 BLEU | chrF | steps | tokens |\n|---|---|---|---|---|---|")
    for each in done:
        scores = " | ".join(f"{each[part]:.1f}" for part in ("valid", "test", "chrf"))
        print(f"| {each['name']} | {scores} | {each['steps']:,} | {each['tokens']:,} |")


if __name__ == "__main__":
    main()
