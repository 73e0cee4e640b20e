"""A way: how a run of one kind is asked, which lines its numbers are about, and one pass of it, recorded.

    way = way_of(run)
    seen = way.ask(Question(text="Once upon a"), way.settings({}), way.most)
    seen.trace, seen.logits, seen.states

What is read stands in the line `source`, or in `read` where it is what was written so far; what comes of it stands in
`target`. All that the explorer shows is told in these terms, so that nothing in it asks for a family.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from regard.config import DecodeConfig, validate
from regard.decoding.search import Hypothesis
from regard.decoding.tree import Tree
from regard.errors import DataError
from regard.insight.change import POSITIONS
from regard.insight.contract import Change, Input, Kind, LineName, PanelName, Question, Role, Side, StackName
from regard.insight.contract import Line as TokenLine
from regard.insight.lines import grouped, spelled_out
from regard.insight.trace import Trace, record
from regard.model.attention import Attention
from regard.model.block import Residual
from regard.model.listening import listening, of_kind
from regard.run import Run
from regard.tokens.text import EOS

LIMIT = 512  # tokens of a line: every layer and head keeps their square
STATIONS = (*POSITIONS, Residual, nn.LayerNorm, nn.RMSNorm)  # where a token's vector is worth a look


Enters = tuple[tuple[str, Role], ...]  # modules that turn a line into vectors, or parameters that join it


class Stream(NamedTuple):
    """What enters a stack: a line, through the modules that turn it into vectors; those that a model lacks are left."""

    stack: StackName
    line: Side
    enters: Enters
    position: str  # the one of them that adds positions


@dataclass(frozen=True, eq=False)
class Recorded:
    """What was seen in one pass."""

    trace: Trace
    given: dict[str, tuple[Tensor, Tensor | None, Tensor | None]] = field(default_factory=dict)
    # of each attention the x, memory and mask of its call
    states: dict[str, Tensor] = field(default_factory=dict)  # station → what came out of it, (1, tokens, D)
    entered: dict[str, Tensor] = field(default_factory=dict)  # position → what it was added to, (1, tokens, D)


@dataclass(frozen=True, eq=False)
class Pass(Recorded):
    """A recorded pass, and what its lines are. T tokens in target, each of which the model chose from V."""

    logits: Tensor = field(default_factory=lambda: torch.zeros(0, 0))  # (T, V)
    source: Sequence[int] = ()  # ids of the lines
    read: Sequence[int] = ()
    target: Sequence[int] = ()
    words: Sequence[Sequence[int]] = ()  # the source, word by word, where its pieces do not tell
    places: Sequence[int] = ()  # the token of the source that each of target is said of, where it is of one
    forced: int = 0  # how many of target were given, and not chosen
    best: Hypothesis | None = None  # what a search came to
    tree: Tree | None = None  # and how


class Way(ABC):
    """One kind of run: its parts, its lines, and how it is asked."""

    input: ClassVar[Input] = "text"
    verb: ClassVar[str]  # what it does with what it is given
    kinds: ClassVar[tuple[Kind, ...]]
    streams: ClassVar[tuple[Stream, ...]]
    ends: ClassVar[tuple[str, ...]]  # modules between the last stack and the logits
    panels: ClassVar[tuple[PanelName, ...]]
    changes: ClassVar[tuple[Change, ...]]

    def __init__(self, run: Run):
        self.run = run

    def question(self, given: Any, to: str | None = None) -> Question:
        """What someone gave to be looked at, as a question."""
        return validate(Question, {"text": given, "to": to or ""}, "the sentence")

    def settled(self, question: Question) -> Question:
        """The same question, as it can be asked again anywhere."""
        return question

    def settings(self, decode: dict[str, Any]) -> DecodeConfig:
        return validate(DecodeConfig, {**self.run.settings.decode.model_dump(), **decode}, "decoding")

    @abstractmethod
    def typed(self, question: Question) -> TokenLine:
        """What was given, before anything is left out or moved."""

    @abstractmethod
    def ask(self, question: Question, config: DecodeConfig, most: int) -> Pass:
        """One pass, recorded; at most so many tokens in a line."""

    @abstractmethod
    def pieces(self, line: LineName, ids: Sequence[int]) -> list[str]:
        """What the ids of a line look like."""

    def line(self, name: LineName, seen: Pass) -> TokenLine:
        if name == "source" and seen.words:
            return grouped(seen.words, lambda ids: self.pieces("source", ids))
        ids = {"source": seen.source, "read": seen.read, "target": seen.target}[name]
        return spelled_out(ids, self.pieces(name, ids))

    @property
    @abstractmethod
    def vocabulary(self) -> dict[str, int]:
        """How many ids the lines source, or read, and target are made of; 0 where they are no ids."""

    @property
    def examples(self) -> list[str]:
        """Texts, or pictures as addresses, to begin with."""
        return []

    @property
    def longest(self) -> int | None:
        """How many tokens there is a position for, where they end."""
        model = self.run.settings.model
        return getattr(model, "max_positions", None) if model.position == "learned" else None

    @property
    def most(self) -> int:
        """How many tokens a line may have to be looked at."""
        return min(LIMIT, self.longest or LIMIT)

    def named(self, seen: Pass, text: str, translation: str, **more: Any) -> Pass:
        """The pass, its trace with the tokens that its numbers are about."""
        lines: dict[str, Any] = {
            "source": self.pieces("source", seen.source),
            "read": self.pieces("read", seen.read),
            "target": self.pieces("target", seen.target),
        }
        chosen = seen.logits.log_softmax(-1)[range(len(seen.target)), list(seen.target)]  # (T,)
        told = {name: tuple(pieces) for name, pieces in lines.items()} | more
        trace = replace(seen.trace, text=text, translation=translation, log_probabilities=chosen.numpy(), **told)
        return replace(seen, trace=trace)


@contextmanager
def recorded(model: nn.Module) -> Iterator[Recorded]:
    """Within, everything that a pass through the model looks at and leaves behind is written down."""

    def arguments(
        name: str,
        attention: nn.Module,
        output: Tensor,
        x: Tensor,
        memory: Tensor | None = None,
        mask: Tensor | None = None,
        kept: None = None,
    ) -> None:
        seen.given[name] = x, memory, mask

    def state(name: str, station: nn.Module, output: Tensor, *given: Any) -> None:
        seen.states[name] = output

    def enters(name: str, position: nn.Module, output: Tensor, x: Tensor, past: int = 0) -> None:
        seen.entered[name] = x

    with record(model) as trace:
        seen = Recorded(trace)
        with (
            listening(of_kind(model, (Attention,)), arguments),
            listening(of_kind(model, STATIONS), state),
            listening(of_kind(model, POSITIONS), enters),
        ):
            yield seen


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout for a while; a model in training goes on training after."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def some_text(text: str) -> None:
    if not text.strip():
        raise DataError("there is nothing to explain in an empty sentence: give some text")


def short_enough(count: int, most: int, what: str = "a sentence") -> None:
    if count > most:
        raise DataError(f"{what} of {count} tokens is too long to look at: give one of at most {most}")


def moved(typed: TokenLine, order: Sequence[int] | None) -> list[list[int]]:
    """The ids of each word that is left, in the order asked for."""
    count = len(typed.words)
    places = range(count) if order is None else order
    if not len(places):
        raise DataError("order leaves no word of the sentence: leave at least one")
    words = [typed.words[within(place, count, "source word")] for place in places]
    return [[token.id for token in typed.tokens[word.start : word.end]] for word in words]


def within(number: int, count: int, what: str) -> int:
    if not 0 <= number < count:
        raise DataError(f"there is no {what} {number}: there are {count}, counted from 0")
    return number


def can_be_written(ids: Sequence[int], vocabulary: int, never: Sequence[int]) -> None:
    if EOS in ids[:-1]:
        raise DataError("prefix goes on after </s>: nothing is written after the end")
    for id in ids:
        if id >= vocabulary or id in never:
            raise DataError(f"prefix={id} is no token that can be written: give ids of text below {vocabulary}")
