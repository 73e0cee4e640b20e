"""How good a translation is: sacreBLEU's BLEU and chrF with their signatures, and the model's own surprise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from regard.data.batch import Example, in_order
from regard.data.corpus import read_pairs
from regard.decoding.translate import translate
from regard.model.translator import Translator
from regard.run import Run
from regard.training.objective import translation


@dataclass(frozen=True)
class Score:
    """Corpus scores of translations against one reference each, with the signatures that make them comparable."""

    bleu: float
    chrf: float
    exact: float  # share of sentences that are the reference, to the letter, in percent
    sentences: int
    signatures: dict[str, str]

    def __str__(self) -> str:
        lines = [
            f"BLEU  {self.bleu:5.2f}   {self.signatures['bleu']}",
            f"chrF  {self.chrf:5.2f}   {self.signatures['chrf']}",
        ]
        return "\n".join([*lines, f"exact {self.exact:5.2f} %  of {self.sentences} sentences"])


def score(translations: Sequence[str], references: Sequence[str]) -> Score:
    bleu, chrf = BLEU(), CHRF()
    bleu_score = bleu.corpus_score(list(translations), [list(references)]).score
    chrf_score = chrf.corpus_score(list(translations), [list(references)]).score
    exact = 100 * sum(t == r for t, r in zip(translations, references, strict=True)) / len(references)
    signatures = {"bleu": str(bleu.get_signature()), "chrf": str(chrf.get_signature())}
    return Score(bleu_score, chrf_score, exact, len(references), signatures)


def evaluate(run: Run, source: str | Path, target: str | Path, to: str | None = None, **decode: Any) -> Score:
    """Translate a file and score it against its references, line by line; keywords as in `translate`."""
    pairs = read_pairs(Path(source), Path(target))
    translations = [each.text for each in translate(run, [pair.source for pair in pairs], to, **decode)]
    return score(translations, [pair.target for pair in pairs])


@torch.inference_mode()
def surprise(model: Translator, examples: Sequence[Example], budget: int) -> float:
    """Mean −log p of a reference token, in nats; exp of it is the perplexity."""
    model.eval()
    total, tokens = 0.0, 0
    for batch in in_order(examples, budget):
        loss = translation(model, batch.to(next(model.parameters()).device))
        total, tokens = total + loss.surprise.item(), tokens + loss.tokens
    return total / tokens


def perplexity(surprise: float) -> float:
    return math.exp(min(surprise, 700.0))
