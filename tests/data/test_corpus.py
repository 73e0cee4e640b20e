"""Sentence pairs from files: no oddity of a file shifts the alignment, and what is refused is told with its line."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.data import corpus
from regard.data.corpus import Pair, read_lines, read_pairs, read_table, split_lines, without_empty
from regard.errors import DataError

Write = Callable[[str, bytes], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a file into the working folder, compressed as its name says, and gives its relative path."""
    monkeypatch.chdir(tmp_path)
    compress = {".gz": gzip.compress, ".xz": lzma.compress}

    def write(name: str, content: bytes) -> Path:
        Path(name).write_bytes(compress.get(Path(name).suffix.lower(), bytes)(content))
        return Path(name)

    return write


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(DataError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz", "A.GZ", "noname"])
def test_lines_are_read_plain_or_compressed(write: Write, name: str):
    assert read_lines(write(name, "eins\nzwei\n\ndrei €\n".encode())) == ["eins", "zwei", "", "drei €"]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb", ["a", "b"]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\n\n", ["a", ""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\nb\rc\n", ["a\r", "b\rc"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf\r\n", [""]),
        (
            "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei\nj".encode(),
            ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei", "j"],
        ),
    ],
)
def test_lines_end_at_newlines_alone(write: Write, content: bytes, lines: list[str]):
    assert read_lines(write("a.txt", content)) == lines


def without_marks(lines: list[str]) -> bool:
    return not any(line.endswith("\r") for line in lines) and not (lines and lines[0].startswith("\ufeff"))


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\0"))).filter(without_marks))
@pytest.mark.parametrize("name", ["a.txt", "a.gz"])
def test_what_is_written_is_read(write: Write, name: str, lines: list[str]):
    content = "".join(f"{line}\n" for line in lines).encode()
    assert read_lines(write(name, content)) == lines
    assert read_lines(write(name, content.replace(b"\n", b"\r\n"))) == lines
    assert read_lines(write(name, b"\xef\xbb\xbf" + content)) == lines


def test_a_line_of_ten_megabytes_is_one_line(write: Write):
    long = "é" * 5_000_000
    assert read_lines(write("a.gz", f"a\n{long}\nb\n".encode())) == ["a", long, "b"]


def test_lines_of_a_stream_come_one_at_a_time():
    """A pipe may stay open: the first line is there before the second is read."""
    read_end, write_end = os.pipe()
    with open(read_end, "rb") as stream, open(write_end, "wb", buffering=0) as pipe:  # noqa: PTH123, a file descriptor
        lines = split_lines(stream)
        pipe.write(b"eins\r\nzw")
        assert next(lines) == "eins"
        pipe.write(b"ei\n")
        assert next(lines) == "zwei"


def test_a_stream_is_named_in_its_errors():
    lines = split_lines(io.BytesIO(b"a\n\xff\n"))
    assert next(lines) == "a"
    assert refusal(lambda: next(lines)) == (
        "standard input, line 2: byte 0xff is not UTF-8: save the file as UTF-8, e.g. iconv -f latin1 -t utf-8"
    )


def test_pairs_keep_their_empty_sides_and_their_places(write: Write):
    source = write("a.en.gz", b"one\n\nthree\n \nfive")
    target = write("a.de.xz", "eins\nzwei\n\u2028\nvier\nfünf\r\n".encode())
    pairs = read_pairs(source, target)
    assert pairs == [("one", "eins"), ("", "zwei"), ("three", "\u2028"), (" ", "vier"), ("five", "fünf")]
    assert without_empty(pairs) == ([Pair("one", "eins"), Pair("five", "fünf")], [2, 3, 4])
    assert without_empty([Pair("a", "▁")]) == ([], [1])


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.tsv.xz"])
def test_a_table_has_source_and_target_and_whatever_else(write: Write, name: str):
    content = b"\xef\xbb\xbfone\teins\r\ntwo\tzwei\tlicence\tmore\n\t\nfour\t"
    assert read_table(write(name, content)) == [("one", "eins"), ("two", "zwei"), ("", ""), ("four", "")]


def test_a_table_line_without_a_tab_is_refused(write: Write):
    path = write("a.tsv", b"one\teins\ntwo zwei\n")
    assert refusal(lambda: read_table(path)) == (
        "a.tsv, line 2: there is no tab: write source, tab, target on each line"
    )


def test_unequal_files_are_refused(write: Write):
    source, target = write("a.en", b"one\ntwo\n"), write("a.de", b"eins\nzwei\n\n")
    assert refusal(lambda: read_pairs(source, target)) == (
        "a.en has 2 lines but a.de has 3: line n of one should translate line n of the other"
    )


def test_an_empty_corpus_is_refused(write: Write):
    empty = write("a.en", b"")
    assert refusal(lambda: read_pairs(empty, empty)) == "a.en and a.en are empty: give files with one sentence a line"
    assert refusal(lambda: read_table(empty)) == "a.en is empty: give a file with source, tab, target on each line"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"a\n" * 16 + b"\xff",
            "line 17: byte 0xff is not UTF-8: save the file as UTF-8, e.g. iconv -f latin1 -t utf-8",
        ),
        (b"caf\xe9\n", "line 1: byte 0xe9 is not UTF-8: save the file as UTF-8, e.g. iconv -f latin1 -t utf-8"),
        (b"\xed\xa0\x80", "line 1: byte 0xed is not UTF-8: save the file as UTF-8, e.g. iconv -f latin1 -t utf-8"),
        (
            "é\n".encode("utf-16"),
            "line 1: byte 0xff is not UTF-8: save the file as UTF-8, e.g. iconv -f utf-16 -t utf-8",
        ),
        (b"a\nb\0c\n", "line 2: there is a NUL byte, which text has none of: save the file as UTF-8 text"),
    ],
)
def test_what_is_no_text_is_refused_with_its_line(write: Write, content: bytes, message: str):
    path = write("corpus.de.gz", content)
    assert refusal(lambda: read_lines(path)) == f"corpus.de.gz, {message}"


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_damaged_archive_is_refused(write: Write, suffix: str):
    path = write(f"a{suffix}", random.Random(1).randbytes(20_000).hex().encode())
    whole = path.read_bytes()
    wrong_sum = whole[:-8] + bytes(8)
    for broken in (whole[: len(whole) // 2], whole[:-1], whole[:5], b"plain text\n", wrong_sum):
        path.write_bytes(broken)
        assert refusal(lambda: read_lines(path)) == (
            f"a{suffix} cannot be decompressed, being cut short, damaged or no {suffix} file: compress it again"
        )


def test_what_is_no_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("folder.gz").mkdir()
    Path("loop").symlink_to("loop")
    assert refusal(lambda: read_lines(Path("a.txt"))) == "a.txt does not exist: give the path of a text file"
    assert refusal(lambda: read_lines(Path("folder.gz"))) == "folder.gz is a folder: give the path of a text file"
    assert refusal(lambda: read_lines(Path("a\0b"))) == (
        "'a\\x00b' cannot be the name of a file: give the path of a text file"
    )
    assert re.fullmatch("loop cannot be read: Too many .*symbolic links.*", refusal(lambda: read_lines(Path("loop"))))


@pytest.mark.parametrize("name", ["bomb.txt", "bomb.gz", "bomb.xz"])
def test_a_bomb_stops_at_a_limit(write: Write, name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(corpus, "LIMIT", 1000)
    monkeypatch.setattr(corpus, "LINE_LIMIT", 100)
    lines = write(name, b"0123456789\n" * 10_000)
    assert refusal(lambda: read_lines(lines)) == (
        f"{name}, line 91: the file goes on after 1,000 bytes: split it into smaller files"
    )
    line = write(name, b"ok\n" + b"0" * 1_000_000)
    assert refusal(lambda: read_lines(line)) == (
        f"{name}, line 2: longer than 100 bytes: break it into sentences, one a line"
    )
    assert len(list(split_lines(io.BytesIO(b"0123456789\n" * 10_000)))) == 10_000, "a stream may go on for ever"
