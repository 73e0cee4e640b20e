"""How good a translator is after so many minutes: Multi30k from raw files, `regard train --time` and nothing else.

    .venv/bin/python benchmarks/minutes.py --times 5m 10m 20m --seeds 1 2 3 --out runs/minutes
    .venv/bin/python benchmarks/minutes.py --times 20m --seeds 1 2 3 --together --out runs/minutes
    .venv/bin/python benchmarks/minutes.py --into fr --times 20m --out runs/minutes
    .venv/bin/python benchmarks/minutes.py --picture docs/pictures/minutes.png --out runs/minutes

Every run is a process of its own, given the files and the time alone (and a recipe, if one is named); then it is scored
on the test set of 2016 with beam 5, as sacreBLEU does, and as older papers did, tokenised and lowercased. With
--together, the networks of all seeds also decide together, which takes as long to train as all of them. What is done
already is not done again: results.jsonl in the output folder has a line for each. The picture shows all that are there.
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
from typing import Any

from matplotlib.figure import Figure

import regard
from regard.training import checkpoint
from regard.training.deadline import seconds_in

DATA = Path(os.environ.get("REGARD_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "multi30k"
LANGUAGES = {"de": ("German", "#0072b2"), "fr": ("French", "#d55e00")}


def folder_of(into: str, limit: str, seed: int, recipe: str, out: Path) -> Path:
    return out / "-".join([into, limit, str(seed), *([Path(recipe).stem] if recipe else [])])


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


def measure(into: str, limit: str, seed: int, recipe: str, out: Path) -> dict[str, Any]:
    folder = folder_of(into, limit, seed, recipe, out)
    files = {
        "--source": DATA / "train.en.gz",
        "--target": DATA / f"train.{into}.gz",
        "--valid-source": DATA / "val.en.gz",
        "--valid-target": DATA / f"val.{into}.gz",
    }
    given = [str(part) for pair in files.items() for part in pair]
    asked = [*([recipe] if recipe else []), *given, "--languages", f"en,{into}", "--time", limit]
    command = [
        Path(sys.executable).with_name("regard"),
        "train",
        *asked,
        "--set",
        f"train.seed={seed}",
        "--out",
        str(folder),
    ]
    began = time.monotonic()
    subprocess.run([*command, "--overwrite"] if folder.exists() else command, check=True)
    seconds = time.monotonic() - began
    run = regard.load(folder, on="cpu")
    state = checkpoint.path_of(folder, checkpoint.steps(folder)[-1]) / "state.json"
    return {
        "into": into,
        "time": limit,
        "seed": seed,
        "recipe": recipe,
        "minutes": round(seconds / 60, 2),
        "steps": run.settings.train.steps,
        "tokens": json.loads(state.read_text())["tokens"],
        **scored(run, into),
    }


def together(group: list[dict[str, Any]], out: Path) -> dict[str, Any]:
    """Runs of one kind and several seeds, deciding together: what they took in all, and their score."""
    into, limit, recipe = kind(group[0])
    runs = [regard.load(folder_of(into, limit, each["seed"], recipe, out), on="cpu") for each in group]
    return {
        **{"into": into, "time": limit, "recipe": recipe},
        "seed": named([each["seed"] for each in group]),
        **{name: sum(each[name] for each in group) for name in ("minutes", "steps", "tokens")},
        **scored(regard.ensemble(runs), into),
    }


def told(done: list[dict[str, Any]]) -> str:
    """A line for each, and one for the mean of seeds."""
    lines = [
        "| into | command | took, min | steps | target tokens | BLEU | 95 % | tokenised, lowercased |",
        "|---" * 8 + "|",
    ]
    same: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for each in done:
        how = f"`{each['recipe']} --time {each['time']}`, seed {each['seed']}".replace("` ", "`")
        scores = f"{each['bleu']:.2f} | {each['low']} – {each['high']} | {each['tokenised_lowercased']:.2f}"
        lines.append(
            f"| {each['into']} | {how} | {each['minutes']:.2f} | {each['steps']:,} | {each['tokens']:,} | {scores} |"
        )
        if alone(each):
            same[kind(each)].append(each)
    for (into, limit, recipe), group in same.items():
        if len(group) > 1:
            scores = [each["bleu"] for each in group]
            spread = f"{min(scores):.2f} – {max(scores):.2f}"
            lines.append(f"{into} {recipe} {limit}: mean of {len(group)} seeds {mean(scores):.2f}, from {spread}")
    return "\n".join(lines)


def named(seeds: list[int]) -> str:
    """Several networks as one."""
    return " + ".join(map(str, seeds))


def kind(result: dict[str, Any]) -> tuple[str, str, str]:
    """What runs of several seeds have in common."""
    return result["into"], result["time"], result["recipe"]


def alone(result: dict[str, Any]) -> bool:
    """Whether it is one network's."""
    return isinstance(result["seed"], int)


def draw(done: list[dict[str, Any]], path: Path) -> None:
    """BLEU against the minutes that were given, every run a dot, their means a line, and several together a star."""
    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    axes = figure.subplots()
    for into, (name, colour) in LANGUAGES.items():
        scores: dict[float, list[float]] = defaultdict(list)
        for each in done:
            if each["into"] == into and not each["recipe"] and alone(each):
                scores[seconds_in(each["time"]) / 60].append(each["bleu"])
        if scores:
            minutes = sorted(scores)
            axes.plot(minutes, [mean(scores[each]) for each in minutes], color=colour, label=f"English → {name}")
            dots = [(each, score) for each in minutes for score in scores[each]]
            axes.plot(*zip(*dots, strict=True), "o", color=colour, markersize=4)
        for each in done:
            if each["into"] == into and not alone(each):
                count = len(each["seed"].split(" + "))
                label = f"{count} networks of {each['time']} together"
                at = count * seconds_in(each["time"]) / 60, each["bleu"]
                axes.plot(*at, "*", color=colour, markersize=11, label=label)
    axes.set(xlabel="minutes, all in all", ylabel="BLEU, test set of 2016, beam 5")
    axes.set_xlim(left=0)
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
        group = {each["seed"]: each for each in done if kind(each) == (given.into, limit, given.recipe)}
        for seed in given.seeds:
            if seed not in group:
                group[seed] = measure(given.into, limit, seed, given.recipe, given.out)
                note(group[seed])
        if given.together and named(given.seeds) not in group:
            note(together([group[seed] for seed in given.seeds], given.out))
    print(told(done))
    if given.picture:
        draw(done, given.picture)


if __name__ == "__main__":
    main()
