"""What `regard translate` does beyond one line in, one line out: engines, trust, terms, several runs, documents."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from counting import pairs
from process import call, refused
from regard.config import DecodeConfig


@pytest.fixture
def run(counting: Path, tmp_path: Path) -> Path:
    """A copy, for engines to be kept in."""
    return shutil.copytree(counting, tmp_path / "run", ignore=shutil.ignore_patterns("engines"))


def test_many_lines_make_an_engine_and_few_use_it(run: Path):
    known = pairs(150, seed=21)
    text = "".join(f"{pair.source}\n" for pair in known)
    done = call("translate", run, "--to", "fr", stdin=text)
    assert done.stdout.splitlines() == [pair.target for pair in known]
    assert done.stderr == "CTranslate2 tried on 64 sentences, alone and together: the same tokens as torch\n"
    again = call("translate", run, "--to", "fr", stdin="six five\n")
    assert (again.stdout, again.stderr) == ("six cinq\n", "")
    own = call("translate", run, "--to", "fr", "--engine", "torch", stdin=text)
    assert own.stdout == done.stdout


def test_scores_confidence_and_alignment_stand_beside_the_text(run: Path):
    done = call(
        "translate", run, "--to", "fr", "--scores", "--confidence", "--alignment", stdin="two five one\n\nsix\n"
    )
    first, blank, last = (line.split("\t") for line in done.stdout.splitlines())
    assert (first[2], first[3]) == ("deux cinq un", "0-0 1-1 2-2")
    assert (last[2], last[3]) == ("six", "0-0")
    assert float(first[0]) < 0
    assert 0 < float(first[1]) <= 1
    assert blank == ["0.0000", "1.00", "", ""]


def test_every_line_gives_as_many_as_were_asked_for(run: Path):
    """A blank line and one of placeholders alone have one translation each; empty ones make up for the others."""
    asked = ["--n-best", "3", "--keep", "--scores", "--alignment"]
    done = call("translate", run, "--to", "fr", *asked, stdin="two five\n\n{n}\nsix\n")
    texts = [line.split("\t")[1] for line in done.stdout.splitlines() if line.count("\t") == 2]
    assert texts[::3] == ["deux cinq", "", "{n}", "six"]
    assert [bool(text) for text in texts] == [True] * 3 + [False] * 3 + [True, False, False] + [True] * 3


def test_a_line_less_sure_than_asked_is_left_as_it_is_and_this_is_said(run: Path):
    """A word of another world gets a translation that the run is not sure of."""
    lines = "two five\nzebra\n"
    done = call("translate", run, "--to", "fr", "--min-confidence", "0.98", stdin=lines)
    assert done.stdout == "deux cinq\nzebra\n"
    assert done.stderr.startswith("line 2: left as it is, at a confidence of 0.")
    told = call("translate", run, "--to", "fr", "--min-confidence", "0.98", "--json", stdin=lines)
    sure, unsure = (json.loads(line) for line in told.stdout.splitlines())
    assert (sure["withheld"], unsure["withheld"]) == (False, True)
    assert unsure["candidates"][0]["signals"]["confidence"] < 0.98 < sure["candidates"][0]["signals"]["confidence"]


def test_a_setting_of_the_search_can_be_given(run: Path):
    drawn = ["--set", "samples=4", "--n-best", "4", "--least-risk"]
    done = call("translate", run, "--to", "fr", *drawn, stdin="two five one\n")
    assert done.stdout.splitlines()[0] == "deux cinq un"
    assert len(done.stdout.splitlines()) == 4
    assert call("translate", run, "--to", "fr", *drawn, stdin="two five one\n").stdout == done.stdout


@pytest.mark.parametrize(
    ("assignment", "hint"),
    [
        ("sample=4", "did you mean samples?"),
        ("to=fr", "use --to"),
        ("batch=0", "use --batch"),
        ("n_best=2", "use --n-best"),
        ("glossary=terms.tsv", "use --glossary"),
        ("signals=true", f"known are {', '.join(DecodeConfig.model_fields)}"),
    ],
)
def test_set_takes_the_settings_of_the_search_and_no_other_keyword(run: Path, assignment: str, hint: str):
    assert refused("translate", run, "--to", "fr", "--set", assignment, stdin="one\n") == (
        f"regard: --set {assignment} is no setting of the search; {hint}\n"
    )


def test_runs_decide_together(run: Path, tmp_path: Path):
    other = shutil.copytree(run, tmp_path / "other")
    done = call("translate", run, "--with", other, "--to", "fr", stdin="two five one\n")
    assert done.stdout == "deux cinq un\n"
    assert refused("translate", run, "--with", other, "--to", "fr", "--confidence", stdin="one\n") == (
        "regard: what is looked at can be told of one run, not of several together: ask one of them\n"
    )


def test_terms_and_placeholders_come_out_as_asked(run: Path, tmp_path: Path):
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("five\tV\n")
    done = call("translate", run, "--to", "fr", "--glossary", glossary, stdin="two five one\n{n} two\n")
    assert done.stdout == "deux V un\n{n} deux\n"
    assert done.stderr == ""
    judged = call("translate", run, "--to", "fr", "--keep", "--confidence", stdin="{n}\n")
    assert (judged.stdout, judged.stderr) == ("1.00\t{n}\n", ""), "there is nothing in it to be unsure of"


def test_a_document_comes_out_as_one(run: Path, tmp_path: Path):
    document, out = tmp_path / "a.md", tmp_path / "b.md"
    document.write_text("# one two\n\n- five\n- six *one*\n\n```\ntwo\n```\n")
    done = call("translate", run, document, "--out", out, "--to", "fr")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert out.read_text() == "# un deux\n\n- cinq\n- six *un*\n\n```\ntwo\n```\n"
    assert done.stderr == "3 segments translated\n"


def test_a_document_that_cannot_be_read_leaves_everything_as_it_was(run: Path, tmp_path: Path):
    strange, out = tmp_path / "a.docx", tmp_path / "b.docx"
    strange.write_bytes(b"PK")
    assert refused("translate", run, strange, "--out", out, "--to", "fr").startswith(
        f"regard: {strange} is of no kind that is known by its name: .txt, .md"
    )
    assert not out.exists()
    usage = refused("translate", run, strange, "--to", "fr", code=2)
    assert "a document and --out go together" in " ".join(usage.split())


@pytest.mark.parametrize(
    ("document", "option", "sentence"),
    [
        ("a.md", "--scores", "--scores goes with lines, not with a .md document: leave it out."),
        ("a.MD", "--wrapped", "--wrapped goes with a .txt document, not with a .md document: leave it out."),
        ("a.xlf", "--fuzzy", "--fuzzy goes with a .po document or a .pot document, not with a .xlf document:"),
        (None, "--reviewed", "or a .xliff document or a .xlf document, not with lines: leave it out."),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(run: Path, document: str | None, option: str, sentence: str):
    files = [document, "--out", "b"] if document else []
    usage = refused("translate", run, *files, "--to", "fr", option, code=2)
    assert sentence in " ".join(usage.split())
