"""To restore: plain text in, and an encoder–decoder that undoes what noise did to it. BART's task.

What it learns of a language, a translator can start from: train.start_from.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from regard.config import Settings
from regard.console import say
from regard.data.batch import Example, PairBatch, collate
from regard.data.corpus import Pair
from regard.data.noise import Passage, damage, passages
from regard.data.text import Prose
from regard.decoding.torch_engine import TorchEngine
from regard.documents.sentences import split
from regard.errors import ConfigError, DataError
from regard.run import Run
from regard.tokens.masks import shown
from regard.tokens.text import EOS, TextTokenizer
from regard.training.evaluate import perplexity, surprise
from regard.training.objective import Translating
from regard.training.suited import suit
from regard.training.tasks.task import Account, Task, Validation
from regard.training.tasks.writing import read_prose

VALIDATED = 1000  # passages that a validation restores, at most
SHOWN = 2


class Denoising(Task[Prose, Passage]):
    ending = 2.0

    def __init__(self, run: Run, corpus: Prose):
        super().__init__(run, corpus)
        settings = run.settings
        if not settings.tokenizer.joint:
            raise ConfigError(
                "tokenizer.joint=false makes two vocabularies, and a text is restored in its own: leave it out"
            )
        self.objective = Translating(settings.train)
        self.tokenizer = run.target_tokenizer
        self.room = max(2, min(settings.data.block or settings.data.max_tokens, settings.train.batch_tokens))  # tokens
        self.texts = self.read_passages(corpus.train)
        if not self.texts:
            raise DataError("there is no text to learn from: give a file with some")
        valid = self.read_passages(corpus.valid)[:VALIDATED]
        self.valid = [self.damaged(each) for each in seeded(valid, f"{settings.train.seed} valid")]

    @classmethod
    def read(cls, settings: Settings) -> Prose:
        return read_prose(settings)

    @classmethod
    def suit(cls, settings: Settings, corpus: Prose, seconds: float | None) -> Settings:
        """As for translators, but that no two languages are there for words to be neighbours in."""
        start = {"start": "random"} if "start" not in settings.train.model_fields_set else {}
        settings = settings.model_copy(update={"train": settings.train.model_copy(update=start)})
        lines = (line for document in corpus.train for line in document.split("\n"))
        return suit(settings, [Pair(line, line) for line in lines], seconds)

    @classmethod
    def learn_tokenizers(cls, settings: Settings, corpus: Prose) -> dict[str, Any]:
        """One for both sides; with the tags of two languages where a translator of both ways is to start from it."""
        how, data = settings.tokenizer, settings.data
        lines = (line for document in corpus.train for line in document.split("\n"))
        languages = data.languages if data.both_ways else ()
        joint = TextTokenizer.learn(lines, size=how.size, kind=how.kind, languages=languages, most=how.learn_from)
        return {"source": joint, "target": joint}

    def read_passages(self, documents: Sequence[str]) -> list[Passage]:
        cut = ([self.tokenizer.encode(sentence) for sentence, _ in split(document)] for document in documents)
        return [passage for sentences in cut for passage in passages(sentences, self.room)]

    def examples(self, epoch: int) -> Sequence[Passage]:
        """The passages; each is damaged anew in each epoch."""
        return seeded(self.texts, f"{self.run.settings.train.seed} {epoch} noise")

    def damaged(self, passage: Passage) -> Example:
        train, choose = self.run.settings.train, random.Random(passage.seed)
        source = damage(passage.sentences, train.noise, train.noise_share, self.tokenizer.mask, choose)
        return Example([*source, EOS], [*passage.ids, EOS])

    def collate(self, examples: Sequence[Passage]) -> PairBatch:
        return collate([self.damaged(passage) for passage in examples])

    def validate(self) -> Validation | None:
        """The loss on passages that are damaged in the same way each time, and two of them restored."""
        if not self.valid:
            return None
        run = self.run
        loss = surprise(run.model, self.valid, run.settings.train.batch_tokens)
        return Validation({"loss": loss, "perplexity": perplexity(loss)}, self.restored(self.valid[:SHOWN]))

    def restored(self, examples: Sequence[Example]) -> list[str]:
        greedy = self.run.settings.decode.model_copy(update={"beam": 1, "max_length": self.room})
        found = TorchEngine(self.run).search([example.source for example in examples], greedy)
        return [
            f"{shown(self.tokenizer, example.source[:-1])}  →  {self.tokenizer.decode(each.hypotheses[0].ids)}"
            for example, each in zip(examples, found, strict=True)
        ]

    def conclude(self) -> Account:
        run, data = self.run, self.run.settings.data
        scores = {}
        if found := self.validate():
            loss = found.figures["loss"]
            say(f"validation, {len(self.valid):,} passages: loss {loss:.4f}, perplexity {perplexity(loss):.2f}")
            scores = {"loss": f"{loss:.4f} nats a token on {len(self.valid):,} passages"}
        return Account(
            title="restores text",
            network="encoder–decoder, Lewis et al. 2020",
            data={
                "training data": f"{', '.join(data.text) or 'text in memory'}: {self.corpus.characters:,} characters",
                "validation": f"{', '.join(data.valid_text) or 'set aside'}: {len(self.valid):,} passages",
                "noise": f"{', '.join(run.settings.train.noise)} of {run.settings.train.noise_share:.0%}",
            },
            vocabulary=f"{len(self.tokenizer):,} pieces",
            scores=scores,
            use=[
                f"regard train PAIRS.tsv --set train.start_from={run.folder} --set train.task=translate --out runs/new"
            ],
        )


def seeded(texts: Sequence[Passage], seed: str) -> list[Passage]:
    """The passages, each with a seed of its own."""
    return [passage._replace(seed=f"{seed} {number}") for number, passage in enumerate(texts)]
