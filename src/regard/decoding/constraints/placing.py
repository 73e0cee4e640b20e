"""Where in a translation the things belong that the model did not write: tags, marks, and terms of a glossary.

The model is asked: a word of the translation hangs on the source words without which it gets less likely (prediction
difference, Li et al. 2019). What held source words, a pair of tags or a term, takes the stretch of the translation that
hangs most on them. A mark goes where as few words as can be stand on the wrong side of it. A pair keeps within the pair
around it and beside its neighbours: tags nest as they did, whatever the model says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import torch
from torch import Tensor

from regard.data.batch import pad
from regard.decoding.constraints.terms import Span, units
from regard.decoding.writing import Writer
from regard.languages import lead_of
from regard.run import Run
from regard.tokens.text import BOS, Token

ROWS = 32  # sequences that are read at once
SHARE = 0.6  # of what a word hangs on, from which on it is counted in
CLOSE = 0.5  # stretches that are less than this behind the best are as good as it

Place = tuple[int, int]  # from this word up to that one; a mark has the same twice
Weights = list[list[float]]  # (T, S): how much each word of a translation hangs on each of its source


@dataclass(frozen=True)
class Tag:
    """A pair of tags, or a mark, and what it held."""

    opening: Span
    closing: Span | None  # a mark has none
    held: Place  # in the source
    parent: int | None = None  # which of the tags is the pair around it


def held(start: int, end: int, text: str) -> Place:
    """The words of a text between two of its signs, those in part within them included."""
    words = units(text)
    return sum(stop <= start for _, stop in words), sum(begin < end for begin, _ in words)


def tags_of(spans: Sequence[Span], at: Sequence[int], text: str) -> list[Tag]:
    """The tags among the spans, given where in a text without them they stood; a pair comes before what it holds."""
    found, around = list[Tag](), list[int]()
    for span, offset in zip(spans, at, strict=True):
        before, after = held(offset, offset, text)
        if span.kind == "opening":
            found.append(Tag(span, None, (before, before), around[-1] if around else None))
            around.append(len(found) - 1)
        elif span.kind == "closing":
            pair = around.pop()
            found[pair] = replace(found[pair], closing=span, held=(found[pair].held[0], after))
        elif span.kind == "mark":
            found.append(Tag(span, None, (after, after), around[-1] if around else None))
    return found


def weights(run: Run, source: str, target: str, to: str | None = None) -> Weights:
    """What each word of a translation hangs on; a row sums to 1. Both texts are normalised."""
    spelled, written = (
        spelling(text, tokenizer.steps(text).tokens)
        for text, tokenizer in ((source, run.source_tokenizer), (target, run.target_tokenizer))
    )
    reads = run.encode_source(source, to)
    hidden = torch.zeros(1 + len(spelled), len(reads), dtype=torch.bool)  # (1 + S, tokens); the first hides nothing
    hidden[1:, -1 - spelled.size(1) : -1] = spelled  # a tag, or what else opens a text, is before it; EOS is behind it
    writes = [*lead_of(reads), *run.encode_target(target)]
    told = told_without(run.model, reads, [writes] * len(hidden), hidden.to(run.device)).cpu()
    lost = (told[:1] - told[1:]).clamp(min=0.0)[:, -1 - written.size(1) : -1]  # (S, tokens)
    by_word = written.to(lost) @ lost.T + 1e-6  # (T, S)
    return (by_word / by_word.sum(1, keepdim=True)).tolist()


def spelling(text: str, tokens: Sequence[Token]) -> Tensor:
    """Which tokens spell each word of a text, (words, tokens)."""
    rows = [[token.start < end and start < token.end for token in tokens] for start, end in units(text)]
    return torch.tensor(rows, dtype=torch.bool).view(-1, len(tokens))


@torch.inference_mode()
def told_without(model: Writer, source: list[int], targets: Sequence[list[int]], hidden: Tensor) -> Tensor:
    """The log-probability of each token of some targets (N, T), while nothing may look at what is hidden (N, S)."""
    reads = torch.tensor([source], device=hidden.device)
    writes = pad([[BOS, *ids] for ids in targets]).to(hidden.device)
    told: list[Tensor] = []
    for readable, target in zip((~hidden).split(ROWS), writes.split(ROWS), strict=True):
        memory = model.encode(reads.expand(len(readable), -1), readable)
        states = model.decode(target[:, :-1], memory, readable)  # (rows, T, D)
        told.append(model.logits(states).float().log_softmax(-1).gather(2, target[:, 1:, None]).squeeze(2))
    return torch.cat(told)


def stretches(held: Place, weights: Weights, within: Place, beside: Sequence[Place] = ()) -> list[Place]:
    """The stretches of words that hang on what is held as good as most, the best first."""
    start, end = held
    gain = list(accumulate((sum(row[start:end]) - SHARE for row in weights), initial=0.0))
    free = [
        (gain[last] - gain[first], (first, last))
        for first in range(*within)
        for last in range(first + 1, within[1] + 1)
        if not any(first < other[1] and other[0] < last for other in beside)
    ]
    free.sort(reverse=True)
    return [place for worth, place in free if worth > free[0][0] - CLOSE]


def places(tags: Sequence[Tag], weights: Weights) -> list[Place]:
    """Where in a translation each tag goes."""
    found: list[Place] = []
    for index, tag in enumerate(tags):
        within = (0, len(weights)) if tag.parent is None else found[tag.parent]
        beside = [found[other] for other in range(index) if tags[other].parent == tag.parent]
        holds = tag.held[0] < tag.held[1]
        if holds and (best := stretches(tag.held, weights, within, beside)):
            found.append(best[0])
        else:  # a word before the cut counts for as much as it hangs on what came after, and the other way round
            faults = list(accumulate((1 - 2 * sum(row[: tag.held[0]]) for row in weights), initial=0.0))
            cut = min(range(within[0], within[1] + 1), key=lambda cut: faults[cut])
            found.append((cut, cut))
    return found


def woven(
    tags: Sequence[Tag], placed: Sequence[Place], within: Place, parent: int | None = None
) -> Iterator[int | Span]:
    """The words of a translation, by their number, and its tags, in the order in which they are written."""
    at, end = within
    for (first, last), index in sorted(
        (place, each) for each, place in enumerate(placed) if tags[each].parent == parent
    ):
        yield from range(at, first)
        yield tags[index].opening
        yield from woven(tags, placed, (first, last), index)
        if (closing := tags[index].closing) is not None:
            yield closing
        at = max(at, last)
    yield from range(at, end)
