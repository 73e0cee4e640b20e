"""A task: what a network is trained for, and all that training asks of it.

    files ──read──▶ corpus ──suit, learn_tokenizers──▶ run
                    corpus, run ──examples──▶ each epoch ──collate──▶ batches ──objective──▶ loss
                                ──validate──▶ figures, samples      ──conclude──▶ what the card tells

The loop, the learner, checkpoints, the deadline and the card know nothing else of what a network learns. A task is a
class; before there is a run its class methods turn files into a corpus, whatever that is to it, and then one object of
it goes with one run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from regard.config import Settings
from regard.data.batch import Batch, Measured
from regard.run import Run
from regard.training.objective import Objective

C = TypeVar("C")
E = TypeVar("E", bound=Measured)


class Validation(NamedTuple):
    """How a model does on what it does not learn from."""

    figures: dict[str, float]  # by name; "loss" is in nats a token
    samples: Sequence[str] = ()  # lines to show


@dataclass(frozen=True)
class Account:
    """What a task tells of its run in the card."""

    title: str  # after the folder's name
    network: str  # one clause: what kind of network this is
    data: Mapping[str, str]  # rows on what was learned from
    vocabulary: str = ""
    learned: str = "tokens"  # what was counted while it learned
    scores: Mapping[str, str] = field(default_factory=dict)  # rows on how good it is
    note: str = ""  # a line below the table
    use: Sequence[str] = ()  # commands


class Task(ABC, Generic[C, E]):
    """One task of one run, with its corpus at hand."""

    choices: ClassVar[Mapping[str, int]] = {"loss": 1}  # figures to choose a checkpoint by: 1 less is better, −1 more
    foreign: ClassVar[Sequence[str]] = (  # settings that it has no use for
        "train.start",
        "train.r_drop",
        "train.guided_alignment",
        "train.tune_length",
        "tokenizer.sampling",
        "data.translated_by",
    )
    ending: float = 5.0  # times as long as a validation the conclusion takes
    objective: Objective[Any, Any]

    @classmethod
    def version(cls, settings: Settings) -> type[Task[Any, Any]]:
        """The class to take, where networks that read different things learn one task."""
        return cls

    @classmethod
    @abstractmethod
    def read(cls, settings: Settings) -> C:
        """The corpus that the settings name."""

    @classmethod
    @abstractmethod
    def suit(cls, settings: Settings, corpus: C, seconds: float | None) -> Settings:
        """The settings, with what they leave open filled in for this corpus; with a time, for what fits into it."""

    @classmethod
    @abstractmethod
    def learn_tokenizers(cls, settings: Settings, corpus: C) -> dict[str, Any]:
        """A tokenizer for each vocabulary that the network has."""

    @classmethod
    def settle(cls, settings: Settings, corpus: C, tokenizers: Mapping[str, Any]) -> Settings:
        """The settings with what these alone can tell, such as how many classes there are."""
        return settings

    @classmethod
    def settles(cls, name: str, given: Any, found: Any) -> bool:
        """Whether `settle` may have made what is found of a setting of what was given."""
        return False

    def __init__(self, run: Run, corpus: C):
        self.run, self.corpus = run, corpus

    def start(self) -> None:
        """Change the model before its first step, where there is something to start from."""

    @abstractmethod
    def examples(self, epoch: int) -> Sequence[E]:
        """What is learned from in epoch 0, 1, …; the same settings give the same ones."""

    @abstractmethod
    def collate(self, examples: Sequence[E]) -> Batch:
        """A few of them as a batch."""

    @abstractmethod
    def validate(self) -> Validation | None:
        """The model as it stands; None where nothing was set aside."""

    @abstractmethod
    def conclude(self) -> Account:
        """Measure the finished run, say and keep what there is to say, and account for it."""
