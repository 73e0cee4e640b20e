"""To write: plain text in, and a network that says what comes next, a token at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from regard.config import Settings
from regard.console import say
from regard.data.text import Block, Prose, TextBatch, blocks, collate_blocks, read_documents, set_aside, stream
from regard.decoding.generate import generate
from regard.errors import ConfigError, DataError
from regard.run import TEXT, Run
from regard.tokens.characters import CharacterTokenizer
from regard.tokens.text import TextTokenizer
from regard.training.evaluate import perplexity
from regard.training.foretell import foretell, surprise_of
from regard.training.objective import NextToken
from regard.training.suited import suit_text
from regard.training.tasks.task import Account, Task, Validation

VALIDATED = 1 << 17  # tokens that a validation reads, at most, in blocks side by side
SHOWN = 60  # tokens of a sample


class Writing(Task[Prose, Block]):
    def __init__(self, run: Run, corpus: Prose):
        super().__init__(run, corpus)
        train = run.settings.train
        if run.window > train.batch_tokens:
            raise ConfigError(
                f"a block of {run.window} tokens does not fit train.batch_tokens={train.batch_tokens}: set data.block "
                "to less, or train.batch_tokens to more"
            )
        self.objective = NextToken(train.label_smoothing)
        self.ids, self.valid = stream(corpus.train, run.writer), stream(corpus.valid, run.writer)
        self.validated = self.valid[:VALIDATED]
        self.characters = len(run.writer.decode(self.validated.tolist()))  # of what a validation reads
        self.ending = 1 + 3 * max(1.0, len(self.valid) / VALIDATED)  # a sample, and windows half of which overlap
        if len(self.ids) < 2:
            raise DataError("there is next to no text to learn from: give more")

    @classmethod
    def read(cls, settings: Settings) -> Prose:
        return read_prose(settings)

    @classmethod
    def suit(cls, settings: Settings, corpus: Prose, seconds: float | None) -> Settings:
        return suit_text(settings, corpus.characters, seconds)

    @classmethod
    def learn_tokenizers(cls, settings: Settings, corpus: Prose) -> dict[str, Any]:
        tokenizer = settings.tokenizer
        if tokenizer.kind == "characters":
            return {TEXT: CharacterTokenizer.learn(corpus.train)}
        lines = (line for document in corpus.train for line in document.split("\n"))
        return {TEXT: TextTokenizer.learn(lines, size=tokenizer.size, kind=tokenizer.kind, most=tokenizer.learn_from)}

    def examples(self, epoch: int) -> Sequence[Block]:
        """The text in blocks, which begin elsewhere in each epoch."""
        run = self.run
        return blocks(self.ids, run.window, f"{run.settings.train.seed} {epoch} begin", run.parted)

    def collate(self, examples: Sequence[Block]) -> TextBatch:
        return collate_blocks(examples)

    def validate(self) -> Validation | None:
        """The loss in blocks side by side, and how the model writes."""
        run, ids = self.run, self.validated
        if not len(ids):
            return None
        loss = surprise_of(run.model, ids, run.window, run.window, run.parted)
        nats = loss * len(ids) / max(1, self.characters)
        by_character = {"nats_per_character": nats, "bits_per_character": nats / math.log(2)}
        [sample] = generate(run, tokens=SHOWN)
        return Validation({"loss": loss, "perplexity": perplexity(loss), **by_character}, [repr(sample.text)])

    def conclude(self) -> Account:
        run, data = self.run, self.run.settings.data
        scores = {}
        if len(self.valid):
            found = foretell(run, self.corpus.valid)
            say(f"validation, {found.characters:,} characters:\n{found}")
            how = f"on {found.characters:,} characters, windows of {found.window} in strides of {found.stride}"
            scores = {
                "loss": f"{found.loss:.4f} nats a token, perplexity {found.perplexity:.2f}",
                "per character": f"{found.nats_per_character:.4f} nats, {found.bits_per_character:.4f} bits {how}",
            }
        files = ", ".join(data.text) or "text in memory"
        characters = sum(map(len, self.corpus.valid))
        return Account(
            title="writes on from a text",
            network="decoder alone, Radford et al. 2018",
            data={
                "training data": f"{files}: {self.corpus.characters:,} characters",
                "validation": f"{', '.join(data.valid_text) or 'set aside'}: {characters:,} characters",
            },
            vocabulary=f"{len(run.tokenizers[TEXT]):,} pieces, {run.settings.tokenizer.kind}",
            scores=scores,
            use=[
                f'regard generate {run.folder} --prompt "Once upon a time"',
                f"regard evaluate {run.folder} --text FILE",
            ],
        )


def read_prose(settings: Settings) -> Prose:
    """The text that the settings name, and what is set aside of it where none is named for validation."""
    data = settings.data
    if not data.text:
        raise ConfigError("there is nothing to train on: give --text and a file")
    documents = read_documents(data.text, data.documents)
    if data.valid_text:
        return Prose(documents, read_documents(data.valid_text, data.documents))
    prose = set_aside(documents, data.valid_share)
    kept, whole = prose.characters, sum(map(len, documents))
    say(f"no validation text: the last {whole - kept:,} of {whole:,} characters set aside")
    return prose
