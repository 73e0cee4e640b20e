"""regard doctor as its users meet it: what it says, what it writes, what it refuses."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import regard
from process import call
from regard.data.clean import RULES
from regard.data.doctor import SHOWN

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
ZAHLEN = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"]
SOURCE = [f"The number is {word}." for word in NUMBERS]
TARGET = [f"Die Zahl ist {word}." for word in ZAHLEN]
FAULTS = [
    ("The number is one.", "Die Zahl ist eins.", "duplicate"),
    ("This is empty.", "", "empty"),
    ("CafÃ©\there", "Das\tCafé", "encoding"),
    ("The escape \x1b[31m is red.", "Das Zeichen ist rot.", "control"),
    ("Left as it was found.", "Left as it was found.", "copy"),
    ("This is Russian.", "Это не по-немецки.", "script"),
    ("The number is so very, very large that it cannot be written.", "@@", "length-ratio"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twelve good pairs, then one for each fault; as two files, and as a table with a third column."""
    sources, targets = [*SOURCE, *(fault[0] for fault in FAULTS)], [*TARGET, *(fault[1] for fault in FAULTS)]
    (tmp_path / "a.en.gz").write_bytes(gzip.compress("".join(f"{line}\r\n" for line in sources).encode()))
    (tmp_path / "a.de").write_text("".join(f"{line}\n" for line in targets))
    rows = [(s.replace("\t", " "), t.replace("\t", " "), "CC-BY") for s, t in zip(sources, targets, strict=True)]
    (tmp_path / "a.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    (tmp_path / "test.tsv").write_text("the number is TWO.\tDie Zahl ist zwei.\nNew.\tDie Zahl ist drei.\n")
    return tmp_path


FILES = ["--source", "a.en.gz", "--target", "a.de"]


def doctor(folder: Path, *arguments: str) -> str:
    done = call("doctor", *arguments, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def lines(path: Path) -> list[str]:
    return path.read_text().removesuffix("\n").split("\n")


def test_each_fault_is_told_with_its_line_its_text_and_a_fix(folder):
    said = doctor(folder, *FILES)
    assert said.startswith("a.en.gz and a.de: 19 pairs\nsource in Latin script, target in Latin script; a target has ")
    fixes = {rule.name: rule.fix for rule in RULES}
    for line, (source, _, rule) in enumerate(FAULTS, start=13):
        part = next(part for part in said.split("\n\n") if part.startswith(f"{rule}: 1 to drop (pairs that "))
        assert f"    line {line} " in part
        assert source.replace("\x1b", "\\x1b").replace("\t", "\\t") in part
        assert part.endswith(f"    fix: {fixes[rule]}")
    assert said.endswith(
        "nothing found: long, near-duplicate, many-targets, entity, markup\n"
        "19 pairs = 12 to keep + 7 to drop "
        "(empty 1, encoding 1, control 1, copy 1, duplicate 1, script 1, length-ratio 1)\n"
    )
    assert "\x1b" not in said, "no text may steer the terminal"
    assert sorted(path.name for path in folder.iterdir()) == ["a.de", "a.en.gz", "a.tsv", "test.tsv"]


def test_cleaning_writes_what_is_kept_and_what_is_dropped(folder):
    said = doctor(folder, *FILES, "--clean-to", "clean")
    assert "19 pairs = 12 kept + 7 dropped (" in said
    assert said.endswith("written: clean.source, clean.target, clean.dropped.tsv\n")
    assert lines(folder / "clean.source") == SOURCE
    assert lines(folder / "clean.target") == TARGET
    assert lines(folder / "clean.dropped.tsv") == [
        "\t".join([str(line), rule, source.replace("\t", "\\t"), target.replace("\t", "\\t")])
        for line, (source, target, rule) in enumerate(FAULTS, start=13)
    ]
    again = doctor(folder, "--source", "clean.source", "--target", "clean.target", "--clean-to", "again")
    assert "12 pairs = 12 kept + 0 dropped\n" in again
    assert (folder / "again.source").read_bytes() == (folder / "clean.source").read_bytes()
    assert (folder / "again.dropped.tsv").read_bytes() == b""


def test_a_table_is_cleaned_to_a_table_with_all_its_columns(folder):
    doctor(folder, "a.tsv", "--clean-to", "clean")
    assert lines(folder / "clean.tsv") == lines(folder / "a.tsv")[:12]
    assert len(lines(folder / "clean.dropped.tsv")) == 7


def test_chosen_rules_drop_and_the_others_only_tell(folder):
    said = doctor(folder, "a.tsv", "--rules", "empty, duplicate", "--clean-to", "clean")
    assert "19 pairs = 17 kept + 2 dropped (empty 1, duplicate 1)\n" in said
    assert "script: 1 to look at (pairs that " in said
    assert len(lines(folder / "clean.tsv")) == 17
    done = call("doctor", "a.tsv", "--rules", "emty", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "regard: 'emty' is no rule; did you mean empty?\n")


def test_the_test_set_is_looked_for_in_training(folder):
    said = doctor(folder, *FILES, "--test", "test.tsv", "--clean-to", "clean")
    overlap = "test set: 2 pairs; training holds the source of 1, the target of 2, both as a pair of 1\n"
    assert said.split("\n\n")[0].endswith(overlap.rstrip())
    assert "test-pair: 1 to drop (pairs that are in the test set too)\n    line 2 " in said
    assert "test-target: 1 to look at (pairs that " in said
    assert SOURCE[1] not in lines(folder / "clean.source")
    assert SOURCE[2] in lines(folder / "clean.source")
    (folder / "t.en").write_text("The number is two.\n")
    (folder / "t.de").write_text("Es ist zwei.\n")
    said = doctor(folder, *FILES, "--test-source", "t.en", "--test-target", "t.de")
    assert "test-source: 1 to drop (" in said


def test_programs_read_json(folder):
    report = json.loads(doctor(folder, *FILES, "--test", "test.tsv", "--json"))
    assert report["pairs"] == report["kept"] + report["dropped"] == 19
    assert report["dropped"] == sum(each["count"] for each in report["findings"] if each["drops"])
    assert [each["rule"] for each in report["findings"]] == [rule.name for rule in RULES]
    assert report["overlap"] == {"pairs": 2, "same_pair": 1, "same_source": 1, "same_target": 2}
    empty = next(each for each in report["findings"] if each["rule"] == "empty")
    assert (empty["lines"], empty["count"]) == ([14], 1)
    assert empty["examples"] == [{"line": 14, "source": "This is empty.", "target": "", "seen": "no target"}]
    without_test = json.loads(doctor(folder, *FILES, "--json"))
    assert without_test["overlap"] is None
    assert not any(each["rule"].startswith("test-") for each in without_test["findings"])


def test_python_does_what_the_command_does(folder, monkeypatch):
    monkeypatch.chdir(folder)
    report = regard.doctor("a.en.gz", "a.de", test_source="test.tsv")
    assert doctor(folder, *FILES, "--test", "test.tsv") == f"{report}\n"
    assert regard.doctor("a.tsv", rules=[]).kept == 19


def test_many_of_a_kind_are_counted_and_the_first_shown(tmp_path):
    (tmp_path / "a.tsv").write_text("Again.\tNochmals.\n" * 50)
    report = regard.doctor(tmp_path / "a.tsv")
    duplicate = next(finding for finding in report.findings if finding.rule == "duplicate")
    assert duplicate.count == 49
    assert duplicate.lines == tuple(range(2, 51))
    assert [example.line for example in duplicate.examples] == list(range(2, 2 + SHOWN))


def test_no_file_is_overwritten(folder):
    (folder / "clean.dropped.tsv").write_text("mine")
    done = call("doctor", *FILES, "--clean-to", "clean", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "regard: clean.dropped.tsv exists already: choose another --clean-to, or move it away\n"
    assert (folder / "clean.dropped.tsv").read_text() == "mine"
    assert not (folder / "clean.source").exists()
    done = call("doctor", *FILES, "--clean-to", "no/where", cwd=folder)
    assert done.stderr == "regard: no is not a folder: make it first, or choose another --clean-to\n"


def test_what_cannot_be_written_leaves_nothing_behind(folder, monkeypatch):
    monkeypatch.chdir(folder)
    whole = Path.open

    def full(path: Path, mode: str = "r", *arguments, **keywords):
        if mode == "x" and path.name == "clean.target":
            raise OSError(28, "No space left on device")
        return whole(path, mode, *arguments, **keywords)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(regard.RegardError) as caught:
        regard.doctor("a.en.gz", "a.de", clean_to="clean")
    assert str(caught.value) == ("clean.target cannot be written: No space left on device; choose another --clean-to")
    assert not list(folder.glob("clean.*"))


def test_what_cannot_be_read_is_refused_in_one_sentence(folder):
    (folder / "short").write_text("one\n")
    (folder / "latin1").write_bytes(b"caf\xe9\n")
    (folder / "nul").write_bytes(b"a\0b\n")

    def refused(*arguments: str, code: int = 1) -> str:
        done = call("doctor", *arguments, cwd=folder)
        assert (done.returncode, done.stdout) == (code, "")
        assert "Traceback" not in done.stderr
        return done.stderr

    assert refused("--source", "a.de", "--target", "short") == (
        "regard: a.de has 19 lines but short has 1: line n of one should translate line n of the other\n"
    )
    assert refused("--source", "short", "--target", "latin1").startswith(
        "regard: latin1, line 1: byte 0xe9 is not UTF-8"
    )
    assert refused("--source", "short", "--target", "nul").startswith("regard: nul, line 1: there is a NUL byte")
    assert refused("short") == "regard: short, line 1: there is no tab: write source, tab, target on each line\n"
    assert "nothing to examine" in refused(code=2)
    assert "--source and --target go together." in refused("--source", "a.de", code=2)
    assert "--test-source and --test-target go together." in refused("a.tsv", "--test-source", "a.de", code=2)
    assert "a.tsv already holds pairs" in refused("a.tsv", *FILES, code=2)
