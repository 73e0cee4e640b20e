"""Runs that read a text both ways and say what a mask hides, which class it is of, or what each token is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from regard.config import DecodeConfig
from regard.insight.contract import Line, LineName, Question
from regard.insight.lines import spelled_out
from regard.insight.ways.way import Pass, Stream, Way, evaluating, moved, recorded, short_enough, some_text
from regard.insight.ways.writing import ENTERS
from regard.run import TEXT, Run
from regard.tokens.masks import MASK, read_masked
from regard.tokens.text import BOS, EOS


class Reading(Way):
    kinds = ("encoder",)
    streams = (Stream("encoder", "source", ENTERS, "position"),)
    panels = ("machine", "vectors", "steps", "heads", "answer", "whatif", "training")
    changes = ("heads", "words", "positions")

    def pieces(self, line: LineName, ids: Sequence[int]) -> list[str]:
        """As the tokenizer has them; what hides a token as it is typed."""
        tokenizer = self.run.tokenizers[TEXT]
        return [MASK if id == tokenizer.mask else piece for id, piece in zip(ids, tokenizer.pieces(ids), strict=True)]

    @property
    def longest(self) -> int | None:
        return self.run.window

    def typed(self, question: Question) -> Line:
        ids = read_masked(self.run.tokenizers[TEXT], question.text)
        return spelled_out(ids, self.pieces("source", ids))

    def ask(self, question: Question, config: DecodeConfig, most: int) -> Pass:
        some_text(question.text)
        run = self.run
        words = [[BOS], *moved(self.typed(question), question.order), [EOS]]
        source = [id for word in words for id in word]
        short_enough(len(source), most)
        ids = torch.tensor([source], device=run.device)
        with evaluating(run.model), torch.no_grad(), recorded(run.model) as seen:
            states = run.model.states(ids, torch.ones_like(ids, dtype=torch.bool))
            places, logits = self.said(source, states)
        target = logits.argmax(-1).tolist()
        found = Pass(**vars(seen), logits=logits, source=source, target=target, words=words, places=places)
        return self.named(found, question.text, self.told(found))

    @abstractmethod
    def said(self, source: list[int], states: Tensor) -> tuple[list[int], Tensor]:
        """Of which tokens something is said, none where it is of the whole, and the logits of what, (T, V)."""

    def told(self, seen: Pass) -> str:
        return " ".join(self.pieces("target", seen.target))


class Filling(Reading):
    """What stands at each mask; in a text without one, what the run would say at each token that it sees."""

    verb = "Fill in"
    ends = ("filler", "output")

    @property
    def vocabulary(self) -> dict[str, int]:
        size = len(self.run.tokenizers[TEXT])
        return {"source": size, "target": size}

    def said(self, source: list[int], states: Tensor) -> tuple[list[int], Tensor]:
        tokenizer = self.run.tokenizers[TEXT]
        masks = [place for place, id in enumerate(source) if id == tokenizer.mask]
        places = masks or list(range(1, len(source) - 1))
        logits = self.run.model.fill(states[0, places]).float().cpu()
        logits[:, sorted(tokenizer.control)] = -torch.inf
        return places, logits

    def told(self, seen: Pass) -> str:
        """The text, with the likeliest token in each place."""
        ids = list(seen.source)
        for place, id in zip(seen.places, seen.target, strict=True):
            ids[place] = id
        return self.run.tokenizers[TEXT].decode(ids)


class Labelling(Reading):
    """Labels: of the whole text, or of each token."""

    counted: ClassVar[str]  # the setting that says how many there are

    def pieces(self, line: LineName, ids: Sequence[int]) -> list[str]:
        return [label(self.run, id) for id in ids] if line == "target" else super().pieces(line, ids)

    @property
    def vocabulary(self) -> dict[str, int]:
        model = self.run.settings.model
        return {"source": len(self.run.tokenizers[TEXT]), "target": getattr(model, self.counted)}


class Classifying(Labelling):
    verb = "Classify"
    counted = "classes"
    ends = ("pooler", "classifier")

    def said(self, source: list[int], states: Tensor) -> tuple[list[int], Tensor]:
        return [], self.run.model.classify(states).float().cpu()


class Tagging(Labelling):
    verb = "Tag"
    counted = "tags"
    ends = ("tagger",)

    def said(self, source: list[int], states: Tensor) -> tuple[list[int], Tensor]:
        return list(range(1, len(source) - 1)), self.run.model.tag(states)[0, 1:-1].float().cpu()


def label(run: Run, id: int) -> str:
    """The name of a class, or its number where it has none."""
    names = run.settings.data.labels
    return names[id] if id < len(names) else str(id)
