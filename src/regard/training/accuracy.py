"""How often a run that tells classes apart is right, how sure that figure is, and what it takes for what."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.decoding.classify import logits_of
from regard.decoding.intake import Intake, intake, names_of
from regard.run import Run

Z = 1.96  # standard deviations that 95 % of a normal distribution lie within
SQUARE = 20  # classes, beyond which no table is printed, only what is mistaken most often
MISTAKES = 10  # of these


@dataclass(frozen=True)
class Accuracy:
    """Of examples with known classes, how many were found."""

    accuracy: float  # a share
    interval: tuple[float, float]  # that it lies in with 95 % confidence
    loss: float  # −log p of the right class, in nats
    examples: int
    names: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]  # a row for each class that is right, a column for each that was said

    def __str__(self) -> str:
        low, high = (f"{100 * share:.2f}" for share in self.interval)
        sure = f"95 % interval {low} to {high}, loss {self.loss:.4f}"
        below = self.table() if len(self.names) <= SQUARE else self.mistakes()
        return "\n".join([f"accuracy {100 * self.accuracy:.2f} % of {self.examples:,}, {sure}", "", *below])

    def table(self) -> list[str]:
        numbers = [str(number) for row in self.confusion for number in row]
        room = max(map(len, [*self.names, "is \\ said"]))
        wide = max(len(number) for number in numbers)
        heads = [name[: max(wide, 4)] for name in self.names]
        lines = [["is \\ said", *heads]]
        lines += [
            [name, *(str(n) if n else "·" for n in row)] for name, row in zip(self.names, self.confusion, strict=True)
        ]
        return ["  ".join([first.ljust(room), *(each.rjust(max(wide, 4)) for each in rest)]) for first, *rest in lines]

    def mistakes(self) -> list[str]:
        """What is mistaken for what, the commonest first."""
        found = [
            (count, right, said)
            for right, row in zip(self.names, self.confusion, strict=True)
            for said, count in zip(self.names, row, strict=True)
            if count and right != said
        ]
        worst = sorted(found, key=lambda each: -each[0])[:MISTAKES]
        return [f"{count:>6,} × {right} taken for {said}" for count, right, said in worst]


def evaluate_classes(run: Run, file: str | Path) -> Accuracy:
    """How often a run is right on held-out texts or pictures, in a file or folder like those that it learned from."""
    run.require("classify")
    takes = intake(run)
    return judged(run, takes, takes.labelled(takes.read(str(file)).under(names_of(run))))


def judged(run: Run, takes: Intake, examples: Sequence[Any]) -> Accuracy:
    labels = torch.tensor([example.label for example in examples])
    return of_logits(logits_of(run, takes, examples), labels, names_of(run))


def of_logits(logits: Tensor, labels: Tensor, names: Sequence[str]) -> Accuracy:
    """From logits (N, classes) and the right classes (N)."""
    said, classes = logits.argmax(-1), len(names)
    confusion = torch.bincount(labels * classes + said, minlength=classes**2).view(classes, classes)
    share = (said == labels).double().mean().item()
    loss = torch.nn.functional.cross_entropy(logits, labels).item()
    table = tuple(map(tuple, confusion.tolist()))
    return Accuracy(share, wilson(share, len(labels)), loss, len(labels), tuple(names), table)


def wilson(share: float, count: int) -> tuple[float, float]:
    """Between which shares the true one lies with 95 % confidence                                    Wilson 1927"""
    middle = share + Z**2 / (2 * count)
    reach = Z * math.sqrt(share * (1 - share) / count + Z**2 / (4 * count**2))
    return (middle - reach) / (1 + Z**2 / count), (middle + reach) / (1 + Z**2 / count)
