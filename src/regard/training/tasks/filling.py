"""To fill in: plain text in, and a network that finds the tokens that were hidden in it. BERT's task, and RoBERTa's.

With a teacher, the network learns what that one finds likely, too: DistilBERT's (`training.distilling`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from regard.config import Settings
from regard.console import say
from regard.data.marked import MarkedBatch
from regard.data.masking import Text, stretches
from regard.data.text import Prose
from regard.errors import ConfigError, DataError
from regard.model.bert import Bert
from regard.run import TEXT, Run
from regard.tokens.masks import MASK, shown
from regard.training.distilling import Distilling
from regard.training.hidden import Hiding, seek, validated
from regard.training.objective import Loss, Objective, ProjectedLoss
from regard.training.suited import READERS, suit_text
from regard.training.tasks.task import Account, Task, Validation
from regard.training.tasks.writing import Writing, read_prose

VALIDATED = 1 << 16  # tokens that a validation reads, at most
SHOWN = 2  # texts


class Finding(Objective[Bert, MarkedBatch]):
    """−Σ log p(token | the text in which it is hidden), over the hidden ones       Devlin et al. 2019, section 3.1"""

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def loss(self, model: Bert, part: MarkedBatch) -> Loss:
        states = model.before_output(model.states(part.ids, part.readable)[part.wanted])  # (N, D)
        labels = part.labels[part.wanted]
        matrix, bias = model.output.table.weight, model.output_bias
        total, surprise = ProjectedLoss.apply(states.unsqueeze(0), matrix, bias, labels, self.smoothing, 0.0)
        return Loss(total, surprise, len(labels))


class Filling(Task[Prose, Text]):
    choices: ClassVar = {"loss": 1, "accuracy": -1}
    ending = 2.0

    def __init__(self, run: Run, corpus: Prose):
        super().__init__(run, corpus)
        train, tokenizer = run.settings.train, run.tokenizers[TEXT]
        if not run.model.config.fills:
            raise ConfigError("model.fills=false has no head that fills in words: leave it out to train one")
        if run.window > train.batch_tokens or run.window < 3:
            raise ConfigError(
                f"texts of up to {run.window} tokens do not fit train.batch_tokens={train.batch_tokens}: set "
                "data.block to less, but 3 or more, or train.batch_tokens to more"
            )
        self.objective = Distilling(run, train) if train.teacher else Finding(train.label_smoothing)
        self.tokenizer, self.hiding = tokenizer, Hiding(run)
        self.documents = [ids for ids in map(tokenizer.encode, corpus.train) if ids]
        self.valid = up_to(VALIDATED, validated(run, corpus.valid))
        if not self.documents:
            raise DataError("there is no text to learn from: give a file with some")

    @classmethod
    def read(cls, settings: Settings) -> Prose:
        return read_prose(settings)

    @classmethod
    def suit(cls, settings: Settings, corpus: Prose, seconds: float | None) -> Settings:
        return suit_text(settings, corpus.characters, seconds, READERS, norm="pre")

    @classmethod
    def learn_tokenizers(cls, settings: Settings, corpus: Prose) -> dict[str, Any]:
        return Writing.learn_tokenizers(settings, corpus)

    def examples(self, epoch: int) -> Sequence[Text]:
        """The texts; other tokens of them are hidden in each epoch."""
        return stretches(self.documents, self.run.window, f"{self.run.settings.train.seed} {epoch} hide")

    def collate(self, examples: Sequence[Text]) -> MarkedBatch:
        return self.hiding(examples)

    def validate(self) -> Validation | None:
        """The loss and the share of tokens found, of those that are hidden each time."""
        if not self.valid:
            return None
        found = seek(self.run, self.valid)
        figures = {"loss": found.loss, "perplexity": found.perplexity, "accuracy": found.accuracy}
        return Validation(figures, [self.restored(text) for text in self.valid[:SHOWN]])

    @torch.inference_mode()
    def restored(self, text: Text) -> str:
        """A text with its tokens hidden, and what the network finds for those."""
        model: Bert = self.run.model
        batch = self.collate([text]).to(self.run.device)
        likeliest = model.fill(model.states(batch.ids, batch.readable)[batch.wanted]).argmax(-1)
        found = self.tokenizer.pieces(likeliest.tolist())
        return f"{shown(self.tokenizer, batch.ids[0, 1:-1].tolist())}  →  {' '.join(found)}"

    def conclude(self) -> Account:
        run, data = self.run, self.run.settings.data
        scores = {}
        if self.valid:
            found = seek(run, self.valid)
            say(f"validation: {found}")
            share, loss = f"{100 * found.accuracy:.2f} % of {found.tokens:,}", f"loss {found.loss:.4f} nats a token"
            scores = {"hidden tokens found": f"{share}, {loss}"}
        files = ", ".join(data.text) or "text in memory"
        characters = sum(map(len, self.corpus.valid))
        return Account(
            title="fills in words",
            network="encoder alone, Devlin et al. 2019",
            data={
                "training data": f"{files}: {self.corpus.characters:,} characters",
                "validation": f"{', '.join(data.valid_text) or 'set aside'}: {characters:,} characters",
            },
            vocabulary=f"{len(self.tokenizer):,} pieces, {run.settings.tokenizer.kind}",
            learned="hidden tokens",
            scores=scores,
            use=[f'regard fill {run.folder} "The {MASK} sat on the mat." --top 5'],
        )


def up_to(tokens: int, texts: Sequence[Text]) -> list[Text]:
    """The first of the texts, of about so many tokens in all."""
    kept: list[Text] = []
    for text in texts:
        if tokens <= 0:
            break
        kept.append(text)
        tokens -= text.size
    return kept
