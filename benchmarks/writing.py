"""How well a small GPT foretells Shakespeare after so much work: characters of tinyshakespeare, its last tenth unseen.

    .venv/bin/python benchmarks/writing.py --processor-time 6m --set model.width=192

The recipe gpt-shakespeare.toml, with the changes that are given, trained for a processor time (6 minutes are 3 on two
cores) by one thread, and judged on the whole last tenth. Processor time is counted and not the clock's, so that a busy
machine takes little away. Each result is a line of JSON, printed and added to results.jsonl in the output folder.
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

from regard.config import Settings, override, read_recipe, validate
from regard.training import checkpoint, tasks
from regard.training.deadline import Deadline, seconds_in
from regard.training.foretell import foretell
from regard.training.train import train_into

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("REGARD_DATA", ROOT.parent / "shared" / "data")) / "tinyshakespeare" / "input.txt.xz"


def measure(changes: list[str], limit: str, out: Path) -> dict[str, Any]:
    recipe = read_recipe(ROOT / "recipes" / "gpt-shakespeare.toml")
    recipe["data"] = {**recipe["data"], "text": str(DATA)}
    settings = validate(Settings, override(recipe, changes), "benchmark")
    corpus = tasks.choose(settings).read(settings)
    deadline = Deadline(seconds_in(limit), clock=time.process_time)
    folder = out / ("-".join(change.replace("=", "-") for change in changes) or "recipe")
    run = train_into(folder, settings, corpus, deadline=deadline, on="cpu", overwrite=True)
    used = deadline.seconds + time.process_time() - deadline.at
    state = checkpoint.path_of(folder, checkpoint.steps(folder)[-1]) / "state.json"
    return {
        "changes": changes,
        "processor_time": limit,
        "processor_seconds": round(used),
        "steps": run.settings.train.until or run.settings.train.steps,
        "tokens": json.loads(state.read_text())["tokens"],
        "parameters": run.size,
        "loss": {
            f"stride {stride}": round(foretell(run, corpus.valid, stride).loss, 4) for stride in strides(run.window)
        },
        "machine": platform.processor() or platform.machine(),
        "date": time.strftime("%Y-%m-%d"),
    }


def strides(window: int) -> list[int]:
    """Blocks side by side, half of each overlapping, and nearly full context for every character."""
    return [window, window // 2, window // 8]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processor-time", default="6m")
    parser.add_argument("--out", type=Path, default=Path("runs/writing"))
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    given = parser.parse_args()
    torch.set_num_threads(1)
    result = json.dumps(measure(given.set, given.processor_time, given.out))
    print(result)
    with (given.out / "results.jsonl").open("a") as file:
        file.write(f"{result}\n")


if __name__ == "__main__":
    main()
