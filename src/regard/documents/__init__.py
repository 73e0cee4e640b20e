"""Documents: a file in, the same file translated out, with everything that is no text as it was.

    file ──read──▶ parts: kept text and sentences ──translate──▶ parts, in the same order ──write──▶ file

A kind of document is a module with `parts(stream, options)`: the whole file, in order, as text to keep and sentences to
hand over. Only one thing puts them together again, and it is here. Plain text, Markdown, HTML and subtitles stream:
what is held is what the translator has read ahead. PO, TMX and XLIFF are held in memory, some times the file's size.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TextIO

from regard.documents.files import BOM, encoding_of, opened, written_whole
from regard.documents.options import Options
from regard.documents.parts import Foreign, Handed, Kept, Part, Report
from regard.errors import DataError

__all__ = ["KINDS", "Options", "Report", "translate_document"]

Translate = Callable[[Iterable[str]], Iterable[str]]  # as many as it is given, in their order


class Kind(NamedTuple):
    """A kind of document."""

    module: str
    declared: re.Pattern[bytes] | None = None  # where such a file may say its encoding
    unencodable: str = "strict"  # what becomes of characters that the encoding does not have


PLAIN, MARKDOWN, SUBTITLES = Kind("plain"), Kind("markdown"), Kind("subtitles")
HTML = Kind("html", re.compile(rb"""<meta[^>]+charset=["']?([\w.:-]+)""", re.IGNORECASE), "xmlcharrefreplace")
PO = Kind("po", re.compile(rb'"Content-Type:[^"\n]*charset=(?!CHARSET)([\w.:-]+)'))
XML = re.compile(rb"""\A<\?xml[^>]*?encoding=["']([\w.:-]+)""")
TMX, XLIFF = Kind("tmx", XML, "xmlcharrefreplace"), Kind("xliff", XML, "xmlcharrefreplace")

KINDS = {
    ".txt": PLAIN,
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".srt": SUBTITLES,
    ".po": PO,
    ".pot": PO,
    ".tmx": TMX,
    ".xliff": XLIFF,
    ".xlf": XLIFF,
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": HTML,
}

DEFAULTS = Options()
FEWER = "the translator gave fewer sentences than it was given"


def translate_document(path: str | Path, out: str | Path, translate: Translate, options: Options = DEFAULTS) -> Report:
    """Write the document as `out`, translated; the two may be the same file. Nothing is ever half written.

    `translate` is given an iterable of sentences and gives back as many, in their order, reading ahead as it likes.
    """
    path, out = Path(path), Path(out)
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise DataError(f"{path} is of no kind that is known by its name: {', '.join(KINDS)}")
    parts = import_module(f"regard.documents.{kind.module}").parts
    encoding = encoding_of(path, kind.declared)
    report = Report()
    with written_whole(out, encoding, kind.unencodable) as target, opened(path, encoding) as stream:
        if stream.read(1) == BOM:
            target.write(BOM)
        else:
            stream.seek(0)
        put_together(parts(stream, options), translate, target, report)
    return report


def put_together(parts: Iterator[Part], translate: Translate, target: TextIO, report: Report) -> None:
    """Write the parts in order, each sentence's translation in its place."""
    waiting: deque[Part] = deque()

    def texts() -> Iterator[str]:
        for part in parts:
            waiting.append(part)
            if not isinstance(part, str):
                yield from part.texts

    def write(part: str) -> None:
        report.kept += isinstance(part, Kept)
        report.foreign += isinstance(part, Foreign)
        target.write(part)

    def awaited() -> Handed:
        while waiting:
            if not isinstance(part := waiting.popleft(), str):
                return part
            write(part)
        raise ValueError("the translator gave more sentences than it was given")

    given = iter(translate(texts()))
    try:
        for first in given:
            target.write(awaited().written(chain([first], given), report))
    except StopIteration:  # in the middle of a part
        raise ValueError(FEWER) from None
    for part in chain(waiting, parts):
        if not isinstance(part, str):
            raise ValueError(FEWER)
        write(part)
