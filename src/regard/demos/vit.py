"""The demo of ViT: the Transformer's encoder, given pictures in place of sentences, tells what is on them.

The pictures are scikit-learn's handwritten digits. Where that is not installed, they are shapes of our own, and what is
tested has pairs of colour and shape that were held out: to tell a red circle, it must know circles from their form.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from rich.console import Console

from regard.data import shapes
from regard.data.labelled import Parts
from regard.data.pictures import Pictures, digits, split
from regard.data.shapes.scene import SHAPES
from regard.decoding.classify import Classified, classify
from regard.decoding.intake import intake
from regard.demos.tour import keep, seeded, teller
from regard.errors import DataError
from regard.insight.figures import save_figure
from regard.insight.pictures import grid
from regard.training.accuracy import Accuracy, judged
from regard.training.train import train_into

SHOWN = 24  # pictures
ALONE = {"train": 4000, "valid": 200, "unseen": 400}  # shapes, one in each picture

MODEL: dict[str, Any] = {"family": "vit", "width": 64, "hidden": 128, "heads": 4, "layers": 4, "summary": "mean"}
TRAIN: dict[str, Any] = {
    "batch_tokens": 1024,
    "optimizer": "muon",
    "schedule": "cosine",
    "learning_rate": 4e-3,
    "weight_decay": 0.05,
    "choose_by": "accuracy",
}
MANY, FEW = {"steps": 1200, "validate_every": 600}, {"steps": 500, "validate_every": 250, "batch_tokens": 2048}


@dataclass(frozen=True)
class Material:
    """Pictures in three parts, and the settings that suit them."""

    what: str
    parts: Parts[Pictures]
    test: Pictures
    settings: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Findings:
    """What the demo measured; `demo.json` of its run."""

    seed: int
    seconds: float  # of training
    what: str
    test: Accuracy


def demo(out: str | Path = "runs/demo-vit", *, seed: int = 1, on: str = "auto") -> Findings:
    """Train a small ViT for a fixed number of steps, and show what it sees."""
    folder, console = Path(out), teller()
    material = of_digits(seed) or of_shapes(seed, console)
    console.rule("1  A Transformer looks at pictures, patch by patch", align="left")
    count, side = len(material.parts.train), material.settings["model"]["patch"]
    console.print(f"{count:,} {material.what}; to the network each is a sentence of patches of {side} × {side}.")
    began = time.perf_counter()
    given = {**material.settings, "train": {**TRAIN, **material.settings["train"]}}
    run = train_into(folder, seeded(given, seed), material.parts, on=on, overwrite=True)
    seconds = time.perf_counter() - began

    console.rule("2  How often it is right on pictures that it has never seen", align="left")
    takes = intake(run)
    found = judged(run, takes, takes.labelled(material.test.under(run.settings.data.labels)))
    console.print(str(found), markup=False)
    findings = Findings(seed, seconds, material.what, found)
    keep(findings, folder)

    console.rule("3  What it says to some of them", align="left")
    some = material.test.at(np.arange(SHOWN))
    answers = list(classify(run, some.pixels, top=2))
    save_figure(told(some, answers), folder / "pictures.png")
    first = some.pixels[0]
    Image.fromarray(first.squeeze(-1) if first.shape[-1] == 1 else first).save(folder / "one.png")
    for each in answers[:5]:
        both = zip(each.labels, each.probabilities, strict=True)
        console.print("  " + ", ".join(f"{label} {share:.1%}" for label, share in both))
    console.print(f"{folder / 'pictures.png'} has {SHOWN} of them.")

    console.rule("4  Yours now", align="left")
    console.print(
        f"{folder} is a run: a folder with the model, its settings and its card.\n"
        "Try next:\n"
        f"  regard classify {folder} {folder / 'one.png'} --top 3\n"
        f"  regard explore {folder}\n"
        "  regard train --pictures photos/ --out runs/photos --time 10m      (a folder for each class in photos/)",
        markup=False,
    )
    return findings


def of_digits(seed: int) -> Material | None:
    """The digits, a fifth of them for the end; nothing where scikit-learn is not installed."""
    try:
        rest, test = split(digits(), 0.2, seed)
    except DataError:
        return None
    settings = {
        "data": {"pictures": "digits", "shift": 1},
        "model": {**MODEL, "patch": 2},
        "train": MANY,
    }
    return Material("handwritten digits of 8 × 8 pixels", Parts(*split(rest, 0.1, seed)), test, settings)


def of_shapes(seed: int, console: Console) -> Material:
    """Pictures of one thing each, to be told by its shape."""
    console.print("scikit-learn, whose digits this demo reads, is not installed: shapes of our own take their place.")
    train, valid, test = (by_shape(shapes.alone(part, count, seed)) for part, count in ALONE.items())
    settings = {
        "data": {"pictures": "shapes"},
        "model": {**MODEL, "patch": 4},
        "train": FEW,
    }
    return Material("shapes of 32 × 32 pixels", Parts(train, valid), test, settings)


def by_shape(pictures: Pictures) -> Pictures:
    """Pictures of one thing each; its shape is their class."""
    things = (shapes.parse(caption).things[0] for caption in pictures.captions)
    return Pictures(pictures.pixels, np.array([SHAPES.index(thing.shape) for thing in things]), SHAPES)


def told(pictures: Pictures, answers: list[Classified]) -> Figure:
    """Pictures, and below each what the network says it is."""
    captions = [f"{each.labels[0]}  {each.probabilities[0]:.0%}" for each in answers]
    return grid(pictures.pixels, captions, columns=6, title="What it says they are")
