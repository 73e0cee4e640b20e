"""How well a run tags words: the share of them with the right tag, and how much of what the tags say there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.console import say
from regard.data.tagged import Sentence, marked, read_tagged, spans
from regard.decoding.tag import Tagged, tag_words
from regard.errors import DataError
from regard.run import TEXT, Run

DRAWS, SEED = 1000, 12345  # of the sentences anew, for the interval


@dataclass(frozen=True)
class Kind:
    """Of the spans of one kind, the share of those said that are right, of those right that are said, and F₁."""

    name: str
    precision: float
    recall: float
    f1: float
    there: int


@dataclass(frozen=True)
class Tags:
    """How well sentences were tagged whose tags are known."""

    f1: float  # 2 P R / (P + R) of all spans
    interval: tuple[float, float]  # that it lies in for 95 in 100 draws of as many sentences
    precision: float
    recall: float
    accuracy: float  # share of the words with the right tag
    words: int
    sentences: int
    kinds: tuple[Kind, ...]

    def __str__(self) -> str:
        low, high = (f"{100 * share:.2f}" for share in self.interval)
        there = sum(each.there for each in self.kinds)
        rows = [*self.kinds, Kind("all", self.precision, self.recall, self.f1, there)]
        room = max(len(each.name) for each in rows)
        return "\n".join(
            [
                f"F1 {100 * self.f1:.2f}, 95 % interval {low} to {high}",
                f"{100 * self.accuracy:.2f} % of {self.words:,} words in {self.sentences:,} sentences rightly tagged",
                "",
                f"{'':{room}}  precision  recall      F1   there",
                *(
                    f"{each.name:{room}}  {100 * each.precision:9.2f}  {100 * each.recall:6.2f}  {100 * each.f1:6.2f}"
                    f"  {each.there:6,}"
                    for each in rows
                ),
            ]
        )


def evaluate_tags(run: Run, file: str | Path) -> Tags:
    """How well a run tags held-out sentences, in a file like those that it learned from."""
    run.require("tag")
    sentences = read_tagged(Path(file))
    whole = that_fit(run, sentences)
    if not whole:
        raise DataError(f"no sentence of {file} fits the {run.window} tokens that this run reads: give shorter ones")
    if left := len(sentences) - len(whole):
        say(f"left out: {left:,} of {len(sentences):,} sentences, longer than the {run.window} tokens that it reads")
    return judge(tagged_anew(run, whole), whole)


def that_fit(run: Run, sentences: Sequence[Sentence]) -> list[Sentence]:
    """Those that the run reads to their end."""
    read = (marked(run.tokenizers[TEXT], words, [0] * len(words), run.window) for words, _ in sentences)
    return [each for each, seen in zip(sentences, read, strict=True) if len(seen.places) == len(each.words)]


def tagged_anew(run: Run, sentences: Sequence[Sentence]) -> list[Tagged]:
    return tag_words(run, [sentence.words for sentence in sentences])


def judge(found: Sequence[Tagged | Sentence], right: Sequence[Sentence]) -> Tags:
    """What was found, against the same sentences with the right tags."""
    said, there = [spans(each.tags) for each in found], [spans(each.tags) for each in right]
    both = [one & other for one, other in zip(said, there, strict=True)]
    counts = torch.tensor([[len(each) for each in sets] for sets in zip(there, said, both, strict=True)])  # (S, 3)
    hits = sum(
        one == other for a, b in zip(found, right, strict=True) for one, other in zip(a.tags, b.tags, strict=True)
    )
    words = sum(len(each.words) for each in right)
    by_kind = [Counter(kind for each in sets for _, _, kind in each) for sets in (there, said, both)]
    names = sorted(by_kind[0] | by_kind[1])
    precision, recall, f1 = shares(counts.sum(0))
    return Tags(
        f1=f1,
        interval=drawn_anew(counts),
        precision=precision,
        recall=recall,
        accuracy=hits / max(1, words),
        words=words,
        sentences=len(right),
        kinds=tuple(
            Kind(name, *shares(torch.tensor([each[name] for each in by_kind])), by_kind[0][name]) for name in names
        ),
    )


def shares(counts: Tensor) -> tuple[float, float, float]:
    """Precision, recall and F₁, from how many spans there are, were said, and are both."""
    there, said, both = counts.tolist()
    return both / max(1, said), both / max(1, there), 2 * both / max(1, said + there)


def drawn_anew(counts: Tensor) -> tuple[float, float]:
    """Between which values the middle 95 % of F₁ lie if as many sentences are drawn from these (S, 3), some twice."""
    chance = torch.Generator().manual_seed(SEED)
    sums = (counts[torch.randint(len(counts), (len(counts),), generator=chance)].sum(0) for _ in range(DRAWS))
    low, high = torch.tensor([shares(each)[2] for each in sums]).quantile(torch.tensor([0.025, 0.975])).tolist()
    return low, high
