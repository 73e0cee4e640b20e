"""The demo of BERT: a network that has read the English of the phrasebook says which word is missing.

It reads to both sides of the gap, so it can tell what a network that reads from left to right cannot know yet. Whether
a word fits is no matter of taste: the grammar that wrote the text knows every sentence that it can write.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from regard.data import phrasebook
from regard.decoding.fill import fill
from regard.demos.tour import english, keep, seeded, teller
from regard.run import TEXT, Run
from regard.tokens.masks import MASK
from regard.training.train import train_into

TRAIN, VALID = 50_000, 1000  # sentences of each part
HIDDEN = 300  # sentences of which a word is hidden
SHOWN = 6  # of them

SETTINGS: dict[str, dict[str, Any]] = {
    "data": {"text": ["the embedded phrasebook"], "documents": "lines", "block": 64},
    "tokenizer": {"kind": "bpe", "size": 2000, "learn_from": 20_000},
    "model": {
        "family": "bert",
        "width": 128,
        "hidden": 512,
        "heads": 4,
        "layers": 3,
        "norm": "pre",
        "position": "rotary",
        "dropout": 0.0,
    },
    "train": {
        "steps": 700,
        "batch_tokens": 3072,
        "optimizer": "muon",
        "schedule": "cosine",
        "warmup": 40,
        "learning_rate": 4e-3,
        "label_smoothing": 0.0,
        "validate_every": 350,
    },
}

GAPS = (  # what is missing depends on a word behind the gap
    "The [MASK] didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too [MASK].",
    "The [MASK] is hungry.",
)


@dataclass(frozen=True)
class Findings:
    """What the demo measured; `demo.json` of its run."""

    seed: int
    seconds: float  # of training, and the corpus before it
    hidden: int  # sentences that it has never read, with a word hidden in each
    same: float  # the share of them in which it finds the word that was there
    grammatical: float  # the share of them that with its word the grammar can write


def demo(out: str | Path = "runs/demo-bert", *, seed: int = 1, on: str = "auto") -> Findings:
    """Train a small BERT for a fixed number of steps, and show what it finds."""
    folder, console = Path(out), teller()
    console.rule("1  A BERT reads English sentences and learns to find words that are hidden", align="left")
    console.print(f"{TRAIN:,} sentences that a small grammar of ours has written; no grammar is told to the network.")
    began = time.perf_counter()
    prose = english(TRAIN, VALID, seed)
    run = train_into(folder, seeded(SETTINGS, seed), prose, on=on, overwrite=True)
    seconds = time.perf_counter() - began

    console.rule("2  What is missing in sentences that it has not read", align="left")
    sentences = [phrase.english for phrase in phrasebook.phrases("test", HIDDEN)]
    gaps = list(gapped(run, sentences, seed))
    filled = [fill(run, gap, top=1).text for gap, _ in gaps]
    same = sum(mine == whole for mine, (_, whole) in zip(filled, gaps, strict=True)) / len(gaps)
    right = sum(bool(phrasebook.translations(mine, "fr")) for mine in filled) / len(gaps)
    findings = Findings(seed, seconds, len(gaps), same, right)
    for (gap, whole), mine in list(zip(gaps, filled, strict=True))[:SHOWN]:
        console.print(f"  {gap}\n    {mine}{'' if mine == whole else f'   (it was: {whole})'}", markup=False)
    console.print(
        f"One word is hidden in each of {len(gaps)} sentences. In {same:.1%} it finds the word that was there; with "
        f"its word {right:.1%} are sentences of the grammar, to the letter."
    )

    console.rule("3  It reads to both sides", align="left")
    for gap in GAPS:
        words = ", ".join(f"{each.token.strip('▁')} {each.probability:.0%}" for each in fill(run, gap).masks[0])
        console.print(f"  {gap}  {words}", markup=False)
    keep(findings, folder)

    console.rule("4  Yours now", align="left")
    console.print(
        f"{folder} is a run: a folder with the model, its tokenizer, its settings and its card.\n"
        "Try next:\n"
        f"  regard fill {folder} 'The {MASK} is very tired.'\n"
        f"  regard explore {folder}\n"
        "  regard train --text yours.txt --set model.family=bert --out runs/yours",
        markup=False,
    )
    return findings


def gapped(run: Run, sentences: Sequence[str], seed: int) -> Iterator[tuple[str, str]]:
    """Each sentence with one of its words hidden, and whole; a word that is several tokens is not hidden."""
    choose, tokenizer = Random(seed), run.tokenizers[TEXT]
    for sentence in sentences:
        words = sentence.split(" ")
        places = [place for place, word in enumerate(words) if word.isalpha() and len(tokenizer.encode(word)) == 1]
        if places:
            words[choose.choice(places)] = MASK
            yield " ".join(words), sentence
