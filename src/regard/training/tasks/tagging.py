"""To tag: sentences whose words have a tag each in, and a network that tags the words of others."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.nn.functional as F

from regard.config import Settings, validate
from regard.console import say
from regard.data.batch import in_order
from regard.data.labelled import Parts
from regard.data.marked import Marked, MarkedBatch, collate_marked
from regard.data.tagged import Sentence, marked, read_tagged
from regard.errors import ConfigError, DataError
from regard.model.bert import Bert
from regard.run import TEXT, Run
from regard.tokens.text import TextTokenizer
from regard.training.objective import Loss, Objective
from regard.training.suited import READERS, suit_text
from regard.training.tags import judge, tagged_anew, that_fit
from regard.training.tasks.task import Account, Task, Validation

SHOWN = 2  # sentences


class NamingWords(Objective[Bert, MarkedBatch]):
    """−Σ log p(tag | the sentence), over the words"""

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def loss(self, model: Bert, part: MarkedBatch) -> Loss:
        logits, labels = model.tag(model.states(part.ids, part.readable)[part.wanted]).float(), part.labels[part.wanted]
        surprise = F.cross_entropy(logits, labels, reduction="sum")
        total = F.cross_entropy(logits, labels, reduction="sum", label_smoothing=self.smoothing)
        return Loss(total, surprise.detach(), len(labels))


class Tagging(Task[Parts[Sequence[Sentence]], Marked]):
    choices: ClassVar = {"loss": 1, "accuracy": -1, "f1": -1}
    ending = 2.0

    def __init__(self, run: Run, corpus: Parts[Sequence[Sentence]]):
        super().__init__(run, corpus)
        self.objective = NamingWords(run.settings.train.label_smoothing)
        self.names = list(run.settings.data.labels)
        if strange := {tag for sentence in corpus.valid for tag in sentence.tags} - set(self.names):
            raise DataError(f"the tag {min(strange)!r} is not one of those learned, which are {', '.join(self.names)}")
        self.train, self.valid = self.read_words(corpus.train), self.read_words(corpus.valid)
        self.whole = that_fit(run, corpus.valid)

    @classmethod
    def read(cls, settings: Settings) -> Parts[Sequence[Sentence]]:
        data = settings.data
        if not data.tagged:
            raise ConfigError("there is nothing to train on: set data.tagged to a file of word, tab, tag on each line")
        sentences = read_tagged(Path(data.tagged))
        if data.valid_tagged:
            return Parts(sentences, read_tagged(Path(data.valid_tagged)))
        random.Random(settings.train.seed).shuffle(sentences)
        aside = int(len(sentences) * data.valid_share)
        say(f"no validation sentences: {aside:,} of {len(sentences):,} set aside")
        return Parts(sentences[aside:], sentences[:aside])

    @classmethod
    def suit(cls, settings: Settings, corpus: Parts[Sequence[Sentence]], seconds: float | None) -> Settings:
        characters = sum(len(word) + 1 for sentence in corpus.train for word in sentence.words)
        return suit_text(settings, characters, seconds, READERS, norm="pre", fills=False)

    @classmethod
    def learn_tokenizers(cls, settings: Settings, corpus: Parts[Sequence[Sentence]]) -> dict[str, Any]:
        how, texts = settings.tokenizer, (" ".join(sentence.words) for sentence in corpus.train)
        return {TEXT: TextTokenizer.learn(texts, size=how.size, kind=how.kind, most=how.learn_from)}

    @classmethod
    def settle(cls, settings: Settings, corpus: Parts[Sequence[Sentence]], tokenizers: Mapping[str, Any]) -> Settings:
        """The tags, and how many there are."""
        names = sorted({tag for sentence in corpus.train for tag in sentence.tags})
        if len(names) == 1:
            raise DataError(f"all words to learn from have one tag, {names[0]}: give examples of others, too")
        whole = settings.model_dump()
        whole["data"] |= {"labels": names}
        whole["model"] |= {"tags": len(names)}
        return validate(Settings, whole, "settings")

    @classmethod
    def settles(cls, name: str, given: Any, found: Any) -> bool:
        return name in {"labels", "tags"}

    def read_words(self, sentences: Sequence[Sentence]) -> list[Marked]:
        run, numbers = self.run, {name: number for number, name in enumerate(self.names)}
        found = [
            marked(run.tokenizers[TEXT], words, [numbers[tag] for tag in tags], run.window) for words, tags in sentences
        ]
        cut = sum(len(each.places) < len(sentence.words) for each, sentence in zip(found, sentences, strict=True))
        if cut:
            say(f"of {cut:,} sentences only the first {run.window - 2} tokens are read")
        return found

    def examples(self, epoch: int) -> Sequence[Marked]:
        return self.train

    def collate(self, examples: Sequence[Marked]) -> MarkedBatch:
        return collate_marked(examples)

    def validate(self) -> Validation | None:
        """The loss; of the sentences that fit, the share of words with the right tag, and F₁ of what the tags say."""
        if not self.whole:
            return None
        found = tagged_anew(self.run, self.whole)
        scores = judge(found, self.whole)
        figures = {"loss": self.surprise(), "accuracy": scores.accuracy, "f1": scores.f1}
        return Validation(figures, [" ".join(map("/".join, zip(e.words, e.tags, strict=True))) for e in found[:SHOWN]])

    @torch.inference_mode()
    def surprise(self) -> float:
        """−log p of the right tag, in nats a word."""
        model = self.run.model.eval()
        total, words = 0.0, 0
        for batch in in_order(self.valid, collate_marked, self.run.settings.train.batch_tokens):
            loss = self.objective.loss(model, batch.to(self.run.device))
            total, words = total + loss.surprise.item(), words + loss.tokens
        return total / words

    def conclude(self) -> Account:
        run, data = self.run, self.run.settings.data
        scores = {}
        if found := self.validate():
            figures = found.figures
            say(f"validation: {100 * figures['accuracy']:.2f} % of the words, F1 {100 * figures['f1']:.2f}")
            scores = {"accuracy": f"{100 * figures['accuracy']:.2f} % of the words", "F1": f"{100 * figures['f1']:.2f}"}
        return Account(
            title=f"tags words with {len(self.names)} tags",
            network="encoder alone, Devlin et al. 2019",
            data={
                "training data": f"{data.tagged or 'in memory'}: {len(self.train):,} sentences",
                "validation": f"{data.valid_tagged or 'set aside'}: {len(self.valid):,} sentences",
                "tags": ", ".join(self.names),
            },
            vocabulary=f"{len(run.tokenizers[TEXT]):,} pieces",
            learned="words",
            scores=scores,
            use=[f"regard tag {run.folder} < input.txt"],
        )
