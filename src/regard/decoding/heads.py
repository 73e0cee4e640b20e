"""Which heads of the decoder show what is a translation of what.

Heads do different things and few of them align; those that do may look at the step that writes a word or, sharper, at
the step that reads it (Chen et al. 2020, "Accurate Word Alignment Induction from Neural Machine Translation"). No gold
alignment is needed to find them, since right links join words that foretell each other. So heads are chosen by the
information that linked source tokens s have on their target tokens t,

    mean of log p(t | s) / p(t),      p(t | s) = (n(s, t) + p(t)) / (n(s) + 1)

with counts n from the links of one half of the pairs, and the mean over those of the other half, both ways round. The
best head or layer comes first; others join as long as the mean of all their weights tells more. The choice is a file of
the run, and made when training ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard import lessons
from regard.config import Config
from regard.data.batch import Example, collate, grouped
from regard.data.direction import Directed
from regard.decoding.reading import BUDGET, Head, looking
from regard.errors import DataError, RunError
from regard.run import Run

ALIGNMENT = "alignment.json"
CELLS = 100_000  # target times source tokens that a choice looks at, at most: some 300 sentences
GAIN = 0.01  # share by which another head must raise the information to be taken in
RIVALS = 8  # of the heads, the best, that are tried for it


class Choice(Config):
    """Heads whose weights, on the mean, show what is a translation of what."""

    heads: tuple[Head, ...]
    information: float = 0.0  # of linked tokens, in nats
    pairs: int = 0  # that it was measured on; 0 is a default


def choice_of(run: Run) -> Choice:
    """What was chosen for a run; where nothing was, all heads of the decoder's upper half, at the step that writes."""
    layers, heads = run.translator.decoder_layers, run.translator.heads
    choice = lessons.load(Choice, run.folder / ALIGNMENT) if run.folder else None
    if choice is None:
        upper = product(range(layers // 2, layers), range(heads))
        return Choice(heads=tuple(Head(layer=layer, head=head, reads=False) for layer, head in upper))
    if not all(head.layer < layers and head.head < heads for head in choice.heads):
        raise RunError(f"{run.folder}: {ALIGNMENT} names heads that this model does not have: delete it to do without")
    return choice


def choose(run: Run, pairs: Sequence[Directed]) -> Choice:
    """The heads whose links tell most, by the first of the pairs, as many as fit into CELLS."""
    examples = [Example(run.encode_source(each.source, each.to), run.encode_target(each.target)) for each in pairs]
    cells = np.cumsum([len(each.source) * len(each.target) for each in examples])
    examples = examples[: max(2, int(np.searchsorted(cells, CELLS)))]
    if len(examples) < 2:
        raise DataError(f"{len(pairs)} pairs are too few to choose heads by: give two or more")
    model = run.translator
    steps = product((False, True), range(model.decoder_layers), range(model.heads))
    heads = [Head(layer=layer, head=head, reads=reads) for reads, layer, head in steps]
    seen = list(see(run, examples, heads))

    def worth(chosen: tuple[int, ...]) -> float:
        return information(seen, chosen, model.target_vocabulary)

    alone = {(index,): worth((index,)) for index in range(len(heads))}
    layers = [tuple(range(start, start + model.heads)) for start in range(0, len(heads), model.heads)]
    known = alone | {layer: worth(layer) for layer in layers}
    best = max(known, key=lambda chosen: known[chosen])
    rivals = sorted(alone, key=lambda chosen: -alone[chosen])[:RIVALS]
    while more := {best + rival: worth(best + rival) for rival in rivals if rival[0] not in best}:
        known |= more
        better = max(more, key=lambda chosen: more[chosen])
        if known[better] <= known[best] + GAIN * abs(known[best]):
            break
        best = better
    return Choice(heads=tuple(heads[index] for index in best), information=known[best], pairs=len(examples))


class Seen(NamedTuple):
    """What every head looks at in a batch of pairs. C heads, N target tokens, S source tokens."""

    weights: Tensor  # (C, N, S)
    source: Tensor  # (N, S) ids of the sentence that each token belongs to
    target: Tensor  # (N) ids
    second: Tensor  # (N) whether its sentence belongs to the second half


@torch.inference_mode()
def see(run: Run, examples: Sequence[Example], heads: Sequence[Head]) -> Iterator[Seen]:
    """All pairs, once, in batches."""
    for group in grouped(examples, BUDGET, range(len(examples))):
        batch = collate([examples[index] for index in group]).to(run.device)
        with looking(run.model, {head.layer for head in heads}) as weights:
            run.model.decode(batch.target, run.model.encode(batch.source, batch.readable), batch.readable)
        tokens = batch.wanted[:, 1:]  # (B, T), without EOS
        rows = tokens.nonzero()[:, 0]  # (N) the sentence of each
        looks = [weights[head.layer][:, head.head, head.steps][tokens] for head in heads]
        second = torch.tensor(group, device=run.device) >= len(examples) // 2
        yield Seen(torch.stack(looks), batch.source[rows], batch.labels[:, :-1][tokens], second[rows])


def information(seen: Sequence[Seen], chosen: Sequence[int], vocabulary: int) -> float:
    """What the source tokens that the chosen heads link tell of the target tokens, in nats a token."""
    looked_at = [each.weights[list(chosen)].sum(0).argmax(1, keepdim=True) for each in seen]  # (N, 1)
    source = torch.cat([each.source.gather(1, at).squeeze(1) for each, at in zip(seen, looked_at, strict=True)])
    target, second = torch.cat([each.target for each in seen]), torch.cat([each.second for each in seen])
    linked = np.stack([source.cpu().numpy(), target.cpu().numpy()])
    one, other = (linked[:, half.cpu().numpy()] for half in (second, ~second))
    return float(np.concatenate([foretold(one, other, vocabulary), foretold(other, one, vocabulary)]).mean())


def foretold(known: np.ndarray, asked: np.ndarray, vocabulary: int) -> np.ndarray:
    """log p(t | s) / p(t) of each pair (s, t) that is asked, by the counts of those that are known, both (2, pairs)."""
    s, t = asked
    alone = np.bincount(known[1], minlength=vocabulary) + 0.5
    p = (alone / alone.sum())[t]
    sources = np.bincount(known[0], minlength=s.max(initial=0) + 1)
    keys, counts = np.unique(known[0] * vocabulary + known[1], return_counts=True)
    at = np.searchsorted(keys, s * vocabulary + t).clip(max=len(keys) - 1)
    both = np.where(keys[at] == s * vocabulary + t, counts[at], 0)
    return np.log((both + p) / (sources[s] + 1) / p)
