"""Which head binds *it* to its noun: asked of every head of the encoder, over pairs of sentences.

"The animal didn't cross the street because it was too tired." and "… too wide.": in a head that knows, *it* looks
more at *animal* than at *street* in the first, and more at *street* than at *animal* in the second: its strongest
noun flips.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from regard.data.batch import pad
from regard.data.phrasebook import MinimalPair
from regard.insight.trace import record
from regard.run import Run


class Head(NamedTuple):
    """One head of one attention of the encoder; both counted from 0, but from 1 where people read them."""

    attention: str
    head: int

    @property
    def layer(self) -> int:
        return int(self.attention.split(".")[2])  # "encoder.blocks.1.self_attention"

    def __str__(self) -> str:
        return f"encoder layer {self.layer + 1}, head {self.head + 1}"


class Place(NamedTuple):
    """The tokens that a word is made of."""

    start: int
    end: int


def flips(run: Run, pairs: Sequence[MinimalPair], to: str) -> dict[Head, float]:
    """For each head of the encoder, the share of pairs where the strongest noun of *it* is the right one both times."""
    right: dict[Head, list[np.ndarray]] = {}
    for sentences, answer in (
        ([pair.subject.english for pair in pairs], 0),
        ([pair.object.english for pair in pairs], 1),
    ):
        for head, looks in noun_weights(run, sentences, [pair.nouns for pair in pairs], to).items():
            right.setdefault(head, []).append(looks[:, answer] > looks[:, 1 - answer])
    return {head: float(np.mean(first & second)) for head, (first, second) in right.items()}


def noun_weights(
    run: Run, sentences: Sequence[str], nouns: Sequence[tuple[str, str]], to: str
) -> dict[Head, np.ndarray]:
    """How much *it* looks at each of the two nouns of its sentence, head by head, (sentences, 2)."""
    sources = [run.encode_source(sentence, to) for sentence in sentences]
    source = pad(sources)
    readable = torch.arange(source.size(1)) < torch.tensor([[len(ids)] for ids in sources])
    with torch.inference_mode(), record(run.model.eval()) as trace:
        run.model.encode(source.to(run.device), readable.to(run.device))

    rows = [place(run, sentence, "it", to) for sentence in sentences]
    columns = [
        [place(run, sentence, noun, to) for noun in both] for sentence, both in zip(sentences, nouns, strict=True)
    ]
    looks: dict[Head, np.ndarray] = {}
    for name, weights in trace.weights.items():  # (sentences, H, S, S)
        for head in range(weights.shape[1]):
            looks[Head(name, head)] = np.array(
                [
                    [weights[i, head, row.start : row.end, noun.start : noun.end].sum(-1).mean() for noun in columns[i]]
                    for i, row in enumerate(rows)
                ]
            )
    return looks


def place(run: Run, sentence: str, word: str, to: str) -> Place:
    """Where a word's tokens stand in the source; of a word that comes twice, the last."""
    steps = run.source_tokenizer.steps(sentence)
    *_, match = re.finditer(rf"\b{re.escape(word)}\b", steps.normalised)
    inside = [i for i, token in enumerate(steps.tokens) if token.start < match.end() and token.end > match.start()]
    before = len(run.tag(to))
    return Place(before + inside[0], before + inside[-1] + 1)
