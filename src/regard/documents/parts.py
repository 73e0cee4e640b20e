"""What a document is made of: text that is written as it stands, and parts that are handed over to be translated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

SHOWN = 10  # mended segments that a report shows


@dataclass
class Report:
    """What became of a document."""

    segments: int = 0  # handed over, and as many came back
    kept: int = 0  # entries left as they were, having a translation already
    foreign: int = 0  # entries left as they were, having no text in the source language
    mended: int = 0  # segments whose marks did not come back as they went
    examples: list[str] = field(default_factory=list)  # the first few of these, as they went

    def __str__(self) -> str:
        told = [f"{self.segments:,} segments translated"]
        told += [f"{self.kept:,} left as they were, having a translation"] * bool(self.kept)
        told += [f"{self.foreign:,} left as they were, having no text in the source language"] * bool(self.foreign)
        told += [f"{self.mended:,} whose marks had to be mended:"] * bool(self.mended)
        return "\n".join([", ".join(told), *(f"    {each}" for each in self.examples)])

    def mend(self, segment: str) -> None:
        self.mended += 1
        if len(self.examples) < SHOWN:
            self.examples.append(segment)


class Handed(Protocol):
    """A part of a document that is handed over: its texts, and what is written once they are translated."""

    @property
    def source(self) -> str: ...

    @property
    def texts(self) -> list[str]: ...

    def written(self, given: Iterator[str], report: Report) -> str:
        """Takes as many translations as there are texts."""
        ...


class Kept(str):
    """An entry that is left as it stands, having a translation already."""


class Foreign(str):
    """An entry that is left as it stands, having no text in the source language."""


Part = str | Handed  # a document is a sequence of these; a str is written as it stands


@dataclass(frozen=True)
class Whole:
    """Parts that are written as one, by a function that has the last word on them."""

    parts: tuple[Part, ...]
    finish: Callable[[str], str]

    @property
    def source(self) -> str:
        return source(self.parts)

    @property
    def texts(self) -> list[str]:
        return texts(self.parts)

    def written(self, given: Iterator[str], report: Report) -> str:
        return self.finish(write(self.parts, given, report))


def whole(parts: Iterable[Part], finish: Callable[[str], str]) -> Part:
    """Parts that are written as one; where nothing in them is handed over, that is done already."""
    parts = tuple(parts)
    return Whole(parts, finish) if texts(parts) else finish(source(parts))


def source(parts: Iterable[Part]) -> str:
    """Parts as they stand in the document."""
    return "".join(part if isinstance(part, str) else part.source for part in parts)


def texts(parts: Iterable[Part]) -> list[str]:
    return [text for part in parts if not isinstance(part, str) for text in part.texts]


def write(parts: Iterable[Part], given: Iterator[str], report: Report) -> str:
    return "".join(part if isinstance(part, str) else part.written(given, report) for part in parts)
