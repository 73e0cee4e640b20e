"""Searching by the plainest means: a model asked anew for every sequence, lists, and no batch."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor

from regard.config import DecodeConfig
from regard.decoding.hypothesis import penalty
from regard.model.translator import Translator
from regard.tokens.text import BOS, EOS, PAD, UNKNOWN

FORBIDDEN = torch.tensor([PAD, UNKNOWN, BOS])

Ids = tuple[int, ...]
Next = Callable[[Ids], list[float]]  # what is written → the log-probability of each token after it
Scored = tuple[float, Ids, bool]  # score, ids without EOS, finished


def asking(model: Translator, source: Tensor, readable: Tensor, config: DecodeConfig) -> Next:
    """The model and its rules for one source (1, S), each rule told in the words of its definition."""
    memory = model.encode(source, readable)

    def following(ids: Ids) -> list[float]:
        logits = model.logits(model.decode(torch.tensor([[BOS, *ids]]), memory, readable))[0, -1].tolist()
        for token in {BOS, *ids}:
            logits[token] *= config.repetition_penalty if logits[token] < 0 else 1 / config.repetition_penalty
        for token in range(len(logits)):
            if token in FORBIDDEN.tolist() or token in ending_a_repeat(ids, config.no_repeat):
                logits[token] = -math.inf
        if len(ids) < config.min_length:
            logits[EOS] = -math.inf
        return torch.tensor(logits).log_softmax(-1).tolist()

    return following


def ending_a_repeat(ids: Ids, size: int) -> set[int]:
    if not size:
        return set()
    written = {ids[start : start + size] for start in range(len(ids) - size + 1)}
    return {each[-1] for each in written if each[:-1] == ids[len(ids) - size + 1 :]}


def everything(following: Next, words: range, limit: int, config: DecodeConfig) -> list[Scored]:
    """Every sequence that can be written, best first: those that end within the limit, and those cut off at it."""
    scored: list[Scored] = []
    for length in range(limit + 1):
        for ids in itertools.product(words, repeat=length):
            whole = (*ids, EOS) if length < limit else ids
            total = sum(following(whole[:t])[token] for t, token in enumerate(whole))
            if total > -math.inf:
                scored.append((total / penalty(len(whole), config), ids, length < limit))
    return sorted(scored, reverse=True)


def beam(following: Next, limit: int, config: DecodeConfig) -> list[Scored]:
    """The rule of the search, group by group, best first."""
    width = config.beam // config.groups
    open: list[list[tuple[float, float, Ids]]] = [[(0.0, 0.0, ())] for _ in range(config.groups)]
    done: list[list[Scored]] = [[] for _ in range(config.groups)]
    for length in range(1, limit + 1):
        used = Counter[int]()
        for group in range(config.groups):
            ranked: list[tuple[float, float, Ids, bool]] = []
            for total, own, ids in open[group]:
                after = following(ids)
                if all(math.isnan(each) for each in after):  # nothing may follow
                    ranked.append((total, own, (*ids, EOS), False))
                    continue
                for token, each in enumerate(after):
                    if each > -math.inf:
                        cost = config.diversity * used[token]
                        ranked.append((total + each - cost, own + each, (*ids, token), token == EOS))
            ranked.sort(reverse=True)
            for _, own, ids, finished in ranked[:width]:
                if ids[-1] == EOS or length == limit:
                    told = ids[:-1] if ids[-1] == EOS else ids
                    done[group].append((own / penalty(length, config), told, finished))
            going = [(total, own, ids) for total, own, ids, _ in ranked if ids[-1] != EOS][:width]
            used.update(ids[-1] for _, _, ids in going)
            open[group] = going if len(done[group]) < width else []
    return sorted(itertools.chain(*done), reverse=True)
