"""The verb generate and its kin: as processes where it is the process that matters, and else inside this one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

import regard
from process import REGARD, call
from regard.cli import app
from regard.errors import RegardError
from rhymes import lines


def said(*arguments: str | Path, stdin: str = "") -> str:
    """What a command prints."""
    result = CliRunner().invoke(app, [str(each) for each in arguments], input=stdin)
    if isinstance(result.exception, RegardError):
        return f"regard: {result.exception}\n"
    return result.output


def test_it_writes_on_from_a_prompt_or_from_stdin(rhymes):
    done = call("generate", rhymes, "--tokens", "30", "--seed", "3", stdin="one two")
    assert done.returncode == 0, done.stderr
    [expected] = regard.generate(regard.load(rhymes), "one two", tokens=30, seed=3)
    assert done.stdout == f"{expected}\n"
    assert said("generate", rhymes, "--prompt", "one two", "--tokens", "30", "--seed", "3") == done.stdout
    assert said("generate", rhymes, "--prompt", "one two", "--tokens", "30", "--seed", "4") != done.stdout


def test_text_comes_out_as_it_is_written(rhymes):
    """The first of it is there before the last is written."""
    with subprocess.Popen(
        [REGARD, "generate", rhymes, "--prompt", "one", "--tokens", "1000000"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdout.read(20).startswith(b"one")
        process.kill()


def test_several_texts_a_beam_and_json(rhymes):
    how = ["--prompt", "six", "--tokens", "9", "--n", "2"]
    texts = said("generate", rhymes, *how, "--temperature", "2", "--top-k", "9", "--top-p", "0.9", "--min-p", "0.01")
    one, two = texts.split("─" * 40 + "\n")
    assert one.startswith("six")
    assert two.startswith("six")
    first, second = map(json.loads, said("generate", rhymes, *how, "--beam", "3", "--json").splitlines())
    assert first["prompt"] == "six"
    assert first["text"].startswith(" seven")
    assert first["log_probability"] >= second["log_probability"]
    varied = said("generate", rhymes, *how, "--json", "--set", "no_repeat=2").splitlines()
    assert len(json.loads(varied[0])["ids"]) == 9


def test_evaluate_foretells_a_text(rhymes, tmp_path):
    (tmp_path / "a.txt").write_text(lines(20, seed=9))
    (tmp_path / "b.txt").write_text(lines(20, seed=8))
    both = ["--text", tmp_path / "a.txt", "--text", tmp_path / "b.txt", "--stride", "8"]
    found = json.loads(said("evaluate", rhymes, *both, "--json"))
    expected = regard.evaluate_text(regard.load(rhymes), [tmp_path / "a.txt", tmp_path / "b.txt"], 8)
    assert found["bits_per_character"] == pytest.approx(expected.bits_per_character)
    assert said("evaluate", rhymes, *both) == f"{expected}\n"


def test_train_takes_plain_text_and_a_run_s_settings_repeat_it(tmp_path):
    (tmp_path / "a.txt").write_text(lines(200, seed=1))
    small = ["model.width=16", "model.hidden=32", "model.heads=2", "model.layers=1"]
    quick = ["train.steps=3", "train.batch_tokens=256", "train.precision=float32", "data.block=32"]
    sets = [part for each in (*small, *quick) for part in ("--set", each)]
    printed = said("train", "--text", tmp_path / "a.txt", "--out", tmp_path / "run", *sets)
    assert printed.endswith(f"{tmp_path / 'run'}\n")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["model"]["family"], config["model"]["vocabulary"]) == ("gpt2", 4 + 256 + 15)
    said("train", tmp_path / "run" / "config.json", "--out", tmp_path / "again")
    models = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("run", "again")]
    assert models[0] == models[1]


def test_a_run_that_writes_does_not_translate(rhymes, tmp_path):
    sentence = f"regard: {rhymes} writes text and does not translate: try regard generate {rhymes}\n"
    (tmp_path / "a.tsv").write_text("one\tun\n")
    assert said("evaluate", rhymes, tmp_path / "a.tsv") == sentence
    assert said("export", rhymes, "--format", "onnx", "--out", tmp_path / "onnx") == sentence
    with pytest.raises(RegardError) as caught:
        next(regard.translate(regard.load(rhymes), ["one"]))
    assert f"regard: {caught.value}\n" == sentence


def test_a_run_that_translates_does_not_write(counting, tmp_path):
    sentence = f"regard: {counting} translates and does not write text: try regard translate {counting}\n"
    assert said("generate", counting, "--prompt", "one") == sentence
    (tmp_path / "a.txt").write_text("one\n")
    assert said("evaluate", counting, "--text", tmp_path / "a.txt") == sentence


def test_options_that_do_not_go_together(rhymes):
    assert "--text is for a run that writes" in said(
        "evaluate", rhymes, "--text", "a", "--source", "b", "--target", "c"
    )
    assert "--beam goes with a run that translates or a run that restores text, not with a run that writes text:" in (
        said("evaluate", rhymes, "--text", "a", "--beam", "2")
    )
    assert "CAPTION and --prompt are one and the same: give one of them." in said(
        "generate", rhymes, "six", "--prompt", "seven"
    )
    assert "--out goes with a run that paints, not with a run that writes text: leave it out." in said(
        "generate", rhymes, "six", "--out", "a.png"
    )
    assert "there is no demo of poetry: choose translator, gpt" in said("demo", "poetry")
    assert said("generate", rhymes, "--prompt", "a", "--n", "3", "--beam", "2") == (
        "regard: n=3 is more than beam=2 finds: widen the beam\n"
    )
    assert said("generate", rhymes, "--prompt", "a", "--beam", "2", "--top-p", "0.9", "--set", "seed=3") == (
        "regard: beam=2 searches and draws nothing: leave out top_p, seed, or the beam\n"
    )


def test_a_beam_is_a_beam_by_its_option_and_by_set(rhymes):
    how = ["generate", rhymes, "--prompt", "six", "--tokens", "9"]
    assert said(*how, "--set", "beam=4") == said(*how, "--beam", "4") != said(*how)
    assert said(*how, "--n", "2", "--set", "beam=4") == said(*how, "--n", "2", "--beam", "4")
    assert said(*how, "--set", "beam=0") == "regard: decoding: beam=0 should be at least 1\n"
    assert said(*how, "--set", "beam=many") == "regard: decoding: beam='many' should be a whole number\n"


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("tokens=50", "--set tokens=50 is no setting of the search; use --tokens"),
        ("n=2", "--set n=2 is no setting of the search; use --n"),
        ("prompt=six", "--set prompt=six is no setting of the search; use --prompt"),
        ("no_repaet=3", "--set no_repaet=3 is no setting of the search; did you mean no_repeat?"),
        ("decode.seed=3", "--set decode.seed=3 is no setting of the search; did you mean seed?"),
        ("seed", "--set seed is not of the form key=value: write, say, --set no_repeat=3"),
        ("max_length=9", "max_length=9 is what a translator is told: say tokens=9 here"),
        ("samples=2", "samples=2 is what a translator is told: say n=2 here"),
    ],
)
def test_set_takes_the_settings_of_the_search_and_no_other_keyword(rhymes, assignment, sentence):
    """Any other would be a traceback, or slip past what an option checks."""
    assert said("generate", rhymes, "--prompt", "six", "--set", assignment) == f"regard: {sentence}\n"
