"""The demo of DALL-E: a GPT reads a caption and goes on with a picture.

It is shown one thing in each picture, of eight colours and six shapes, but for eight combinations such as the red
circle, which it never sees. Then it is asked for those: the armchair in the shape of an avocado, in small. Whether it
paints what was asked for is measured (`data.shapes.reading`) and no matter of taste.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.data import shapes
from regard.data.labelled import Parts
from regard.decoding.paint import Painted, paint_each
from regard.demos.tour import keep, seeded, teller
from regard.insight.figures import save_figure
from regard.insight.painted import save_painted
from regard.insight.pictures import grid
from regard.run import IMAGE, Run
from regard.training.train import train_into

TRAIN, VALID = 6000, 200  # pictures
ASKED = 100  # captions of each kind that are painted and judged
SHOWN = 20

SETTINGS: dict[str, dict[str, Any]] = {
    "data": {"pictures": "shapes"},
    "tokenizer": {"size": 340, "codes": 256, "codec_steps": 100},
    "model": {"family": "dalle", "width": 96, "hidden": 384, "heads": 4, "layers": 3, "dropout": 0.05},
    "train": {
        "steps": 700,
        "batch_tokens": 4480,
        "optimizer": "muon",
        "schedule": "cosine",
        "warmup": 60,
        "learning_rate": 5e-3,
        "label_smoothing": 0.0,
        "validate_every": 400,
        "unsaid": 0.15,
    },
    "decode": {"guidance": 2.0, "top_p": 0.7},
}


@dataclass(frozen=True)
class Findings:
    """What the demo measured; `demo.json` of its run."""

    seed: int
    seconds: float  # of training, codec and all
    codec: float  # share of held-out pictures that still show the same after pixels → codes → pixels
    seen: float  # share of captions painted right, of combinations that it was shown
    unseen: float  # the same, of combinations that it was not


def demo(out: str | Path = "runs/demo-dalle", *, seed: int = 1, on: str = "auto") -> Findings:
    """Train a small DALL-E for a fixed number of steps, and show what it paints."""
    folder, console = Path(out), teller()
    console.rule("1  A GPT learns to go on from a caption with a picture", align="left")
    console.print(
        f"{TRAIN:,} pictures of 32 × 32 pixels, each 64 patterns and their colours. Never among them: {never()}."
    )
    began = time.perf_counter()
    settings = seeded(SETTINGS, seed)
    parts = Parts(shapes.alone("train", TRAIN, seed), shapes.alone("train", VALID, seed + 1))
    run = train_into(folder, settings, parts, on=on, overwrite=True)
    seconds = time.perf_counter() - began

    console.rule("2  Pictures as codes, and back", align="left")
    unseen = shapes.alone("unseen", ASKED, seed)
    codec = run.tokenizers[IMAGE]
    again = codec.decode(codec.encode(unseen.pixels))
    kept = share(unseen.captions, again)
    console.print(
        f"Of {ASKED} pictures with combinations that the codes were not learned from, {kept:.0%} still show the same."
    )
    both = np.concatenate([unseen.pixels[:5], again[:5]])
    save_figure(grid(both, columns=5, title="Above the pictures, below the same from codes"), folder / "codes.png")

    console.rule("3  What it paints", align="left")
    seen_right, shown = judged(run, shapes.alone("train", ASKED, seed + 2).captions)
    unseen_right, new = judged(run, unseen.captions)
    save_painted(shown[:SHOWN], folder / "seen.png")
    save_painted(new[:SHOWN], folder / "unseen.png")
    findings = Findings(seed, seconds, kept, seen_right, unseen_right)
    console.print(
        f"Painted right, by measuring colour, shape and size: {seen_right:.0%} of {ASKED} captions that it was shown, "
        f"and {unseen_right:.0%} of {ASKED} that it was not."
    )
    keep(findings, folder)

    console.rule("4  Yours now", align="left")
    console.print(
        f"{folder} is a run: a folder with the model, its tokenizers, its settings and its card.\n"
        f"  {folder / 'codes.png'}    pictures, and what is left of them as codes\n"
        f"  {folder / 'seen.png'}     painted: combinations that it was shown\n"
        f"  {folder / 'unseen.png'}   painted: combinations that it was not\n"
        "Try next:\n"
        f"  regard generate {folder} 'a large red circle' --out circle.png --n 9\n"
        "  regard train recipes/dalle-shapes.toml --out runs/shapes      (two things, and how they lie to each other)",
        markup=False,
    )
    return findings


def never() -> str:
    return ", ".join(f"{kind.colour} {kind.shape}s" for kind in sorted(shapes.HELD_OUT)).replace("crosss", "crosses")


def judged(run: Run, captions: tuple[str, ...]) -> tuple[float, list[Painted]]:
    """A picture of each caption, and how many of them show what it says."""
    painted = paint_each(run, captions)
    return share(captions, np.stack([each.pixels for each in painted])), painted


def share(captions: tuple[str, ...], pictures: np.ndarray) -> float:
    return float(np.mean([shapes.drawn_right(*each) for each in zip(captions, pictures, strict=True)]))
