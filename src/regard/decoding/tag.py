"""The verb tag: lines of text in, a tag for each of their words out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from regard.data.batch import grouped
from regard.data.marked import collate_marked
from regard.data.tagged import marked
from regard.errors import RunError
from regard.run import TEXT, Run
from regard.tokens.text import normalise

BUDGET = 16_384  # tokens that are read at once


@dataclass(frozen=True)
class Tagged:
    """A text, word by word."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    probabilities: tuple[float, ...]  # of the tags

    def __str__(self) -> str:
        """As `train` reads it: word, tab, tag on each line."""
        return "".join(f"{word}\t{tag}\n" for word, tag in zip(self.words, self.tags, strict=True))


def tag(run: Run, text: str) -> Tagged:
    """The words of a text, which spaces part, each with its likeliest tag."""
    [found] = tag_words(run, [normalise(text).split(" ") if normalise(text) else []])
    return found


@torch.inference_mode()
def tag_words(run: Run, texts: Sequence[Sequence[str]]) -> list[Tagged]:
    """The same of texts whose words are known."""
    run.require("tag")
    names, tokenizer = run.settings.data.labels, run.tokenizers[TEXT]
    model = run.model.eval()
    examples = [marked(tokenizer, words, [0] * len(words), run.window) for words in texts]
    found = [Tagged((), (), ())] * len(texts)
    for group in grouped(examples, BUDGET, range(len(examples))):
        batch = collate_marked([examples[place] for place in group]).to(run.device)
        likeliest = model.tag(model.states(batch.ids, batch.readable)).float().softmax(-1).max(-1)  # (B, T)
        for row, place in enumerate(group):
            words, at = tuple(texts[place]), examples[place].places
            if len(at) < len(words):
                raise RunError(
                    f"a text of {len(words)} words is too long for this run, which reads {run.window} tokens: cut it"
                )
            tags = tuple(names[index] for index in likeliest.indices[row, at].tolist())
            found[place] = Tagged(words, tags, tuple(likeliest.values[row, at].tolist()))
    return found
