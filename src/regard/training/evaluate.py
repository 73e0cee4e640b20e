"""The verb evaluate: a run's translations of held-out text against their references. And the model's own surprise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from regard.data.batch import Example, collate, in_order
from regard.data.corpus import read_pairs, read_table
from regard.decoding.translate import translate
from regard.errors import RunError
from regard.model.translator import Translator
from regard.run import Run
from regard.training.compare import Comparison, compare_translations
from regard.training.objective import translation
from regard.training.score import Quality, check_seed, measure


@dataclass(frozen=True)
class Evaluation(Quality):
    """How well a run translates held-out text, and how that compares with another run, if one was given."""

    comparison: Comparison | None = None

    def __str__(self) -> str:
        mine = super().__str__()
        if self.comparison is None:
            return mine
        both = [self.comparison.run, mine, "", self.comparison.other, str(self.comparison.quality)]
        return "\n".join([*both, "", str(self.comparison)])


def evaluate(
    run: Run,
    source: str | Path,
    target: str | Path | None = None,
    to: str | None = None,
    compare: Run | None = None,
    **decode: Any,
) -> Evaluation:
    """Translate a file and score it against its references, line by line; keywords as in `translate`.

    Without a target, the source is a TSV of pairs. With a run to compare, that one translates the same lines.
    """
    check_seed()
    to_other = None
    if compare is not None:
        to, to_other = same_direction(run, compare, to)
    pairs = read_table(Path(source)) if target is None else read_pairs(Path(source), Path(target))
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]

    translations = [each.text for each in translate(run, sources, to, **decode)]
    quality = measure(translations, references, language(run, to))
    if compare is None:
        return Evaluation(**vars(quality))
    others = [each.text for each in translate(compare, sources, to_other, **decode)]
    other_quality = measure(others, references, language(compare, to_other))
    comparison = compare_translations(pairs, translations, others, (name(run), name(compare)), other_quality)
    return Evaluation(**vars(quality), comparison=comparison)


def language(run: Run, to: str | None) -> str | None:
    """What a run translates into; None if it knows no names."""
    return run.way(to)[1]


def name(run: Run) -> str:
    return str(run.folder or "a run without a folder")


def same_direction(run: Run, other: Run, to: str | None) -> tuple[str | None, str | None]:
    """What to ask each run for, so that both translate into one language; a run that knows no names is not asked."""
    asked = [to if each.settings.data.languages else None for each in (run, other)]
    for each, into in zip((run, other), asked, strict=True):
        try:
            each.tag(into)
        except RunError as error:
            raise RunError(f"{name(each)} cannot be compared: {error}") from None
    ours, theirs = language(run, asked[0]), language(other, asked[1])
    if ours and theirs and ours != theirs:
        raise RunError(
            f"{name(run)} translates into {ours} and {name(other)} into {theirs}: compare runs that go the same way"
        )
    return asked[0], asked[1]


@torch.inference_mode()
def surprise(model: Translator, examples: Sequence[Example], budget: int) -> float:
    """Mean −log p of a reference token, in nats; exp of it is the perplexity."""
    model.eval()
    total, tokens = 0.0, 0
    for batch in in_order(examples, collate, budget):
        loss = translation(model, batch.to(next(model.parameters()).device))
        total, tokens = total + loss.surprise.item(), tokens + loss.tokens
    return total / tokens


def perplexity(surprise: float) -> float:
    return math.exp(min(surprise, 700.0))
