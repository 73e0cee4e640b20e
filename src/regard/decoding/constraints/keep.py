"""Translating texts with demands: the model reads a text made for it, and what was demanded is put in afterwards.

    Hi {name}, the <b>dog</b> is here.          the text; the glossary has dog, tab, Köter
    Hi Paris, the dog is here.                  what the model reads: a stand-in for each literal, and no tags
    Hallo Paris, der Hund ist hier.             what the search writes, bound to write Paris once
    Hallo {name}, der <b>Köter</b> ist hier.    what comes out

A literal costs one token, and the vocabulary need not be able to spell it. A term takes the place of the model's own
word for it; of several near places, and of several terms, those that the model likes best.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import torch

from regard.config import DecodeConfig
from regard.data.batch import pad
from regard.decoding.constraints.constrain import constrained_search, opening
from regard.decoding.constraints.order import Order, alike, ordered
from regard.decoding.constraints.placing import (
    Place,
    Weights,
    held,
    places,
    stretches,
    tags_of,
    told_without,
    weights,
    woven,
)
from regard.decoding.constraints.standin import stand_ins
from regard.decoding.constraints.terms import Glossary, Span, capitalised, patterns, spans, units, unmet, wordlike
from regard.decoding.engine import Engine
from regard.decoding.hypothesis import Found, Hypothesis, penalty
from regard.decoding.torch_engine import BATCH, MARGIN, TorchEngine, limits_of
from regard.errors import ConfigError
from regard.languages import lead_of
from regard.run import Run
from regard.tokens.text import normalise


@dataclass(frozen=True)
class Kept:
    """A translation written out, and in words what of the demands it does not meet."""

    text: str
    hypothesis: Hypothesis  # as the model wrote it: stand-ins for literals, its own words for terms
    reads: str  # what the model read
    unmet: tuple[str, ...] = ()


@dataclass
class Word:
    """A word or sign of a translation, and the space before it."""

    space: str
    text: str
    literal: int | None = None  # which span it is, if it is one


class Keeper:
    """Translates texts with what they demand: terms of a glossary, tags, placeholders, and what the user would keep."""

    def __init__(self, run: Run, glossary: Glossary | None = None, keep: Sequence[str] = (), batch: int = BATCH):
        self.run, self.glossary, self.keep, self.batch = run, glossary or Glossary(), patterns(keep), batch
        self.opens = opening(run.target_tokenizer)
        self.stand_ins: dict[str | None, dict[int, str]] = {}  # by the language translated into

    def translate(
        self,
        lines: Sequence[tuple[str, str | None]],
        config: DecodeConfig,
        n_best: int = 1,
        engine: Engine | None = None,
    ) -> list[list[Kept]]:
        """The best translations of each (text, language), with what it demands in them.

        Texts with literals are decoded by our own search, all the others by the engine.
        """
        orders = [self.order(text, to) for text, to in lines]
        full = [index for index, order in enumerate(orders) if not order.wordless]
        sources = {index: self.run.encode_source(orders[index].reads, lines[index][1]) for index in full}
        bound = [index for index in full if orders[index].standing]
        usual = [index for index in full if not orders[index].standing]
        found = self.search({index: (orders[index], sources[index]) for index in bound}, config)
        free = (engine or TorchEngine(self.run, self.batch)).search([sources[index] for index in usual], config, n_best)
        found |= zip(usual, free, strict=True)
        return [
            [self.written(order, each, config, lines[index][1]) for each in found[index].hypotheses[:n_best]]
            if index in found
            else [Kept(as_it_is(order), Hypothesis((), 0.0, 0.0, finished=True), reads="")]
            for index, order in enumerate(orders)
        ]

    def order(self, text: str, to: str | None = None) -> Order:
        """What the model reads for a text."""
        found = spans(text, self.glossary, self.keep)
        if to not in self.stand_ins and any(span.kind == "literal" for span in found):
            self.stand_ins[to] = stand_ins(self.run, to)
        return ordered(text, found, self.stand_ins.get(to, {}))

    def search(self, ordered: Mapping[int, tuple[Order, list[int]]], config: DecodeConfig) -> dict[int, Found]:
        """What is found for orders with literals, and the sources they read, the same in any batch."""
        if ordered and (config.samples or config.groups > 1):
            raise ConfigError("placeholders and the like are searched for with one beam: set groups=1 and samples=0")
        found: dict[int, Found] = {}
        likes = sorted(ordered, key=lambda index: (len(ordered[index][0].standing), len(ordered[index][1])))
        for start in range(0, len(likes), self.batch):
            chunk = likes[start : start + self.batch]
            found |= zip(chunk, self.search_batch([ordered[index] for index in chunk], config), strict=True)
            for index in chunk if len(chunk) > 1 else []:
                if found[index].margin < MARGIN:
                    [found[index]] = self.search_batch([ordered[index]], config)
        return found

    def search_batch(self, ordered: Sequence[tuple[Order, list[int]]], config: DecodeConfig) -> list[Found]:
        sources = [source for _, source in ordered]
        source, lengths = pad(sources), torch.tensor([len(ids) for ids in sources])
        readable = torch.arange(source.size(1)) < lengths.unsqueeze(1)
        return constrained_search(
            self.run.model,
            source.to(self.run.device),
            readable.to(self.run.device),
            [list(order.standing.values()) for order, _ in ordered],
            self.opens,
            config,
            limits_of(sources, config),
            torch.tensor(self.run.target_tokenizer.unwritten, device=self.run.device),
            [lead_of(source) for source in sources],
        )

    def written(self, order: Order, hypothesis: Hypothesis, config: DecodeConfig, to: str | None) -> Kept:
        """A hypothesis with what was demanded put in."""
        translation = self.run.target_tokenizer.decode(hypothesis.ids)
        words = self.words(order, translation, hypothesis.ids)
        tags = tags_of(order.spans, order.at, order.reads)
        hangs_on: Weights = []
        if words and (tags or any(span.kind == "term" for span in order.spans)):
            hangs_on = weights(self.run, order.reads, translation, to)
            self.put_terms(order, words, hangs_on, config, to)
        for word in words:
            if word.literal is not None:
                word.text = order.spans[word.literal].wanted[0]
        pieces, passed = list[str](), list[Span]()
        for item in woven(tags, places(tags, hangs_on), (0, len(words))):
            if isinstance(item, Span):
                passed.append(item)
            else:
                pieces += between(order.text, passed, words[item].space), words[item].text
                passed = []
        text = bare([*pieces, between(order.text, passed, "")])
        return Kept(text, hypothesis, order.reads, unmet(order.spans, text))

    def words(self, order: Order, translation: str, ids: Sequence[int]) -> list[Word]:
        """The words of a translation; a literal touches what it touched in the source, where that stands beside it."""
        waiting: dict[int, deque[int]] = defaultdict(deque)
        for index, id in order.standing.items():
            waiting[id].append(index)
        literals = {
            len(self.run.target_tokenizer.decode(ids[: place + 1])): waiting[id].popleft()
            for place, id in enumerate(ids)
            if waiting.get(id)
        }  # by where their stand-ins end
        words, end = list[Word](), 0
        for start, stop in units(translation):
            words.append(Word(translation[end:start], translation[start:stop], literals.get(stop)))
            end = stop
        for one, next in pairwise(words):
            left = alike(one.text[-1]) if one.literal is None else one.literal
            right = alike(next.text[0]) if next.literal is None else next.literal
            if (left, right) in order.touching:
                next.space = ""
        return words

    def put_terms(
        self, order: Order, words: list[Word], hangs_on: Weights, config: DecodeConfig, to: str | None
    ) -> None:
        """Put each term in the place of the words that hang on it, unless they are the term already."""
        taken = [(place, place + 1) for place, word in enumerate(words) if word.literal is not None]
        signs = [(place, place + 1) for place, word in enumerate(words) if not lettered(word.text)]
        source = self.run.encode_source(order.reads, to)
        for span, at in zip(order.spans, order.at, strict=True):
            if span.kind != "term":
                continue
            term = normalise(order.text[span.start : span.end])
            others = taken + signs if lettered(term) else taken  # a word is no full stop in any language
            near = stretches(held(at, at + len(term), order.reads), hangs_on, (0, len(words)), others)
            choices = list(product(near, span.wanted))
            there = [place for place, one in choices if joined(words[slice(*place)]) in (one, capitalised(one))]
            if there:
                taken.append(there[0])
            elif choices:
                texts = [put(words, place, one) for place, one in choices]
                scores = self.scores(source, [joined(text) for text in texts], config)
                best = scores.index(max(scores))
                words[:], (place, _) = texts[best], choices[best]
                taken.append(place)

    def scores(self, source: list[int], texts: Sequence[str], config: DecodeConfig) -> list[float]:
        """How the search would score each of some translations of a source."""
        lead = lead_of(source)
        targets = [[*lead, *self.run.encode_target(text)] for text in texts]
        hidden = torch.zeros(len(texts), len(source), dtype=torch.bool, device=self.run.device)
        told = told_without(self.run.model, source, targets, hidden).tolist()
        costs = [sum(row[len(lead) : len(ids)]) for row, ids in zip(told, targets, strict=True)]
        return [cost / penalty(len(ids), config) for cost, ids in zip(costs, targets, strict=True)]


def lettered(text: str) -> bool:
    return any(map(str.isalnum, text))


def joined(words: Sequence[Word]) -> str:
    return "".join(word.space + word.text for word in words).strip(" ")


def put(words: Sequence[Word], place: Place, term: str) -> list[Word]:
    """The words with a term in a place; what was there leaves empty words, so that all keep their numbers."""
    first, last = place
    opens = first == 0 and words[0].text[:1].isupper()
    new = Word(words[first].space, capitalised(term) if opens else term)
    changed = [*words[:first], new, *(Word("", "") for _ in range(first + 1, last)), *map(replace, words[last:])]
    for one, next in ((first - 1, first), (first, last)):  # two words are never run together
        if one >= 0 and next < len(words) and wordlike(changed[one].text[-1:]) and wordlike(changed[next].text[:1]):
            changed[next].space = changed[next].space or " "
    return changed


def between(source: str, tags: Sequence[Span], space: str) -> str:
    """Tags between two words that have this space between them; within pairs and around marks, spaces as they were."""
    parts = [
        " " * (tag.kind != "opening" and source[tag.start - 1 : tag.start].isspace())
        + tag.wanted[0]
        + " " * (tag.kind != "closing" and source[tag.end : tag.end + 1].isspace())
        for tag in tags
    ]
    kinds = [tag.kind for tag in tags]
    if set(kinds) != {"mark"}:
        parts.insert(kinds.index("opening") if "opening" in kinds else len(parts), space)
    return "".join(
        part[1:] if before.endswith(" ") and part.startswith(" ") else part for before, part in pairwise(["", *parts])
    )


def bare(pieces: Sequence[str]) -> str:
    """Pieces in a row, every second a word, without the spaces before the first word and after the last."""
    full = [place for place, piece in enumerate(pieces) if place % 2 and piece]
    if not full:
        return "".join(pieces).strip(" ")
    before, after = "".join(pieces[: full[0]]).lstrip(" "), "".join(pieces[full[-1] + 1 :]).rstrip(" ")
    return before + "".join(pieces[full[0] : full[-1] + 1]) + after


def as_it_is(order: Order) -> str:
    """A text that has no words, without what marked its literals."""
    text, end = "", 0
    for span in order.spans:
        text, end = text + order.text[end : span.start] + span.wanted[0], span.end
    return (text + order.text[end:]).strip(" ")
