"""Sentence pairs from files: the line is the record, and no oddity of a file ever shifts the alignment.

- A file is UTF-8 text, plain or compressed (.gz, .xz). Bad UTF-8 and NUL bytes are refused, with their line.
- Lines end at \\n alone: U+2028, \\x0b, \\x85, a lone \\r and the like are text. One \\r before the end of a line is
  dropped (CRLF files), and so is a byte order mark at the start of the file. The last line may lack its \\n.
- Two aligned files have equally many lines. A TSV has a source and a target on each line; further columns are ignored.
- Empty lines are kept, so that line numbers stay true; `without_empty` drops such pairs afterwards and says which.
- Nothing is read beyond LIMIT bytes a file or LINE_LIMIT bytes a line, decompressed.
"""

from __future__ import annotations

import gzip
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from regard.errors import DataError
from regard.tokens.text import normalise

LIMIT = 4 << 30  # bytes of a file, decompressed
LINE_LIMIT = 64 << 20  # bytes of a line
BOM = b"\xef\xbb\xbf"


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


Links = list[tuple[int, int]]  # (source word, target word), counted from 0; words are what spaces part


def read_pairs(source: Path, target: Path) -> list[Pair]:
    """The pairs of two aligned files: line n of one translates line n of the other."""
    sources, targets = read_lines(source), read_lines(target)
    if len(sources) != len(targets):
        raise DataError(
            f"{source} has {len(sources)} lines but {target} has {len(targets)}: "
            "line n of one should translate line n of the other"
        )
    if not sources:
        raise DataError(f"{source} and {target} are empty: give files with one sentence a line")
    return [Pair(*pair) for pair in zip(sources, targets, strict=True)]


def read_table(path: Path) -> list[Pair]:
    """The pairs of a TSV file: source, tab, target on each line."""
    pairs = []
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t", maxsplit=2)
        if len(columns) < 2:
            raise DataError(f"{path}, line {number}: there is no tab: write source, tab, target on each line")
        pairs.append(Pair(columns[0], columns[1]))
    if not pairs:
        raise DataError(f"{path} is empty: give a file with source, tab, target on each line")
    return pairs


def read_alignments(path: Path, pairs: Sequence[Pair]) -> list[Links]:
    """The links of each pair from a file in Pharaoh's format: line n has those of pair n, as in 0-0 1-2."""
    lines = read_lines(path)
    if len(lines) != len(pairs):
        raise DataError(f"{path} has {len(lines)} lines for {len(pairs)} pairs: line n should align pair n")
    found: list[Links] = []
    for number, (line, pair) in enumerate(zip(lines, pairs, strict=True), start=1):
        words = [len(normalise(text).split()) for text in pair]
        links: Links = []
        for item in line.split():
            if not (match := re.fullmatch("([0-9]{1,9})-([0-9]{1,9})", item)):
                raise DataError(f"{path}, line {number}: {item} is no link: write source-target, such as 0-0 1-2")
            link = int(match[1]), int(match[2])
            if any(word >= count for word, count in zip(link, words, strict=True)):
                raise DataError(
                    f"{path}, line {number}: {item} links words that are not there: its sentences have {words[0]} and "
                    f"{words[1]}, counted from 0"
                )
            links.append(link)
        found.append(links)
    return found


def without_empty(pairs: Iterable[Pair]) -> tuple[list[Pair], list[int]]:
    """The pairs with text on both sides, and the line numbers, from 1, of those without."""
    kept, dropped = [], []
    for number, pair in enumerate(pairs, start=1):
        if blank(pair.source) or blank(pair.target):
            dropped.append(number)
        else:
            kept.append(pair)
    return kept, dropped


def blank(text: str) -> bool:
    return not text.replace("▁", " ").strip()  # ▁ (U+2581) is the tokenizer's space


def read_lines(path: Path) -> list[str]:
    """The lines of a file, plain or compressed; an empty file has none."""
    try:
        with open_binary(path) as stream:
            return list(split_lines(stream, name=str(path), limit=LIMIT))
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: give the path of a text file") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder: give the path of a text file") from None
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError):
        raise DataError(
            f"{path} cannot be decompressed, being cut short, damaged or no {path.suffix} file: compress it again"
        ) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:  # a NUL or a surrogate in its name
        raise DataError(f"{str(path)!r} cannot be the name of a file: give the path of a text file") from None


def open_binary(path: Path) -> BinaryIO:
    """A file's bytes, decompressed as its suffix says."""
    match path.suffix.lower():
        case ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        case ".xz":
            return cast(BinaryIO, lzma.open(path, "rb"))
        case _:
            return path.open("rb")


def split_lines(stream: BinaryIO, name: str = "standard input", limit: int | None = None) -> Iterator[str]:
    """The lines of a stream, each as soon as it is there; at most `limit` bytes in all."""
    number = total = 0
    while line := stream.readline(LINE_LIMIT + 1):
        number, total = number + 1, total + len(line)
        if len(line) > LINE_LIMIT:
            raise DataError(
                f"{name}, line {number}: longer than {LINE_LIMIT:,} bytes: break it into sentences, one a line"
            )
        if limit is not None and total > limit:
            raise DataError(
                f"{name}, line {number}: the file goes on after {limit:,} bytes: split it into smaller files"
            )
        if number == 1 and line.startswith(BOM):
            line = line.removeprefix(BOM)
            if not line:
                return  # a byte order mark and nothing else: no line
        yield decode(line.removesuffix(b"\n").removesuffix(b"\r"), where=f"{name}, line {number}")


def decode(line: bytes, where: str) -> str:
    if b"\0" in line and not line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{where}: there is a NUL byte, which text has none of: save the file as UTF-8 text")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        encoding = "utf-16" if line.startswith((b"\xff\xfe", b"\xfe\xff")) else "latin1"
        byte = line[error.start]
        raise DataError(
            f"{where}: byte 0x{byte:02x} is not UTF-8: save the file as UTF-8, e.g. iconv -f {encoding} -t utf-8"
        ) from None
