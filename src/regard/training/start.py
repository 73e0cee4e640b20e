"""Where training starts from: embeddings in which words that stand in the same sentence pairs are neighbours.

A network that starts from random vectors spends its first epochs finding out which words belong together. Most of that
can be counted beforehand, in seconds:

    PMI(s, t) = log n(s, t) · n / (n(s) · n(t))             n(s, t) pairs have s in the source and t in the target
    W = max(0, PMI − 1),   W + Wᵀ ≈ E Eᵀ                    Levy and Goldberg 2014; Levy, Søgaard and Goldberg 2017

E is made of the eigenvectors of the largest eigenvalues. There a word lies close to its translations, and so do the
tied output vectors that it is to be translated to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.data.batch import Example
from regard.model.translator import Translator

MEETINGS = 20_000_000  # of a source and a target word, that are counted, at most; sentences of 20 words have 400
WORDS = 8192  # ids that get a vector, at most, the commonest: every two of them are a number in W
LEAST = 2  # times that two words must have met
SHIFT = 1.0  # what is taken off each PMI: what meets hardly more often than by chance says nothing
SPARE, ROUNDS = 40, 8  # more vectors than needed, and multiplications, by which those of the largest eigenvalues emerge


@torch.no_grad()
def start_from_neighbours(model: Translator, examples: Sequence[Example]) -> None:
    """Give the embeddings the vectors that the examples suggest; an id that they tell nothing of keeps its own."""
    source, target, output = (
        each.table.weight for each in (model.source_embedding, model.target_embedding, model.output)
    )
    apart = 0 if source is target else len(source)  # with two vocabularies, target ids are counted on from the source's
    vectors = neighbours(enough(examples), apart + len(target), apart, source.size(1))
    for table, rows in ((source, vectors[: len(source)]), (target, vectors[apart:]), (output, vectors[apart:])):
        known = rows.any(dim=1)
        table[known] = rows[known].to(table.device)


def enough(examples: Sequence[Example]) -> Sequence[Example]:
    """The first of them, of which not too many meetings are to be counted."""
    meetings = np.cumsum([len(each.source) * len(each.target) for each in examples])
    return examples[: max(1, int(np.searchsorted(meetings, MEETINGS)))]


def neighbours(examples: Sequence[Example], size: int, apart: int, width: int) -> Tensor:
    """For each of `size` ids a vector of length 1, or of length 0 where nothing was found, (size, width)."""
    seen, said, met = count(examples, size, apart)
    chosen = np.argsort(-(seen + said), kind="stable")[:WORDS]
    place = np.full(size, -1)
    place[chosen] = np.arange(len(chosen))

    s, t = np.divmod(met[0], size)
    pmi = np.log(met[1] * len(examples) / (seen[s] * said[t]))
    useful = (met[1] >= LEAST) & (pmi > SHIFT) & (place[s] >= 0) & (place[t] >= 0)
    graph = torch.zeros(len(chosen), len(chosen))
    graph[place[s[useful]], place[t[useful]]] = torch.from_numpy(pmi[useful] - SHIFT).float()

    found = largest(graph + graph.T, width)
    turn = torch.linalg.qr(torch.randn(width, width)).Q  # or else the first dimensions would stand out
    vectors = torch.zeros(size, width)
    vectors[torch.from_numpy(chosen)] = F.normalize(found @ turn, dim=1, eps=1e-6)
    return vectors


def count(
    examples: Sequence[Example], size: int, apart: int
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """In how many examples each id is seen, and said; and of ids that meet, s · size + t and in how many examples."""
    sources = [np.unique(each.source) for each in examples]
    targets = [np.unique(each.target) + apart for each in examples]
    meetings = [(s[:, None] * size + t).ravel() for s, t in zip(sources, targets, strict=True)]
    seen = np.bincount(np.concatenate(sources), minlength=size)
    said = np.bincount(np.concatenate(targets), minlength=size)
    return seen, said, np.unique(np.concatenate(meetings), return_counts=True)


def largest(graph: Tensor, width: int) -> Tensor:
    """E (N, width) with E Eᵀ ≈ graph, symmetric (N, N): eigenvectors of the largest eigenvalues, times their roots."""
    basis = torch.linalg.qr(torch.randn(len(graph), min(width + SPARE, len(graph)))).Q
    for _ in range(ROUNDS):  # subspace iteration
        basis = torch.linalg.qr(graph @ basis).Q
    values, turned = torch.linalg.eigh(basis.T @ graph @ basis)  # in rising order
    found = (basis @ (turned * values.clamp(min=0).sqrt())).flip(1)[:, :width]
    return F.pad(found, (0, width - found.size(1)))
