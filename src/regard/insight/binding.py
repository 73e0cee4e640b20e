"""Which head binds *it* to its noun: asked of every head that could know, over pairs of sentences.

"The animal didn't cross the street because it was too tired." and "… too wide.": in a head that knows, the clause looks
more at *animal* than at *street* in the first, and more at *street* than at *animal* in the second: its strongest noun
flips. A clause can look from three places: from *it* itself and from its property (*tired*, *wide*), in the encoder;
and from *il* or *elle*, in the cross-attention, at the step that writes it.
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
PLACES = {"it": "encoder", "property": "encoder", "pronoun": "cross"}  # where the clause looks from, in which attention


class Head(NamedTuple):
    """One head of one attention, and the place that it looks from; counted from 0, but from 1 where people read it."""

    attention: str  # such as "encoder.blocks.1.self_attention"
    head: int
    place: str

    @property
    def kind(self) -> str:
        return PLACES[self.place]

    @property
    def layer(self) -> int:
        return int(self.attention.split(".")[2])

    def __str__(self) -> str:
        room = {"encoder": "encoder", "cross": "cross-attention"}[self.kind]
        place = self.place if self.place == "it" else f"the {self.place}"
        return f"{room}, layer {self.layer + 1}, head {self.head + 1}, looking from {place}"


def leads(run: Run, pairs: Sequence[MinimalPair]) -> dict[Head, np.ndarray]:
    """For each head, by how much it looks more at the right noun than at the other, in both sentences, (pairs, 2)."""
    nouns = [pair.nouns for pair in pairs]
    first = noun_weights(run, [pair.subject for pair in pairs], nouns)
    second = noun_weights(run, [pair.object for pair in pairs], nouns)
    return {
        head: np.stack([first[head][:, 0] - first[head][:, 1], second[head][:, 1] - second[head][:, 0]], axis=1)
        for head in first
    }


def flips(leads: np.ndarray) -> float:
    """The share of pairs in both of whose sentences the right noun is the stronger."""
    return float((leads > 0).all(1).mean())


def noun_weights(run: Run, phrases: Sequence[Phrase], nouns: Sequence[tuple[str, str]]) -> dict[Head, np.ndarray]:
    """How much each head looks from each place at either of the two nouns of a sentence, (phrases, 2)."""
    examples = [Example(run.encode_source(each.english, TO), run.encode_target(each.french)) for each in phrases]
    batch = collate(examples).to(run.device)
    with torch.inference_mode(), record(run.model.eval()) as trace:
        run.model(batch.source, batch.target, batch.readable)

    sources = [words(run.source_tokenizer.pieces(example.source)) for example in examples]
    targets = [words(run.target_tokenizer.pieces(example.target)) for example in examples]
    columns = [[among[index_of(noun, among)] for noun in two] for among, two in zip(sources, nouns, strict=True)]
    looks: dict[Head, np.ndarray] = {}
    for place, kind in PLACES.items():
        rows = [among[where(place, among)] for among in (sources if kind == "encoder" else targets)]
        for name in trace.named(kind):
            weights = trace.weights[name]  # (phrases, H, rows, S)
            for head in range(weights.shape[1]):
                looks[Head(name, head, place)] = np.array(
                    [
                        [one[row.start : row.end, noun.start : noun.end].sum(-1).mean() for noun in nouns]
                        for one, row, nouns in zip(weights[:, head], rows, columns, strict=True)
                    ]
                )
    return looks


def where(place: str, among: Sequence[Word]) -> int:
    """Which word of a sentence a place is: the property ends the English one, the pronoun is the last of the French."""
    match place:
        case "it":
            return index_of("it", among)
        case "property":
            return max(index for index, word in enumerate(among) if word.text.isalpha())
        case _:
            return max(index for index, word in enumerate(among) if word.text in ("il", "elle"))
