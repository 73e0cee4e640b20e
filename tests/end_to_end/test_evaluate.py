"""regard evaluate as its users meet it: one run scored, two runs compared, by a process of its own."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

import regard
from counting import pairs as counting_pairs
from counting import settings
from process import call, refused
from regard.training.train import train_pairs_into


@pytest.fixture(scope="module")
def beginner(tmp_path_factory) -> Path:
    """A run that has seen too little to count well."""
    folder = tmp_path_factory.mktemp("runs") / "beginner"
    train_pairs_into(folder, settings(steps=60), counting_pairs(600, seed=1), counting_pairs(20, seed=2), on="cpu")
    return folder


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "test.tsv"
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in counting_pairs(40, seed=9)))
    return path


def test_a_table_is_scored_with_intervals_and_the_figure_of_older_papers(counting, table):
    done = call("evaluate", counting, table, "--to", "fr")
    assert (done.returncode, done.stderr) == (0, "")
    names = [line[:5].strip() for line in done.stdout.splitlines()]
    assert names == ["BLEU", "chrF", "TER", "exact", "Token", "BLEU", ""]
    assert done.stdout.count("   95 %: ") == done.stdout.count("|bs:1000|seed:12345|") == 4
    assert "|case:lc|eff:no|tok:sacremoses-" in done.stdout.splitlines()[5]
    assert done.stdout.endswith("      Moses tokeniser with its rules for fr\n")


def test_a_beginner_is_found_worse_and_python_says_the_same(counting, beginner, table):
    done = call("evaluate", beginner, table, "--to", "fr", "--compare", counting, "--beam", "2", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    comparison = found["comparison"]
    assert (comparison["run"], comparison["other"]) == (str(beginner), str(counting))
    for name in ("bleu", "chrf"):
        assert comparison[name]["difference"] == pytest.approx(
            found[name]["score"] - comparison["quality"][name]["score"]
        )
        assert comparison[name]["difference"] < 0
        assert comparison[name]["p"] < 0.05
    assert comparison["ter"]["difference"] > 0
    assert comparison["worse"] > comparison["better"]
    assert sum(comparison[count] for count in ("same", "better", "worse", "equal")) == found["sentences"] == 40
    last = comparison["differences"][-1]
    source, reference = table.read_text().splitlines()[last["line"] - 1].split("\t")
    assert (last["source"], last["reference"]) == (source, reference)
    assert last["other_chrf"] > last["chrf"]

    runs = regard.load(beginner, on="cpu"), regard.load(counting, on="cpu")
    by_python = regard.evaluate(runs[0], table, to="fr", compare=runs[1], beam=2)
    assert json.loads(json.dumps(asdict(by_python))) == found


def test_a_run_compared_with_itself_shows_no_difference(counting, table):
    done = call("evaluate", counting, table, "--to", "en", "--compare", counting)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("p 1.0000   no significant difference") == 3
    assert "lines 40 the same, 0 better, 0 worse, 0 different but equal" in done.stdout
    assert "\nMost " not in done.stdout


def test_what_cannot_be_evaluated_is_said_in_one_sentence(counting, table, tmp_path):
    done = call("evaluate", counting, table, "--to", "fr", "--compare", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"regard: {tmp_path} is not a run folder: it has no config.json; give the folder that regard train wrote\n"
    )
    done = call("evaluate", counting, "--source", table)
    assert done.returncode == 2
    assert "give --source and --target, or one file of tab-separated pairs, or --text." in done.stderr
    done = call("evaluate", counting, table, "--target", table)
    assert done.returncode == 2
    assert "already holds pairs: leave out --source and --target." in done.stderr
    assert "--stride goes with a run that writes text, not with a run that translates: leave it out." in refused(
        "evaluate", counting, table, "--to", "fr", "--stride", "8", code=2
    )
