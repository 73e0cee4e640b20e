"""A caption and its picture as one sequence of ids: examples, the loss, and how well a run foretells the codes.

<s> a red circle </s> <pad> …   code code code …            the pieces of text are numbered first, then the codes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from regard.console import say
from regard.data.batch import Batch, in_order
from regard.data.gallery import read_part
from regard.data.pictures import Pictures
from regard.decoding.continuing import Writes
from regard.decoding.paint import framed
from regard.errors import DataError
from regard.run import IMAGE, TEXT, Run
from regard.tokens.text import PAD
from regard.training.evaluate import perplexity
from regard.training.objective import Loss, Objective, projected

TEXT_SHARE = 1 / 8  # of the loss; the picture has the rest (Ramesh et al. 2021, section 2.2)
BUDGET = 8192  # tokens read at once


class Captioned(NamedTuple):
    """A caption at its full length, and the codes of its picture, as the network counts them."""

    text: Tensor  # (L)
    codes: Tensor  # (h · 2 w)

    @property
    def size(self) -> int:
        return len(self.text) + len(self.codes)

    @property
    def likeness(self) -> tuple[int, ...]:
        return (self.size,)


@dataclass(frozen=True)
class PaintBatch(Batch):
    text: Tensor  # (B, L)
    codes: Tensor  # (B, h · 2 w)

    @property
    def tokens(self) -> int:
        """Codes: the loss is told for each of these."""
        return self.codes.numel()


def collate_captioned(examples: Sequence[Captioned]) -> PaintBatch:
    return PaintBatch(*(torch.stack(column) for column in zip(*examples, strict=True)))


def without_caption(example: Captioned) -> Captioned:
    return example._replace(text=torch.tensor(framed([], len(example.text))))


class TextThenPicture(Objective[Writes, PaintBatch]):
    """⅞ of the mean −log p(code | the text, the codes before it) and ⅛ of the mean −log p(token | those before it)

    Ramesh et al. 2021, section 2.2. As sums, over as many codes as there are; padding is not to be foretold.
    """

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def loss(self, model: Writes, part: PaintBatch) -> Loss:
        whole = torch.cat([part.text, part.codes], dim=1)  # (B, L + h · 2 w)
        states, length = model.decode(whole[:, :-1]), part.text.size(1)
        words = part.text[:, 1:] != PAD  # (B, L − 1)
        of_text, _ = projected(model, states[:, : length - 1][words], part.text[:, 1:][words], self.smoothing)
        codes = part.codes.flatten()
        of_codes, surprise = projected(model, states[:, length - 1 :].flatten(0, 1), codes, self.smoothing)
        text_weight = TEXT_SHARE * len(codes) / int(words.sum())
        return Loss((1 - TEXT_SHARE) * of_codes + text_weight * of_text, surprise, len(codes))


def encode(run: Run, pictures: Pictures) -> list[Captioned]:
    """Captions and pictures as ids; codes are numbered after the pieces of text. Long captions are cut, and counted."""
    length, words = run.model.config.text_length, run.model.config.text_vocabulary
    captions = [run.tokenizers[TEXT].encode(caption) for caption in pictures.captions]
    if long := sum(len(ids) + 2 > length for ids in captions):
        say(f"of {long:,} captions only the first {length - 2} tokens are read")
    texts = torch.tensor([framed(ids, length) for ids in captions])
    codes = run.tokenizers[IMAGE].encode(pictures.pixels) + words
    return [Captioned(*each) for each in zip(texts, codes, strict=True)]


@dataclass(frozen=True)
class Codes:
    """How well the codes of pictures were foretold from their captions."""

    loss: float  # −log p of a code, in nats
    perplexity: float
    pictures: int

    def __str__(self) -> str:
        return f"loss {self.loss:.4f} nats a code, perplexity {self.perplexity:.2f}, of {self.pictures:,} pictures"


def evaluate_pictures(run: Run, file: str | Path) -> Codes:
    """How well a run that paints foretells held-out pictures with captions."""
    run.require("paint")
    codec = run.tokenizers[IMAGE].config
    pictures = read_part(str(file), (codec.height, codec.width))
    captioned(pictures, str(file))
    return foretell_codes(run, encode(run, pictures))


def captioned(pictures: Pictures, name: str) -> None:
    """Refuse pictures that nothing is said about."""
    if not pictures.captions:
        raise DataError(
            f"{name} has pictures without captions: give a TSV of path, tab, caption, or an .npz with captions"
        )


@torch.inference_mode()
def foretell_codes(run: Run, examples: Sequence[Captioned]) -> Codes:
    objective, model, total, codes = TextThenPicture(), run.model.eval(), 0.0, 0
    for batch in in_order(examples, collate_captioned, BUDGET):
        loss = objective.loss(model, batch.to(run.device))
        total, codes = total + loss.surprise.item(), codes + loss.tokens
    return Codes(total / codes, perplexity(total / codes), len(examples))
