"""The verb generate and its kin, as their users meet them."""

from __future__ import annotations

import json
import subprocess

import pytest

import regard
from process import REGARD, call, refused
from rhymes import lines


def test_it_writes_on_from_a_prompt_or_from_stdin(rhymes):
    done = call("generate", rhymes, "--prompt", "one two", "--tokens", "30", "--seed", "3")
    assert done.returncode == 0, done.stderr
    run = regard.load(rhymes)
    [expected] = regard.generate(run, "one two", tokens=30, seed=3)
    assert done.stdout == f"{expected}\n"
    assert call("generate", rhymes, "--tokens", "30", "--seed", "3", stdin="one two").stdout == done.stdout
    assert call("generate", rhymes, "--tokens", "30", "--seed", "4", stdin="one two").stdout != done.stdout


def test_several_texts_a_beam_and_json(rhymes):
    how = ["--prompt", "six", "--tokens", "9", "--n", "2"]
    texts = call("generate", rhymes, *how, "--temperature", "2", "--top-k", "9", "--top-p", "0.9", "--min-p", "0.01")
    one, two = texts.stdout.split("─" * 40 + "\n")
    assert one.startswith("six")
    assert two.startswith("six")
    beamed = call("generate", rhymes, *how, "--beam", "3", "--json").stdout.splitlines()
    first, second = map(json.loads, beamed)
    assert first["prompt"] == "six"
    assert first["text"].startswith(" seven")
    assert first["log_probability"] >= second["log_probability"]
    varied = call("generate", rhymes, *how, "--json", "--set", "no_repeat=2").stdout.splitlines()
    assert len(json.loads(varied[0])["ids"]) == 9


def test_text_comes_out_as_it_is_written(rhymes):
    """The first of it is there before the last is written."""
    with subprocess.Popen(
        [REGARD, "generate", rhymes, "--prompt", "one", "--tokens", "100000"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdout.read(20).startswith(b"one")
        process.stdout.close()
        process.kill()


def test_evaluate_foretells_a_text(rhymes, tmp_path):
    (tmp_path / "a.txt").write_text(lines(20, seed=9))
    (tmp_path / "b.txt").write_text(lines(20, seed=8))
    both = ["--text", tmp_path / "a.txt", "--text", tmp_path / "b.txt", "--stride", "8"]
    found = json.loads(call("evaluate", rhymes, *both, "--json").stdout)
    expected = regard.evaluate_text(regard.load(rhymes), [tmp_path / "a.txt", tmp_path / "b.txt"], 8)
    assert found["bits_per_character"] == pytest.approx(expected.bits_per_character)
    assert call("evaluate", rhymes, *both).stdout.splitlines() == str(expected).splitlines()


def test_train_takes_plain_text(tmp_path):
    (tmp_path / "a.txt").write_text(lines(200, seed=1))
    small = ["model.width=16", "model.hidden=32", "model.heads=2", "model.layers=1"]
    quick = ["train.steps=3", "train.batch_tokens=256", "train.precision=float32", "data.block=32"]
    sets = [part for each in (*small, *quick) for part in ("--set", each)]
    done = call("train", "--text", tmp_path / "a.txt", "--out", tmp_path / "run", *sets)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'run'}\n"), done.stderr
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["model"]["family"], config["model"]["vocabulary"]) == ("gpt2", 4 + 256 + 15)
    again = call("train", tmp_path / "run" / "config.json", "--out", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    models = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("run", "again")]
    assert models[0] == models[1], "a run's config.json repeats it"


def test_a_run_that_writes_does_not_translate(rhymes, tmp_path):
    sentence = f"regard: {rhymes} writes text and does not translate: try regard generate {rhymes}\n"
    (tmp_path / "a.tsv").write_text("one\tun\n")
    assert refused("translate", rhymes, stdin="one\n") == sentence
    assert refused("evaluate", rhymes, tmp_path / "a.tsv") == sentence
    assert refused("export", rhymes, "--format", "onnx", "--out", tmp_path / "onnx") == sentence


def test_a_run_that_translates_does_not_write(counting, tmp_path):
    sentence = f"regard: {counting} translates and does not write text: try regard translate {counting}\n"
    assert refused("generate", counting, "--prompt", "one") == sentence
    (tmp_path / "a.txt").write_text("one\n")
    assert refused("evaluate", counting, "--text", tmp_path / "a.txt") == sentence


def test_options_that_do_not_go_together(rhymes):
    assert "--text is for a run that writes" in refused(
        "evaluate", rhymes, "--text", "a", "--source", "b", "--target", "c", code=2
    )
    assert "there is no demo of poetry: choose translator, gpt" in refused("demo", "poetry", code=2)
    assert refused("generate", rhymes, "--prompt", "a", "--n", "3", "--beam", "2") == (
        "regard: n=3 is more than beam=2 finds: widen the beam\n"
    )
