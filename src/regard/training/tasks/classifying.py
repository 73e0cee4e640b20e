"""To tell classes apart: labelled texts or pictures in, and a network that says of others which class each is of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch.nn.functional as F

from regard.config import Settings, validate
from regard.console import say
from regard.data.augment import erased, flipped, shifted
from regard.data.batch import Batch
from regard.data.gallery import read_gallery
from regard.data.image import resized
from regard.data.labelled import LabelledBatch, Parts, Picture, Text, Texts, read_labelled
from regard.data.pictures import Pictures, split
from regard.decoding.intake import intake
from regard.errors import ConfigError, DataError
from regard.model import FAMILIES
from regard.run import TEXT, Run
from regard.tokens.text import TextTokenizer
from regard.training.accuracy import Accuracy, judged
from regard.training.objective import Loss, Objective
from regard.training.suited import LEARNING, READERS, filled, paced, suit_text
from regard.training.tasks.task import Account, Task, Validation

PATCHES = 64  # that a picture is cut into, at most, where nobody says how
TOGETHER = 64  # pictures in a batch, where nobody says
EPOCHS = ((5_000, 60), (50_000, 25), (500_000, 10))  # up to so many pictures, how often each is seen
FEWEST = 400  # steps


class Naming(Objective[Any, LabelledBatch]):
    """−Σ log p(class | what was read), with label smoothing                      Szegedy et al. 2016, section 7"""

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def loss(self, model: Any, part: LabelledBatch) -> Loss:
        logits = model.classify(model.states(*part.inputs)).float()
        surprise = F.cross_entropy(logits, part.labels, reduction="sum")
        total = F.cross_entropy(logits, part.labels, reduction="sum", label_smoothing=self.smoothing)
        return Loss(total, surprise.detach(), len(part.labels))


class Classifying(Task[Parts[Any], Any]):
    """What texts and pictures have in common."""

    choices: ClassVar = {"loss": 1, "accuracy": -1}
    ending = 2.0
    network: ClassVar[str]  # one clause for the card

    def __init__(self, run: Run, corpus: Parts[Any]):
        super().__init__(run, corpus)
        self.objective = Naming(run.settings.train.label_smoothing)
        self.takes = intake(run)
        names = run.settings.data.labels
        self.train, self.valid = corpus.train.under(names), self.takes.labelled(corpus.valid.under(names))

    @classmethod
    def version(cls, settings: Settings) -> type[Task[Any, Any]]:
        return {"texts": ClassifyingTexts, "pictures": ClassifyingPictures}[FAMILIES[settings.model.family].reads]

    @classmethod
    def settle(cls, settings: Settings, corpus: Parts[Any], tokenizers: Mapping[str, Any]) -> Settings:
        """The names of the classes, and how many there are."""
        names = corpus.train.names
        if len(names) == 1:
            raise DataError(f"all there is to learn from is of one class, {names[0]}: give examples of others, too")
        whole = settings.model_dump()
        whole["data"] |= {"labels": names}
        whole["model"] |= {"classes": len(names), **cls.sizes(corpus.train)}
        return validate(Settings, whole, "settings")

    @classmethod
    def settles(cls, name: str, given: Any, found: Any) -> bool:
        return name in {"labels", "classes", "picture", "channels"}

    @classmethod
    def sizes(cls, train: Any) -> dict[str, Any]:
        """What else of the network the corpus says."""
        return {}

    def collate(self, examples: Sequence[Any]) -> Batch:
        return self.takes.collate(examples)

    def measure(self) -> Accuracy:
        return judged(self.run, self.takes, self.valid)

    def validate(self) -> Validation | None:
        found = self.measure()
        return Validation({"loss": found.loss, "accuracy": found.accuracy})

    def conclude(self) -> Account:
        run, data, found, what = self.run, self.run.settings.data, self.measure(), self.run.model.reads
        say(f"validation:\n{found}")
        low, high = (f"{100 * share:.2f}" for share in found.interval)
        files, others = data.labelled or data.pictures, data.valid_labelled or data.valid_pictures
        return Account(
            title=f"tells {len(data.labels)} classes apart",
            network=self.network,
            data={
                "training data": f"{files or 'in memory'}: {len(self.train):,} {what}",
                "validation": f"{others or 'set aside'}: {len(self.valid):,} {what}",
                "classes": ", ".join(data.labels),
            },
            vocabulary=f"{len(run.tokenizers[TEXT]):,} pieces" if run.tokenizers else "",
            learned=what,
            scores={"accuracy": f"{100 * found.accuracy:.2f} %, 95 % interval {low} to {high}"},
            use=[f"regard classify {run.folder} FILE", f"regard evaluate {run.folder} FILE"],
        )


class ClassifyingTexts(Classifying):
    network = "encoder alone, Devlin et al. 2019"

    @classmethod
    def read(cls, settings: Settings) -> Parts[Texts]:
        data = settings.data
        if not data.labelled:
            raise ConfigError("there is nothing to train on: give --labelled and a TSV of text, tab, label")
        texts = read_labelled(Path(data.labelled))
        if data.valid_labelled:
            return Parts(texts, read_labelled(Path(data.valid_labelled)))
        if lonely := [name for name, count in zip(texts.names, np.bincount(texts.labels), strict=True) if count < 2]:
            raise DataError(f"{data.labelled} has one text of the class {lonely[0]!r}: give more, or --valid-labelled")
        parts = Parts(*split(texts, data.valid_share, settings.train.seed))
        say(f"no validation texts: {len(parts.valid):,} of {len(texts):,} set aside")
        return parts

    @classmethod
    def suit(cls, settings: Settings, corpus: Parts[Texts], seconds: float | None) -> Settings:
        return suit_text(settings, sum(map(len, corpus.train.texts)), seconds, READERS, norm="pre", fills=False)

    @classmethod
    def learn_tokenizers(cls, settings: Settings, corpus: Parts[Texts]) -> dict[str, Any]:
        how = settings.tokenizer
        return {TEXT: TextTokenizer.learn(corpus.train.texts, size=how.size, kind=how.kind, most=how.learn_from)}

    def __init__(self, run: Run, corpus: Parts[Texts]):
        super().__init__(run, corpus)
        self.texts = self.takes.labelled(self.train)

    def examples(self, epoch: int) -> Sequence[Text]:
        return self.texts


class ClassifyingPictures(Classifying):
    network = "encoder alone, over the patches of a picture, Dosovitskiy et al. 2021"

    def __init__(self, run: Run, corpus: Parts[Pictures]):
        size, (height, width) = run.model.config.picture, corpus.valid.pixels.shape[1:3]
        if (height, width) != size:
            say(f"validation pictures: {height} × {width} pixels are brought to {size[0]} × {size[1]}")
        super().__init__(run, Parts(corpus.train, replace(corpus.valid, pixels=resized(corpus.valid.pixels, size))))

    @classmethod
    def read(cls, settings: Settings) -> Parts[Pictures]:
        parts = read_gallery(settings.data, settings.train.seed)
        if parts.train.captions and parts.train.labels is None:
            raise DataError(
                f"{settings.data.pictures} has captions and no classes: set model.family=dalle to learn to paint, or "
                "put each picture into the folder of its class"
            )
        return parts

    @classmethod
    def suit(cls, settings: Settings, corpus: Parts[Pictures], seconds: float | None) -> Settings:
        """A small network, seen through patches of a size that makes at most 64 of a picture."""
        count, height, width, _ = corpus.train.pixels.shape
        asked: dict[str, Any] = settings.model.model_dump(include=settings.model.model_fields_set)
        patch = asked.get("patch") or patch_for(height, width)
        batch = TOGETHER * (height // patch) * (width // patch)
        epochs = next((epochs for most, epochs in EPOCHS if count <= most), 5)
        often = paced(settings.train, max(FEWEST, epochs * count // TOGETHER))
        return filled(
            settings,
            model={"width": 96, "hidden": 192, "heads": 4, "layers": 4, "patch": patch, "picture": (height, width)},
            train={**LEARNING, "start": "random", "weight_decay": 0.05, "batch_tokens": batch, **often},
        )

    @classmethod
    def sizes(cls, train: Pictures) -> dict[str, Any]:
        _, height, width, channels = train.pixels.shape
        return {"picture": (height, width), "channels": channels}

    @classmethod
    def learn_tokenizers(cls, settings: Settings, corpus: Parts[Pictures]) -> dict[str, Any]:
        return {}

    def examples(self, epoch: int) -> Sequence[Picture]:
        """The pictures, changed anew in each epoch as far as the settings let them."""
        data, pixels = self.run.settings.data, self.train.pixels
        random = np.random.default_rng([self.run.settings.train.seed, epoch])
        if data.shift:
            pixels = shifted(pixels, data.shift, random)
        if data.flip:
            pixels = flipped(pixels, random)
        if data.erase:
            pixels = erased(pixels, data.erase, random)
        return self.takes.labelled(Pictures(pixels, self.train.labels, self.train.names))


def patch_for(height: int, width: int) -> int:
    """The smallest patch that cuts a picture into at most 64."""
    for patch in range(1, min(height, width) + 1):
        if height % patch == width % patch == 0 and height // patch * (width // patch) <= PATCHES:
            return patch
    raise ConfigError(
        f"pictures of {height} × {width} pixels do not split into at most {PATCHES} square patches: choose "
        "data.picture_size, such as [32, 32], or model.patch"
    )
