"""Which head binds *it* to its noun: asked of every head that could know, over pairs of sentences.

"The animal didn't cross the street because it was too tired." and "… too wide.": in a head that knows, *it* looks
more at *animal* than at *street* in the first, and more at *street* than at *animal* in the second: its strongest
noun flips. In the encoder, *it* is the word itself; in the cross-attention, it is the step that writes *il* or *elle*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from regard.data.batch import Example, collate
from regard.data.phrasebook import MinimalPair, Phrase
from regard.insight.trace import record
from regard.insight.words import Word, index_of, words
from regard.run import Run

TO = "fr"  # the language that has to choose
PRONOUNS = ("il", "elle")


class Head(NamedTuple):
    """One head of one attention; counted from 0, but from 1 where people read them."""

    attention: str  # such as "encoder.blocks.1.self_attention"
    head: int

    @property
    def kind(self) -> str:
        return "encoder" if self.attention.startswith("encoder.") else "cross"

    @property
    def layer(self) -> int:
        return int(self.attention.split(".")[2])

    def __str__(self) -> str:
        room = {"encoder": "encoder", "cross": "cross-attention"}[self.kind]
        return f"{room}, layer {self.layer + 1}, head {self.head + 1}"


def flips(run: Run, pairs: Sequence[MinimalPair]) -> dict[Head, float]:
    """For each head, the share of pairs where the strongest noun of *it* is the right one in both sentences."""
    nouns = [pair.nouns for pair in pairs]
    first = noun_weights(run, [pair.subject for pair in pairs], nouns)
    second = noun_weights(run, [pair.object for pair in pairs], nouns)
    return {
        head: float(np.mean((first[head][:, 0] > first[head][:, 1]) & (second[head][:, 1] > second[head][:, 0])))
        for head in first
    }


def noun_weights(run: Run, phrases: Sequence[Phrase], nouns: Sequence[tuple[str, str]]) -> dict[Head, np.ndarray]:
    """How much *it* looks at each of the two nouns of its sentence, head by head, (phrases, 2)."""
    examples = [Example(run.encode_source(each.english, TO), run.encode_target(each.french)) for each in phrases]
    batch = collate(examples).to(run.device)
    with torch.inference_mode(), record(run.model.eval()) as trace:
        run.model(batch.source, batch.target, batch.readable)

    sources = [words(run.source_tokenizer.pieces(example.source)) for example in examples]
    targets = [words(run.target_tokenizer.pieces(example.target)) for example in examples]
    columns = [[among[index_of(noun, among)] for noun in both] for among, both in zip(sources, nouns, strict=True)]
    rows = {
        "encoder": [among[index_of("it", among)] for among in sources],
        "cross": [pronoun(among) for among in targets],
    }
    looks: dict[Head, np.ndarray] = {}
    for kind, its in rows.items():
        for name in trace.named(kind):
            weights = trace.weights[name]  # (phrases, H, rows, S)
            for head in range(weights.shape[1]):
                looks[Head(name, head)] = np.array(
                    [
                        [
                            weights[i, head, it.start : it.end, noun.start : noun.end].sum(-1).mean()
                            for noun in columns[i]
                        ]
                        for i, it in enumerate(its)
                    ]
                )
    return looks


def pronoun(among: Sequence[Word]) -> Word:
    """The *il* or *elle* of the because-clause, which is the last in its sentence."""
    return next(word for word in reversed(among) if word.text in PRONOUNS)
