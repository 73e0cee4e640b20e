"""A picture and its caption side by side: examples, the loss that tells them from others, and how often it can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.data.batch import Batch
from regard.data.gallery import read_part
from regard.data.labelled import Picture, Text, collate_pictures, collate_texts
from regard.data.pictures import Pictures
from regard.decoding.intake import PictureIntake, TextIntake
from regard.decoding.match import likeness, read_captions, see_pictures
from regard.model.clip import Clip
from regard.run import Run
from regard.training.accuracy import wilson
from regard.training.codes import captioned
from regard.training.objective import Loss, Objective

AMONG = 100  # captions that the right one is to be found among
ROWS = 1000  # pictures that are compared with all captions at once


class Matched(NamedTuple):
    picture: Picture
    text: Text

    @property
    def size(self) -> int:
        """Patches and tokens."""
        return self.picture.size + self.text.size

    @property
    def likeness(self) -> tuple[int, ...]:
        return (self.picture.size,)  # whatever its caption: or else long captions would only be told from long ones


@dataclass(frozen=True)
class MatchBatch(Batch):
    pictures: Tensor  # (B, C, H, W), −1 … 1
    ids: Tensor  # (B, T) of the captions
    readable: Tensor  # (B, T) True where there is a token

    @property
    def tokens(self) -> int:
        return len(self.pictures)

    def cut(self, parts: int) -> Sequence[Self]:
        """In one: each picture is compared with every caption."""
        return [self]


def collate_matched(examples: Sequence[Matched]) -> MatchBatch:
    pictures, texts = collate_pictures([e.picture for e in examples]), collate_texts([e.text for e in examples])
    return MatchBatch(pictures.pictures, texts.ids, texts.readable)


class Telling(Objective[Clip, MatchBatch]):
    """−½ Σ log p(caption | picture) + log p(picture | caption), among those of a batch   Radford et al. 2021, figure 3

    Captions that are the same are all right, each in part.
    """

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def loss(self, model: Clip, part: MatchBatch) -> Loss:
        logits = model(part.pictures, part.ids, part.readable).float()  # (B, B)
        same = (part.ids.unsqueeze(0) == part.ids.unsqueeze(1)).all(-1).float()
        right = same / same.sum(1, keepdim=True)
        ways = [
            F.cross_entropy(each, right, reduction="sum", label_smoothing=self.smoothing) for each in (logits, logits.T)
        ]
        surprise = F.cross_entropy(logits, right, reduction="sum").detach()
        return Loss(torch.stack(ways).mean(), surprise, len(logits))


def encode(run: Run, pictures: Pictures) -> list[Matched]:
    """Pictures as patches and captions as ids; long captions are cut, and counted."""
    takes = PictureIntake(run)
    _, texts = TextIntake(run).unlabelled(pictures.captions)
    return [Matched(*each) for each in zip(takes.labelled(pictures), texts, strict=True)]


@dataclass(frozen=True)
class Found:
    """Of pictures whose captions were to be found among others, how many were."""

    accuracy: float  # a share
    interval: tuple[float, float]  # that it lies in with 95 % confidence
    loss: float  # −log p of the right caption, in nats
    pictures: int
    among: int  # captions, all different

    def __str__(self) -> str:
        low, high = (f"{100 * share:.2f}" for share in self.interval)
        return (
            f"caption found for {100 * self.accuracy:.2f} % of {self.pictures:,} pictures, each among "
            f"{self.among:,} different ones, 95 % interval {low} to {high}, loss {self.loss:.4f}"
        )


def evaluate_matches(run: Run, file: str | Path) -> Found:
    """How often a run finds the captions of held-out pictures, in a file like those that it learned from."""
    run.require("match")
    pictures = read_part(str(file), PictureIntake(run).size)
    captioned(pictures, str(file))
    return find(run, pictures)


def find(run: Run, pictures: Pictures) -> Found:
    """Each picture's caption among the next ones that are different, of which there are `AMONG` where there are."""
    names = list(dict.fromkeys(pictures.captions))
    place = {name: number for number, name in enumerate(names)}
    among = min(AMONG, len(names))
    own = torch.tensor([place[caption] for caption in pictures.captions])  # (N,)
    shown = (own.unsqueeze(1) + torch.arange(among)) % len(names)  # (N, among), the right one first
    read, seen = read_captions(run, names), see_pictures(run, PictureIntake(run).labelled(pictures))
    logits = torch.cat(  # a few rows at a time: all pictures with all captions may be too many
        [
            likeness(run, rows, read).gather(1, places)
            for rows, places in zip(seen.split(ROWS), shown.split(ROWS), strict=True)
        ]
    )
    share = float((logits.argmax(1) == 0).double().mean())
    loss = float(-logits.log_softmax(-1)[:, 0].mean())
    return Found(share, wilson(share, len(pictures)), loss, len(pictures), among)
