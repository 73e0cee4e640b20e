"""Files: whole or not at all, in their own encoding, and in flat memory."""

from __future__ import annotations

import os
import stat
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import pytest

import regard
from counting import NUMBERS
from regard.documents import KINDS, Options, translate_document
from regard.errors import ConfigError, DataError, RegardError
from regard.extras import needed


def upper(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield text.upper()


def in_batches(texts: Iterable[str], size: int = 64) -> Iterator[str]:
    """Reads ahead, as a decoder does that fills its batches."""
    texts = iter(texts)
    while batch := list(islice(texts, size)):
        yield from (text.upper() for text in batch)


def failing(texts: Iterable[str]) -> Iterator[str]:
    for index, text in enumerate(texts):
        if index == 2:
            raise KeyboardInterrupt
        yield text


def names() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


def refusal(path: str | Path, out: str | Path = "out.txt", **options: str) -> str:
    with pytest.raises(DataError) as caught:
        translate_document(path, out, upper, Options(**options))  # type: ignore[arg-type]
    return str(caught.value)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_translates_a_document(counting):
    Path("a.md").write_text("# one two\n\n- three\n- four\n")
    run = regard.load(counting)
    report = translate_document(
        "a.md", "b.md", lambda texts: (each.text for each in regard.translate(run, texts, to="fr"))
    )
    expected = "# one two\n\n- three\n- four\n"
    for english, french in NUMBERS.items():
        expected = expected.replace(english, french)
    assert Path("b.md").read_text() == expected
    assert report.segments == 3


def test_a_translator_may_read_ahead():
    Path("a.txt").write_text("One. Two.\n\n3\n" * 500)
    translate_document("a.txt", "b.txt", in_batches)
    assert Path("b.txt").read_text() == "ONE. TWO.\n\n3\n" * 500


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda texts: list(texts)[:-1], "the translator gave fewer sentences than it was given"),
        (lambda texts: iter(()), "the translator gave fewer sentences than it was given"),
        (lambda texts: [*texts, "more"], "the translator gave more sentences than it was given"),
    ],
)
@pytest.mark.parametrize("content", ["One.\nTwo.\n", "<p>One <img alt='two'></p>"])
def test_a_translator_that_cannot_count_is_found_out(broken, message, content):
    Path("a.html").write_text(content)
    with pytest.raises(ValueError, match=message):
        translate_document("a.html", "b.html", broken)
    assert names() == ["a.html"]


def test_what_fails_half_way_leaves_the_old_file_and_nothing_else():
    Path("a.txt").write_text("One.\nTwo.\nThree.\nFour.\n")
    Path("b.txt").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        translate_document("a.txt", "b.txt", failing)
    assert Path("b.txt").read_text() == "old"
    assert names() == ["a.txt", "b.txt"]


def test_a_document_may_be_translated_in_its_place_and_keeps_its_permissions():
    path = Path("a.txt")
    path.write_text("One.\n")
    path.chmod(0o640)
    translate_document(path, path, upper)
    assert path.read_text() == "ONE.\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    translate_document(path, "new/folder/b.txt", upper)
    assert stat.S_IMODE(Path("new/folder/b.txt").stat().st_mode) == 0o666 & ~umask()


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize(
    ("name", "content", "encoding"),
    [
        ("a.txt", "\ufeffGrün. Ja.\n", "utf-8"),
        ("a.txt", "\ufeffGrün. Ja.\r\n", "utf-16-le"),
        ("a.md", "\ufeff# Grün [x]\n\n[x]: u\n", "utf-16-be"),
        ("a.html", '<meta charset="iso-8859-1"><p>Grün</p>', "iso-8859-1"),
        (
            "a.tmx",
            '\ufeff<?xml version="1.0" encoding="utf-16"?><tmx><tu><tuv xml:lang="en"><seg>ü</seg></tuv></tu></tmx>',
            "utf-16-le",
        ),
        (
            "a.po",
            'msgid ""\nmsgstr "Content-Type: text/plain; charset=iso-8859-1\\n"\n\nmsgid "Grün"\nmsgstr ""\n',
            "latin-1",
        ),
    ],
)
def test_a_document_keeps_its_encoding(name, content, encoding):
    Path(name).write_bytes(content.encode(encoding))
    translate_document(name, f"out-{name}", upper, Options(target="de", reviewed=True))
    written = Path(f"out-{name}").read_bytes().decode(encoding)
    assert "Ü" in written
    assert (written[0] == "\ufeff") == (content[0] == "\ufeff")


def test_a_character_that_the_encoding_lacks_is_spelled_or_refused():
    Path("a.html").write_bytes('<meta charset="latin1"><p>Grün</p>'.encode("latin-1"))
    translate_document("a.html", "b.html", lambda texts: ["5 €" for _ in texts])
    assert Path("b.html").read_bytes() == b'<meta charset="latin1"><p>5 &#8364;</p>'
    Path("a.po").write_bytes(
        b'msgid ""\nmsgstr "Content-Type: text/plain; charset=latin1\\n"\n\nmsgid "a"\nmsgstr ""\n'
    )
    with pytest.raises(DataError) as caught:
        translate_document("a.po", "b.po", lambda texts: ["5 €" for _ in texts])
    assert str(caught.value) == "b.po cannot hold '€' in latin1: save the document as UTF-8 first"


def test_what_cannot_be_read_is_told_in_a_sentence():
    assert refusal("a.docx") == f"a.docx is of no kind that is known by its name: {', '.join(KINDS)}"
    assert refusal("a.txt") == "a.txt does not exist: give the path of a document"
    Path("folder.txt").mkdir()
    assert refusal("folder.txt") == "folder.txt is a folder: give the path of a document"
    Path("b.txt").write_bytes(b"fine\nnot f\xfcr us\n")
    assert refusal("b.txt") == "b.txt, line 2: byte 0xfc is not UTF-8: save the file as UTF-8"
    Path("c.txt").write_bytes("Wide.".encode("utf-16-le"))
    assert refusal("c.txt") == "c.txt holds a NUL, which text has none of: save the file as UTF-8 text"
    Path("d.html").write_text('<meta charset="klingon">')
    assert refusal("d.html") == "d.html declares the encoding 'klingon', which is unknown: save it as UTF-8"
    Path("e.txt").write_text("x")
    assert refusal("e.txt", "e.txt/out.txt") == "e.txt/out.txt cannot be written: File exists"
    assert refusal("e.txt/in.txt") == "e.txt/in.txt cannot be read: Not a directory"
    assert refusal("e.txt", "folder.txt") == "folder.txt cannot be written: Is a directory"
    with pytest.raises(ConfigError, match=r"is no language's name: write it as in de, pt-BR or zh-Hans$"):
        Options(target='de"><script>')
    assert names() == ["b.txt", "c.txt", "d.html", "e.txt", "folder.txt"]


def test_a_package_that_is_missing_is_told_with_its_extra():
    with pytest.raises(
        RegardError, match=r"^this needs nothing_of_the_kind, which is not installed: pip install 'regard\[files\]'$"
    ):
        needed("nothing_of_the_kind.at_all", "files")


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("a.txt", "This is a sentence that goes on for a while. And one more.\n\n"),
        ("a.md", "# A heading\n\nSome *prose* with `code` in it,\nwrapped.\n\n- an item\n\n"),
        ("a.html", "<p>Some <b>bold</b> prose with a <a href='x'>link</a>.</p>\n"),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nSome words,\non two lines.\n\n"),
    ],
)
def test_memory_is_flat(name, unit, monkeypatch):
    """Three times the document takes no more memory, but for what is read at a time."""
    monkeypatch.setattr("regard.documents.markup.CHUNK", 1 << 12)
    translate_document(written(name, unit, 9), "out", in_batches)  # imports and caches
    peaks = []
    for size in (250, 750):
        path = written(name, unit, size)
        tracemalloc.start()
        translate_document(path, "out", in_batches)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] + 20_000


def written(name: str, unit: str, size: int) -> Path:
    path = Path(name)
    path.write_text(unit * size)
    return path
