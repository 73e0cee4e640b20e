"""Documents taken through translators that are functions of one sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.documents import Options, Report, translate_document

STAR = "\N{BLACK STAR}"


@dataclass
class Result:
    text: str  # what was written
    seen: list[str]  # what was handed over
    report: Report


class Through:
    """Writes a document, translates it sentence by sentence, and gives what came of it."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __call__(self, name: str, content: str, each: Callable[[str], str] = str, **options: Any) -> Result:
        path, out = self.folder / name, self.folder / f"out-{name}"
        path.write_bytes(content.encode())
        seen: list[str] = []

        def translate(texts: Iterable[str]) -> Iterator[str]:
            for text in texts:
                seen.append(text)
                yield each(text)

        report = translate_document(path, out, translate, Options(**options))
        assert report.segments == len(seen)
        return Result(out.read_bytes().decode(), seen, report)


def loud(text: str) -> str:
    """The sentence in capitals, its placeholders as they are."""
    pieces = re.split(r"(</?[bx]\d+/?>|\{x\d+\})", text)
    return "".join(piece if index % 2 else piece.upper() for index, piece in enumerate(pieces))


def starred(text: str) -> str:
    """The sentence with a star at its end: without the stars, the document must be as it was."""
    return f"{text}{STAR}"
