"""The model card: a run's README, for whoever finds the folder."""

from __future__ import annotations

from pathlib import Path

from regard.run import Run
from regard.training.checkpoint import Progress
from regard.training.curve import CURVE
from regard.training.score import Score


def write_card(run: Run, folder: Path, progress: Progress, score: Score | None, pairs: int, valid: int) -> None:
    settings = run.settings
    model, train, data = settings.model, settings.train, settings.data
    names = data.languages or ("source", "target")
    arrow = " ↔ " if data.both_ways else " → "
    to = f" --to {data.languages[1]}" if data.both_ways else ""
    files = data.source + (f", {data.target}" if data.target else "") if data.source else "pairs in memory"
    lines = [
        f"# {folder.name}: {arrow.join(names)}",
        "",
        f"A Transformer (encoder–decoder, Vaswani et al. 2017) trained with regard {settings.version}.",
        "",
        "| | |",
        "|---|---|",
        f"| training data | {files}: {pairs:,} pairs |",
        f"| validation | {data.valid_source or 'set aside'}: {valid:,} pairs |",
        f"| network | {model.layers} + {model.decoder_layers} layers, width {model.width}, hidden {model.hidden}, "
        f"{model.heads} heads, {model.norm}-norm |",
        f"| parameters | {run.size:,} |",
        f"| vocabulary | {model.source_vocabulary:,} pieces, {'joint' if settings.tokenizer.joint else 'separate'} |",
        f"| training | {progress.step:,} steps, each of up to {train.batch_tokens * train.accumulate:,} tokens; "
        f"{progress.tokens:,} target tokens in all; {train.optimizer}, seed {train.seed} |",
    ]
    if score:
        how = f"on {score.sentences:,} validation sentences, beam {settings.decode.beam}"
        lines += [f"| BLEU | {score.bleu:.2f} {how} |", f"| chrF | {score.chrf:.2f} {how} |"]
    lines += [
        "| licence | that of the training data |",
        "",
        *([f"BLEU `{score.signatures['bleu']}`, chrF `{score.signatures['chrf']}`", ""] if score else []),
        f"![loss, quality and learning rate over the steps]({CURVE})",
        "",
        "```sh",
        f"regard translate {folder}{to} < input.txt > output.txt",
        f"regard evaluate {folder} --source test.source --target test.target{to}",
        "```",
        "",
    ]
    (folder / "README.md").write_text("\n".join(lines), encoding="utf-8")
