"""Texts of a run with some tokens hidden, and how often it finds these."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

from regard.data.batch import in_order
from regard.data.marked import MarkedBatch, collate_marked
from regard.data.masking import Masking, Text, hide, stretches
from regard.data.text import read_documents
from regard.errors import DataError
from regard.model.bert import Bert
from regard.run import TEXT, Run
from regard.tokens.words import words_of
from regard.training.accuracy import wilson
from regard.training.evaluate import perplexity


class Hiding:
    """How a run's texts become batches in which some tokens are hidden."""

    def __init__(self, run: Run):
        self.tokenizer, self.whole = run.tokenizers[TEXT], run.settings.train.whole_words
        ordinary = [id for id in range(len(self.tokenizer)) if id not in self.tokenizer.control]
        self.masking = Masking(run.settings.train.hide, self.tokenizer.mask, ordinary)

    def __call__(self, texts: Sequence[Text]) -> MarkedBatch:
        return collate_marked(
            [hide(each.ids, self.words(each.ids), self.masking, random.Random(each.seed)) for each in texts]
        )

    def words(self, ids: Sequence[int]) -> Sequence[int]:
        """What is hidden together: the tokens of a word, or each by itself; −1 for <s>, </s> and the like."""
        if self.whole:
            return words_of(self.tokenizer, ids).tolist()
        return [-1 if id in self.tokenizer.control else place for place, id in enumerate(ids)]


@dataclass(frozen=True)
class Hidden:
    """Of the tokens that were hidden, how many were found."""

    accuracy: float  # a share
    interval: tuple[float, float]  # that it lies in with 95 % confidence
    loss: float  # −log p of the hidden token, in nats
    perplexity: float
    tokens: int

    def __str__(self) -> str:
        low, high = (f"{100 * share:.2f}" for share in self.interval)
        return (
            f"{100 * self.accuracy:.2f} % of {self.tokens:,} hidden tokens found, 95 % interval {low} to {high}, "
            f"loss {self.loss:.4f} nats a token, perplexity {self.perplexity:.2f}"
        )


def evaluate_hidden(run: Run, files: Sequence[str | Path]) -> Hidden:
    """How many tokens a run finds that are hidden in held-out files, as many and in the manner of its training."""
    run.require("fill")
    if not (texts := validated(run, read_documents(files, run.settings.data.documents))):
        raise DataError("there is nothing to hide in an empty text: give some")
    return seek(run, texts)


def validated(run: Run, documents: Iterable[str]) -> list[Text]:
    """Documents as texts that the run can read, in which the same tokens are hidden each time."""
    ids = [ids for ids in map(run.tokenizers[TEXT].encode, documents) if ids]
    return stretches(ids, run.window, f"{run.settings.train.seed} valid")


@torch.inference_mode()
def seek(run: Run, texts: Sequence[Text]) -> Hidden:
    """How many of the tokens hidden in these the run finds."""
    model: Bert = run.model.eval()
    missed, right, tokens = 0.0, 0, 0
    for batch in in_order(texts, Hiding(run), run.settings.train.batch_tokens):
        batch = batch.to(run.device)
        logits = model.fill(model.states(batch.ids, batch.readable)[batch.wanted]).float()  # (N, V)
        labels = batch.labels[batch.wanted]
        missed += F.cross_entropy(logits, labels, reduction="sum").item()
        right += int((logits.argmax(-1) == labels).sum())
        tokens += len(labels)
    share, loss = right / tokens, missed / tokens
    return Hidden(share, wilson(share, tokens), loss, perplexity(loss), tokens)
