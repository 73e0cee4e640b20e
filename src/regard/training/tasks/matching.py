"""To match: captioned pictures in, and a network that tells which caption says what a picture shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from regard.config import Settings, validate
from regard.console import say
from regard.data.image import resized
from regard.data.labelled import Parts
from regard.data.pictures import Pictures
from regard.data.text import Prose
from regard.run import TEXT, Run
from regard.training.likeness import MatchBatch, Matched, Telling, collate_matched, encode, find
from regard.training.suited import LEARNING, filled, paced
from regard.training.tasks.classifying import patch_for
from regard.training.tasks.painting import EPOCHS, FEWEST, MOST, WORDS, Painting
from regard.training.tasks.task import Account, Task, Validation
from regard.training.tasks.writing import Writing

TOGETHER = 64  # pictures in a batch, where nobody says: each is told from as many captions
KEPT = 12  # captions to choose from, where nobody gives others


class Matching(Task[Parts[Pictures], Matched]):
    choices: ClassVar = {"loss": 1, "accuracy": -1}
    foreign = (*Task.foreign, "data.shift", "data.flip", "data.erase")
    ending = 2.0

    def __init__(self, run: Run, corpus: Parts[Pictures]):
        super().__init__(run, corpus)
        self.objective = Telling(run.settings.train.label_smoothing)
        self.matched = encode(run, corpus.train)
        self.valid = replace(corpus.valid, pixels=resized(corpus.valid.pixels, run.model.config.picture))

    @classmethod
    def read(cls, settings: Settings) -> Parts[Pictures]:
        return Painting.read(settings)

    @classmethod
    def suit(cls, settings: Settings, corpus: Parts[Pictures], seconds: float | None) -> Settings:
        """A small network; how long it learns follows from how much there is."""
        count, height, width, _ = corpus.train.pixels.shape
        asked: dict[str, Any] = settings.model.model_dump(include=settings.model.model_fields_set)
        patch = asked.get("patch") or patch_for(height, width)
        batch = TOGETHER * ((height // patch) * (width // patch) + WORDS)
        often = paced(settings.train, min(max(FEWEST, EPOCHS * count // TOGETHER), MOST))
        sizes = {"width": 96, "hidden": 192, "heads": 4, "layers": 4, "patch": patch, "picture": (height, width)}
        return filled(
            settings,
            tokenizer={"size": 1000},
            model=sizes,
            train={**LEARNING, "start": "random", "label_smoothing": 0.0, "batch_tokens": batch, **often},
        )

    @classmethod
    def learn_tokenizers(cls, settings: Settings, corpus: Parts[Pictures]) -> dict[str, Any]:
        return Writing.learn_tokenizers(settings, Prose(corpus.train.captions, ()))

    @classmethod
    def settle(cls, settings: Settings, corpus: Parts[Pictures], tokenizers: Mapping[str, Any]) -> Settings:
        """The size of the pictures, and captions to choose from where nobody gives others."""
        _, height, width, channels = corpus.train.pixels.shape
        whole = settings.model_dump()
        whole["data"] |= {"labels": tuple(dict.fromkeys(corpus.valid.captions))[:KEPT]}
        whole["model"] |= {"picture": (height, width), "channels": channels}
        return validate(Settings, whole, "settings")

    @classmethod
    def settles(cls, name: str, given: Any, found: Any) -> bool:
        return name in {"labels", "picture", "channels"}

    def examples(self, epoch: int) -> Sequence[Matched]:
        return self.matched

    def collate(self, examples: Sequence[Matched]) -> MatchBatch:
        return collate_matched(examples)

    def validate(self) -> Validation | None:
        found = find(self.run, self.valid)
        return Validation({"loss": found.loss, "accuracy": found.accuracy})

    def conclude(self) -> Account:
        run, data, found = self.run, self.run.settings.data, find(self.run, self.valid)
        say(f"validation: {found}")
        return Account(
            title="tells which caption goes with a picture",
            network="two encoders, of pictures and of texts, Radford et al. 2021",
            data={
                "training data": f"{data.pictures or 'in memory'}: {len(self.matched):,} captioned pictures",
                "validation": f"{data.valid_pictures or 'set aside'}: {len(self.valid):,} captioned pictures",
            },
            vocabulary=f"{len(run.tokenizers[TEXT]):,} pieces of text",
            learned="pictures",
            scores={"captions": str(found)},
            use=[
                f'regard classify {run.folder} picture.png --caption "{data.labels[0]}" --caption "…"',
                f'regard generate RUN "{data.labels[0]}" --out picture.png --judge {run.folder}',
            ],
        )
