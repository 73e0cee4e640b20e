"""How good a translator is after so many minutes: Multi30k from raw files, `regard train --time` and nothing else.

    .venv/bin/python benchmarks/minutes.py --times 5m 10m 20m --seeds 1 2 3 --out runs/minutes
    .venv/bin/python benchmarks/minutes.py --times 20m --seeds 1 2 3 --together --out runs/minutes
    .venv/bin/python benchmarks/minutes.py --times 20m --seeds 1 2 3 --together --one-core --out runs/minutes
    .venv/bin/python benchmarks/minutes.py --into fr --times 20m --out runs/minutes
    .venv/bin/python benchmarks/minutes.py --picture docs/pictures/minutes.png --out runs/minutes

Every run is a process of its own, given the files and the time alone (and a recipe, if one is named); then it is scored
on the test set of 2016 with beam 5, as sacreBLEU does, and as older papers did, tokenised and lowercased. With
--together, the networks of all seeds also decide together, which takes as long to train as all of them. With
--one-core, one thread in this process is given twice the time, counted by the processor and not by the clock: as much
processor time on a busy machine, where two of these can run side by side. What is done already is not done again:
results.jsonl in the output folder has a line for each. The picture shows those of one language, by the clock or with
--one-core those.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import torch
from matplotlib.figure import Figure

import regard
from regard.config import read_recipe
from regard.training import checkpoint
from regard.training.deadline import Deadline, seconds_in

DATA = Path(os.environ.get("REGARD_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "multi30k"
LANGUAGES = {"de": ("German", "#0072b2"), "fr": ("French", "#d55e00")}


class Kind(NamedTuple):
    """What runs of several seeds have in common."""

    into: str
    time: str
    recipe: str
    one_core: bool

    @classmethod
    def of(cls, result: dict[str, Any]) -> Kind:
        return cls(*(result[name] for name in cls._fields))

    @property
    def named(self) -> str:
        return f"{self.recipe} --time {self.time}".strip() + (" on one core" if self.one_core else "")

    def folder(self, seed: int, out: Path) -> Path:
        recipe, core = [Path(self.recipe).stem] * bool(self.recipe), ["one-core"] * self.one_core
        return out / "-".join([self.into, self.time, str(seed), *recipe, *core])


def scored(run: regard.Run, into: str) -> dict[str, Any]:
    found = regard.evaluate(run, DATA / "test_2016_flickr.en.gz", DATA / f"test_2016_flickr.{into}.gz")
    return {
        "bleu": round(found.bleu.score, 2),
        "low": round(found.bleu.low, 1),
        "high": round(found.bleu.high, 1),
        "chrf": round(found.chrf.score, 2),
        "tokenised_lowercased": round(found.bleu_tokenised_lowercased.score, 2),
        "signature": found.bleu.signature,
        "date": time.strftime("%Y-%m-%d"),
    }


def by_the_clock(kind: Kind, seed: int, out: Path) -> float:
    """Train by the command alone, in a process of its own, and tell how many seconds it took."""
    given = [part for name, path in files(kind.into).items() for part in (f"--{name.replace('_', '-')}", path)]
    asked = [*([kind.recipe] if kind.recipe else []), *given, "--languages", f"en,{kind.into}", "--time", kind.time]
    where = ["--set", f"train.seed={seed}", "--out", str(kind.folder(seed, out)), "--overwrite"]
    began = time.monotonic()
    subprocess.run([Path(sys.executable).with_name("regard"), "train", *asked, *where], check=True)
    return time.monotonic() - began


def by_the_processor(kind: Kind, seed: int, out: Path) -> float:
    """The same by one thread for twice the time, as its processor counts it, and half of what it took."""
    torch.set_num_threads(1)
    settings = read_recipe(Path(kind.recipe)) if kind.recipe else {}
    settings["data"] = {**settings.get("data", {}), **files(kind.into), "languages": ["en", kind.into]}
    settings["train"] = {**settings.get("train", {}), "seed": seed}
    deadline = Deadline(2 * seconds_in(kind.time), clock=time.process_time)
    began = time.process_time()
    regard.train(settings, kind.folder(seed, out), time=deadline, on="cpu", overwrite=True)
    return (time.process_time() - began) / 2


def files(into: str) -> dict[str, str]:
    parts = {"source": "train.en", "target": f"train.{into}", "valid_source": "val.en", "valid_target": f"val.{into}"}
    return {name: str(DATA / f"{part}.gz") for name, part in parts.items()}


def measure(kind: Kind, seed: int, out: Path) -> dict[str, Any]:
    seconds = (by_the_processor if kind.one_core else by_the_clock)(kind, seed, out)
    folder = kind.folder(seed, out)
    run = regard.load(folder, on="cpu")
    state = checkpoint.path_of(folder, checkpoint.steps(folder)[-1]) / "state.json"
    return {
        **kind._asdict(),
        "seed": seed,
        "minutes": round(seconds / 60, 2),
        "steps": run.settings.train.steps,
        "tokens": json.loads(state.read_text())["tokens"],
        **scored(run, kind.into),
    }


def together(group: list[dict[str, Any]], out: Path) -> dict[str, Any]:
    """Runs of one kind and several seeds, deciding together: what they took in all, and their score."""
    kind = Kind.of(group[0])
    runs = [regard.load(kind.folder(each["seed"], out), on="cpu") for each in group]
    return {
        **kind._asdict(),
        "seed": named([each["seed"] for each in group]),
        **{name: sum(each[name] for each in group) for name in ("minutes", "steps", "tokens")},
        **scored(regard.ensemble(runs), kind.into),
    }


def told(done: list[dict[str, Any]]) -> str:
    """A line for each, and one for the mean of seeds."""
    lines = [
        "| into | command | took, min | steps | target tokens | BLEU | 95 % | tokenised, lowercased |",
        "|---" * 8 + "|",
    ]
    same: dict[Kind, list[dict[str, Any]]] = defaultdict(list)
    for each in done:
        how = f"`{Kind.of(each).named}`, seed {each['seed']}"
        scores = f"{each['bleu']:.2f} | {each['low']} – {each['high']} | {each['tokenised_lowercased']:.2f}"
        lines.append(
            f"| {each['into']} | {how} | {each['minutes']:.2f} | {each['steps']:,} | {each['tokens']:,} | {scores} |"
        )
        if alone(each):
            same[Kind.of(each)].append(each)
    for kind, group in same.items():
        if len(group) > 1:
            scores = [each["bleu"] for each in group]
            spread = f"{min(scores):.2f} – {max(scores):.2f}"
            lines.append(f"{kind.into} {kind.named}: mean of {len(group)} seeds {mean(scores):.2f}, from {spread}")
    return "\n".join(lines)


def named(seeds: list[int]) -> str:
    """Several networks as one."""
    return " + ".join(map(str, seeds))


def alone(result: dict[str, Any]) -> bool:
    """Whether it is one network's."""
    return isinstance(result["seed"], int)


def draw(done: list[dict[str, Any]], into: str, path: Path) -> None:
    """BLEU against the minutes that were given, every run a dot, their means a line, and several together a star."""
    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    axes = figure.subplots()
    name, colour = LANGUAGES[into]
    scores: dict[float, list[float]] = defaultdict(list)
    for each in done:
        if not each["recipe"] and alone(each):
            scores[seconds_in(each["time"]) / 60].append(each["bleu"])
    minutes = sorted(scores)
    axes.plot(minutes, [mean(scores[each]) for each in minutes], color=colour, label=f"English → {name}")
    for each in minutes:
        axes.plot([each] * len(scores[each]), scores[each], "o", color=colour, markersize=4)
    longest = max((each["minutes"] for each in done), default=0)
    for each in done:
        if not alone(each):
            count = len(each["seed"].split(" + "))
            at = count * seconds_in(each["time"]) / 60, each["bleu"]
            axes.plot(*at, "*", color=colour, markersize=11)
            side = "center" if at[0] < 0.8 * longest else "right"
            label = f"{count} networks of {each['time']} together"
            axes.annotate(label, at, (0, 8), textcoords="offset points", ha=side)
    axes.set(xlabel="minutes, all in all", ylabel="BLEU, test set of 2016, beam 5")
    axes.set_xlim(left=0)
    axes.margins(y=0.1)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", choices=LANGUAGES, default="de")
    parser.add_argument("--times", nargs="*", default=[], metavar="20m")
    parser.add_argument("--seeds", nargs="*", type=int, default=[1])
    parser.add_argument("--recipe", default="")
    parser.add_argument("--out", type=Path, default=Path("runs/minutes"))
    parser.add_argument("--together", action="store_true", help="score the networks of all seeds together, too")
    parser.add_argument("--one-core", action="store_true", help="train by one thread, and count its processor time")
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    results = given.out / "results.jsonl"
    done = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []

    def note(result: dict[str, Any]) -> None:
        done.append(result)
        with results.open("a") as file:
            file.write(json.dumps(result) + "\n")

    for limit in given.times:
        kind = Kind(given.into, limit, given.recipe, given.one_core)
        group = {each["seed"]: each for each in done if Kind.of(each) == kind}
        for seed in given.seeds:
            if seed not in group:
                group[seed] = measure(kind, seed, given.out)
                note(group[seed])
        if given.together and named(given.seeds) not in group:
            note(together([group[seed] for seed in given.seeds], given.out))
    print(told(done))
    if given.picture:
        alike = [each for each in done if (each["into"], each["one_core"]) == (given.into, given.one_core)]
        draw(alike, given.into, given.picture)


if __name__ == "__main__":
    main()
