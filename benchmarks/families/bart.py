"""What denoising brings to a translator of few pairs: BART on Tatoeba, English and German, and then 5,000 pairs.

    .venv/bin/python benchmarks/families/bart.py --out runs/families

Both languages are pre-trained on as plain text, each sentence by itself, with no word on which translates which. Then
a translator from English into German learns from 5,000 pairs, and another one with the same network and tokenizer from
the same pairs, but from scratch. How sure the difference on the test set is, paired bootstrap resampling says (Koehn
2004), beside the approximate randomisation that `regard evaluate --compare` has. What is there already is not done
again.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bert import DATA, once
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest, Result

import regard
from regard.data.corpus import Pair, read_table

PAIRS = 5000
NAMES = "from scratch", "pre-trained"
SIZES = {"width": 128, "hidden": 512, "heads": 4, "layers": 3}  # what suits 5,000 pairs
FEW = {"optimizer": "muon", "learning_rate": 2e-3, "schedule": "stable", "batch_tokens": 2048, "start": "random"}


def write_files(folder: Path, seed: int, tested: int) -> None:
    """Sentences of both languages shuffled, and the pairs: some to learn from, those to validate and to test with."""
    folder.mkdir(parents=True, exist_ok=True)
    train, valid, test = (read_table(DATA / f"en-de.{part}.tsv.xz") for part in ("train", "valid", "test"))
    choose = random.Random(seed)
    for name, pairs in (("both", train), ("both.valid", valid)):
        lines = list(dict.fromkeys(text for pair in pairs for text in pair))
        choose.shuffle(lines)
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    chosen: dict[str, list[Pair]] = {"train": choose.sample(train, PAIRS), "valid": valid[:500], "test": test[:tested]}
    for part, pairs in chosen.items():
        (folder / f"pairs.{part}.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")


def denoiser(out: Path, name: str, **train: Any) -> regard.Run:
    data = {
        "text": str(out / "both.txt"),
        "valid_text": str(out / "both.valid.txt"),
        "documents": "lines",
        "max_tokens": 64,
    }
    given = {"data": data, "tokenizer": {"size": 4000}, "model": {"family": "bart", **SIZES}, "train": train}
    return once(out / name, lambda: regard.train(given, out / name, on="cpu", overwrite=True))


def translator(out: Path, start: regard.Run, steps: int) -> regard.Run:
    data = {
        "source": str(out / "pairs.train.tsv"),
        "valid_source": str(out / "pairs.valid.tsv"),
        "languages": ["en", "de"],
    }
    how = {"task": "translate", "start_from": str(start.folder), "steps": steps, "validate_every": max(1, steps // 10)}
    given = {"data": data, "model": {"dropout": 0.2}, "train": {**FEW, **how, "choose_by": "chrf"}}
    folder = out / f"{start.folder.name if start.folder else 'run'}-en-de"
    return once(folder, lambda: regard.train(given, folder, on="cpu", overwrite=True))


def resampled(started: regard.Run, scratch: regard.Run, pairs: list[Pair]) -> str:
    """BLEU of both, and the p of the second's being as good, by a thousand draws of as many sentences."""
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    runs = zip(NAMES, (scratch, started), strict=True)
    said: list[tuple[str, Sequence[str]]] = [
        (name, [each.text for each in regard.translate(run, sources)]) for name, run in runs
    ]
    _, scores = PairedTest(said, {"BLEU": BLEU()}, [references], "bs", n_samples=1000, n_jobs=1)()
    found = [each for each in scores["BLEU"] if isinstance(each, Result)]
    told = ", ".join(f"{each.score:.2f} {name}" for each, name in zip(found, NAMES, strict=True))
    return f"paired bootstrap, 1,000 draws: BLEU {told}, p {found[-1].p_value:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/families"))
    parser.add_argument("--steps", type=int, default=3000, help="of denoising")
    parser.add_argument("--few-steps", type=int, default=1200, help="of translating")
    parser.add_argument("--tested", type=int, default=1673, help="pairs, at most")
    given = parser.parse_args()
    write_files(given.out, seed=1, tested=given.tested)
    bart = denoiser(given.out, "bart", steps=given.steps)
    blank = denoiser(given.out, "bart-untrained", steps=1, learning_rate=1e-12)
    started, scratch = (translator(given.out, run, given.few_steps) for run in (bart, blank))
    test = given.out / "pairs.test.tsv"
    result = regard.evaluate(started, test, compare=scratch)
    print(f"{result}\n\n{resampled(started, scratch, read_table(test))}")
    (given.out / "bart.json").write_text(
        json.dumps(asdict(result), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
