"""The demo of GPT: a network that has read the English of the phrasebook writes sentences of its own.

How good they are is no matter of taste. The grammar that wrote the text knows every sentence that it can write, so each
one drawn is either of that language or not; and the text is at hand, so each is either new or was read before.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from regard.data import phrasebook
from regard.decoding.continuing import Continuing
from regard.decoding.generate import Generated, generate
from regard.demos.tour import english, keep, seeded, teller
from regard.run import Run
from regard.training.foretell import Foretold, foretell
from regard.training.train import train_into

TRAIN, VALID = 50_000, 1000  # sentences of each part
WRITTEN = 300  # sentences that are drawn and judged
SHOWN = 8  # of them
LONG = 60  # tokens that a sentence may have

SETTINGS: dict[str, dict[str, Any]] = {
    "data": {"text": ["the embedded phrasebook"], "documents": "lines", "block": 128},
    "tokenizer": {"kind": "bpe", "size": 1000, "learn_from": 20_000},
    "model": {"family": "gpt2", "width": 128, "hidden": 512, "heads": 4, "layers": 3, "position": "rotary"},
    "train": {
        "steps": 800,
        "batch_tokens": 2048,
        "optimizer": "muon",
        "schedule": "cosine",
        "warmup": 40,
        "learning_rate": 4e-3,
        "label_smoothing": 0.0,
        "validate_every": 400,
    },
}

OPENINGS = (  # what is to come next depends on a word long before it
    "The animal didn't cross the street because it was too",
    "The cat didn't eat the",
    "My sister",
)


@dataclass(frozen=True)
class Findings:
    """What the demo measured; `demo.json` of its run."""

    seed: int
    seconds: float  # of training, and the corpus before it
    foretold: Foretold  # sentences of combinations that it has never read
    written: int  # sentences drawn
    grammatical: float  # the share of them that the grammar can write
    new: float  # the share of them that it can write and the text did not have


def demo(out: str | Path = "runs/demo-gpt", *, seed: int = 1, on: str = "auto") -> Findings:
    """Train a small GPT for a fixed number of steps, and show what it writes."""
    folder, console = Path(out), teller()
    console.rule("1  A GPT reads English sentences and learns what comes next", align="left")
    console.print(f"{TRAIN:,} sentences that a small grammar of ours has written; no grammar is told to the network.")
    began = time.perf_counter()
    prose = english(TRAIN, VALID, seed)
    run = train_into(folder, seeded(SETTINGS, seed), prose, on=on, overwrite=True)
    seconds = time.perf_counter() - began

    console.rule("2  How well it foretells sentences that it has not read", align="left")
    foretold = foretell(run, prose.valid)
    console.print(f"{foretold}\nTheir words it knows, their combinations it has never seen.", markup=False)

    console.rule("3  What it writes", align="left")
    known = set(prose.train)
    drawn = generate(run, n=WRITTEN, tokens=LONG, seed=seed)
    right = [each for each in drawn if of_the_grammar(each)]
    new = [each for each in right if each.text not in known]
    findings = Findings(seed, seconds, foretold, len(drawn), len(right) / len(drawn), len(new) / len(drawn))
    for each in drawn[:SHOWN]:
        console.print(f"  {each.text}", markup=False)
    console.print(
        f"Of {len(drawn)} sentences drawn, {findings.grammatical:.1%} are sentences of the grammar, to the letter, "
        f"and {findings.new:.1%} are and were not in the text."
    )

    console.rule("4  How it goes on", align="left")
    for opening in OPENINGS:
        words = ", ".join(f"{word} {share:.0%}" for word, share in next_tokens(run, opening))
        console.print(f"  {opening} …  {words}", markup=False)
    keep(findings, folder)

    console.rule("5  Yours now", align="left")
    console.print(
        f"{folder} is a run: a folder with the model, its tokenizer, its settings and its card.\n"
        "Try next:\n"
        f"  regard generate {folder} --prompt 'The cat' --n 5\n"
        f"  regard generate {folder} --prompt 'The cat' --temperature 0.5\n"
        "  regard train --text yours.txt --out runs/yours --time 10m",
        markup=False,
    )
    return findings


def of_the_grammar(drawn: Generated) -> bool:
    return drawn.finished and bool(phrasebook.translations(drawn.text, "fr"))


@torch.inference_mode()
def next_tokens(run: Run, opening: str, count: int = 5) -> list[tuple[str, float]]:
    """The likeliest tokens after a text, and how likely each is."""
    writing = Continuing(run.model, run.writer.encode(opening), 1, run.window, run.device, parted=run.parted)
    logits = writing.logits()
    shares, ids = logits.softmax(-1)[0].topk(count)
    pieces = run.tokenizers["text"].pieces(ids.tolist())
    return [(piece.strip("▁") or piece, share) for piece, share in zip(pieces, shares.tolist(), strict=True)]
