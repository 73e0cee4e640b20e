"""To paint: captioned pictures in, and a network that writes pictures, code by code, after what a caption says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regard.config import Settings, validate
from regard.console import say
from regard.data.gallery import read_gallery
from regard.data.labelled import Parts
from regard.data.pictures import Pictures
from regard.data.text import Prose
from regard.decoding.paint import fitting, paint_each
from regard.insight.painted import save_painted
from regard.run import IMAGE, TEXT, Run
from regard.tokens.image import ImageTokenizer
from regard.training.codes import (
    Captioned,
    PaintBatch,
    TextThenPicture,
    captioned,
    collate_captioned,
    encode,
    foretell_codes,
    without_caption,
)
from regard.training.suited import LEARNING, filled, paced
from regard.training.tasks.task import Account, Task, Validation
from regard.training.tasks.writing import Writing

SHOWN = 16  # validation captions that the finished run paints
PAINTED = "painted.png"
TOGETHER = 64  # pictures in a batch, where nobody says
WORDS = 16  # tokens of a caption, about
EPOCHS, FEWEST, MOST = 30, 1000, 10_000  # how often a picture is seen, where nobody says; and bounds of the steps


class Painting(Task[Parts[Pictures], Captioned]):
    def __init__(self, run: Run, corpus: Parts[Pictures]):
        super().__init__(run, corpus)
        self.objective = TextThenPicture(run.settings.train.label_smoothing)
        self.captioned, self.valid = encode(run, corpus.train), encode(run, corpus.valid)

    @classmethod
    def read(cls, settings: Settings) -> Parts[Pictures]:
        parts = read_gallery(settings.data, settings.train.seed)
        for part, name in zip(parts, (settings.data.pictures, settings.data.valid_pictures), strict=True):
            captioned(part, name)
        return parts

    @classmethod
    def suit(cls, settings: Settings, corpus: Parts[Pictures], seconds: float | None) -> Settings:
        """A small network; how long it learns follows from how much there is."""
        patch, (count, height, width, _) = settings.tokenizer.patch, corpus.train.pixels.shape
        batch = TOGETHER * (2 * (height // patch) * (width // patch) + WORDS)
        often = paced(settings.train, min(max(FEWEST, EPOCHS * count // TOGETHER), MOST))
        return filled(
            settings,
            tokenizer={"size": 1000},
            model={"width": 192, "hidden": 768, "heads": 6, "layers": 4},
            train={**LEARNING, "start": "random", "label_smoothing": 0.0, "batch_tokens": batch, **often},
        )

    @classmethod
    def learn_tokenizers(cls, settings: Settings, corpus: Parts[Pictures]) -> dict[str, Any]:
        """Pieces of the captions, and codes of the pictures."""
        how, train = settings.tokenizer, corpus.train
        say(f"learning {how.codes} patterns and {how.colours} pairs of colours of pictures, {how.codec_steps:,} steps")
        codec = ImageTokenizer.learn(
            train.pixels,
            patch=how.patch,
            codes=how.codes,
            colours=how.colours,
            steps=how.codec_steps,
            seed=settings.train.seed,
        )
        return {**Writing.learn_tokenizers(settings, Prose(train.captions, ())), IMAGE: codec}

    @classmethod
    def settle(cls, settings: Settings, corpus: Parts[Pictures], tokenizers: Mapping[str, Any]) -> Settings:
        """The grid of codes, and room for the longest caption, if it is not longer than the settings let it be."""
        longest = max(len(tokenizers[TEXT].encode(caption)) for caption in corpus.train.captions) + 2
        whole = settings.model_dump()
        whole["model"] |= {"grid": tokenizers[IMAGE].grid, "text_length": min(longest, whole["model"]["text_length"])}
        return validate(Settings, whole, "settings")

    @classmethod
    def settles(cls, name: str, given: Any, found: Any) -> bool:
        return name == "grid" or (name == "text_length" and found <= given)

    def examples(self, epoch: int) -> Sequence[Captioned]:
        """All of them, some without their captions, others in each epoch."""
        train = self.run.settings.train
        said = np.random.default_rng([train.seed, epoch]).random(len(self.captioned)) >= train.unsaid
        return [each if has else without_caption(each) for each, has in zip(self.captioned, said, strict=True)]

    def collate(self, examples: Sequence[Captioned]) -> PaintBatch:
        return collate_captioned(examples)

    def validate(self) -> Validation | None:
        """How well the codes of other pictures are foretold."""
        found = foretell_codes(self.run, self.valid)
        return Validation({"loss": found.loss, "perplexity": found.perplexity})

    def conclude(self) -> Account:
        run, data, (train, valid) = self.run, self.run.settings.data, self.corpus
        assert run.folder
        found = foretell_codes(run, self.valid)
        shown = paint_each(run, fitting(run, valid.captions)[:SHOWN])
        say(f"validation: {found}")
        if shown:
            save_painted(shown, run.folder / PAINTED)
            say(f"captions of it, painted: {run.folder / PAINTED}")
        return Account(
            title="paints what a caption says",
            network="decoder alone, over a text and then a picture, Ramesh et al. 2021",
            data={
                "training data": f"{data.pictures or 'in memory'}: {len(train):,} captioned pictures",
                "validation": f"{data.valid_pictures or 'set aside'}: {len(valid):,} captioned pictures",
            },
            vocabulary=f"{len(run.tokenizers[TEXT]):,} pieces of text, {len(run.tokenizers[IMAGE]):,} codes",
            learned="codes",
            scores={"loss": f"{found.loss:.4f} nats a code of the validation pictures"},
            note=f"![captions of the validation, painted]({PAINTED})" if shown else "",
            use=[f'regard generate {run.folder} "{valid.captions[0]}" --out picture.png --n 9'],
        )
