"""The model card: a run's README, for whoever finds the folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regard.run import Run
from regard.training.checkpoint import Progress
from regard.training.curve import CURVE
from regard.training.tasks import Account


def depth(model: Any) -> str:
    """Of each stack that a network has, in words: 6, or 6 + 6."""
    return " + ".join(str(getattr(model, name)) for name in ("layers", "decoder_layers") if hasattr(model, name))


def write_card(run: Run, folder: Path, progress: Progress, account: Account) -> None:
    model, train = run.settings.model, run.settings.train
    rows = {
        **account.data,
        "network": f"{depth(model)} layers, width {model.width}, hidden {model.hidden}, "
        f"{model.heads} heads, {model.norm}-norm",
        "parameters": f"{run.size:,}",
        "vocabulary": account.vocabulary,
        "training": f"{progress.step:,} steps, each of up to {train.batch_tokens * train.accumulate:,} tokens; "
        f"{progress.tokens:,} {account.learned} in all; {train.optimizer}, seed {train.seed}",
        **account.scores,
        "licence": "that of the training data",
    }
    lines = [
        f"# {folder.name}: {account.title}",
        "",
        f"A Transformer ({account.network}) trained with regard {run.settings.version}.",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {text} |" for name, text in rows.items() if text),
        "",
        *([account.note, ""] if account.note else []),
        f"![loss, quality and learning rate over the steps]({CURVE})",
        "",
        "```sh",
        *account.use,
        "```",
        "",
    ]
    (folder / "README.md").write_text("\n".join(lines), encoding="utf-8")
