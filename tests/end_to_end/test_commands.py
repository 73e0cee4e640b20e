"""The command line as its users meet it: real processes, real files, exit codes and words in full."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import regard
from counting import pairs as counting_pairs
from process import REGARD, call, refused

QUICK = ["steps=3", "warmup=1", "validate_every=3", "batch_tokens=256", "precision=float32"]
SMALL = ["--set", "model.width=16", "--set", "model.hidden=32", "--set", "model.heads=2", "--set", "model.layers=1"]


@pytest.fixture
def files(tmp_path) -> dict[str, Path]:
    pairs = counting_pairs(60, 1)
    named = {"en": tmp_path / "a.en", "fr": tmp_path / "a.fr.gz", "tsv": tmp_path / "pairs.tsv"}
    named["en"].write_text("".join(f"{pair.source}\n" for pair in pairs))
    named["fr"].write_bytes(gzip.compress("".join(f"{pair.target}\n" for pair in pairs).encode()))
    named["tsv"].write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs))
    return named


def quick() -> list[str]:
    return [*SMALL, *(part for each in QUICK for part in ("--set", f"train.{each}")), "--set", "tokenizer.size=320"]


def test_train_from_two_files_leaves_a_run_that_every_verb_takes(files, tmp_path):
    run = tmp_path / "run"
    done = call("train", "--source", files["en"], "--target", files["fr"], "--out", run, *quick())
    assert (done.returncode, done.stdout) == (0, f"{run}\n"), done.stderr
    assert "no validation files: 6 of 60 pairs set aside; they share no sentence with the rest" in done.stderr
    assert call("translate", run, stdin="one\ntwo\n").stdout.count("\n") == 2
    scored = call("evaluate", run, "--source", files["en"], "--target", files["fr"], "--json", "--beam", "1")
    assert json.loads(scored.stdout)["sentences"] == 60
    assert json.loads(scored.stdout)["bleu"]["signature"].startswith("nrefs:1|bs:1000|seed:12345|case:mixed")


def test_train_from_a_table_and_from_a_recipe(files, tmp_path):
    done = call("train", files["tsv"], "--languages", "en,fr", "--both-ways", "--out", tmp_path / "t", *quick())
    assert done.returncode == 0, done.stderr
    config = json.loads((tmp_path / "t" / "config.json").read_text())
    assert (config["data"]["both_ways"], config["data"]["languages"]) == (True, ["en", "fr"])
    recipe = tmp_path / "mine.toml"
    recipe.write_text(f'[data]\nsource = "{files["tsv"]}"\n[model]\nwidth = 16\nheads = 2\nhidden = 32\nlayers = 2\n')
    done = call("train", recipe, "--out", tmp_path / "r", *quick()[8:], "--set", "model.decoder_layers=1")
    assert done.returncode == 0, done.stderr
    config = json.loads((tmp_path / "r" / "config.json").read_text())
    assert (config["model"]["layers"], config["model"]["decoder_layers"]) == (2, 1)


def test_two_vocabularies_can_be_kept_apart(files, tmp_path):
    apart = ["--set", "tokenizer.joint=false", "--set", "model.tied=target"]
    done = call("train", files["tsv"], "--out", tmp_path / "run", *quick(), *apart)
    assert done.returncode == 0, done.stderr
    assert {"source.model", "target.model"} <= {path.name for path in (tmp_path / "run").iterdir()}
    assert call("translate", tmp_path / "run", stdin="one\n").returncode == 0


def test_translate_gives_a_line_for_a_line_in_order_both_ways(counting):
    there = call("translate", counting, "--to", "fr", stdin="two five one\n\n   \nseven")
    assert (there.returncode, there.stdout, there.stderr) == (0, "deux cinq un\n\n\nsept\n", "")
    assert call("translate", counting, "--to", "en", stdin="quatre deux\n").stdout == "four two\n"


def test_translate_shows_scores_n_best_and_json(counting):
    scored = call(
        "translate", counting, "--to", "fr", "--n-best", "3", "--scores", stdin="six two\n"
    ).stdout.splitlines()
    assert len(scored) == 3
    scores = [float(line.split("\t")[0]) for line in scored]
    assert scores == sorted(scores, reverse=True)
    assert scored[0].split("\t")[1] == "six deux"
    as_json = json.loads(call("translate", counting, "--to", "fr", "--json", stdin="six two\n").stdout)
    assert as_json["source"] == "six two"
    assert as_json["candidates"][0]["text"] == "six deux"
    assert as_json["candidates"][0]["score"] == pytest.approx(scores[0], abs=1e-4)


@pytest.mark.parametrize("batch", ["1", "7", "64"])
def test_the_batch_changes_no_line(counting, batch):
    text = "".join(f"{pair.source}\n" for pair in counting_pairs(30, seed=8))
    assert call("translate", counting, "--to", "fr", "--batch", batch, stdin=text).stdout == "".join(
        f"{pair.target}\n" for pair in counting_pairs(30, seed=8)
    )


def test_a_person_at_a_terminal_is_answered_line_by_line(counting):
    """The first answer comes while the input is still open."""
    with subprocess.Popen(
        [REGARD, "translate", counting, "--to", "fr"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        for question, answer in (("three", "trois"), ("one four", "un quatre")):
            process.stdin.write(f"{question}\n")
            process.stdin.flush()
            assert process.stdout.readline() == f"{answer}\n"
        process.stdin.close()
        assert process.wait(30) == 0


def test_a_closed_pipe_and_an_interrupt_end_quietly(counting):
    text = "one two three\n" * 3000
    read, write = os.pipe()
    with subprocess.Popen(
        [REGARD, "translate", counting, "--to", "fr", "--engine", "torch"],
        stdin=subprocess.PIPE,
        stdout=write,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(read)
        os.close(write)
        _, stderr = process.communicate(text.encode(), timeout=60)
        assert stderr == b""
    with subprocess.Popen(
        [REGARD, "translate", counting, "--to", "fr"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore it
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"one\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"un\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
        assert (process.returncode, stderr) == (130, b"")


def test_python_does_what_the_commands_do(counting, tmp_path):
    run = regard.load(counting)
    lines = ["two five one", "", "seven"]
    by_command = call("translate", counting, "--to", "fr", stdin="\n".join(lines)).stdout.splitlines()
    assert [each.text for each in regard.translate(run, lines, to="fr")] == by_command
    (tmp_path / "x").write_text("two five one\nseven\n")
    (tmp_path / "y").write_text("deux cinq un\nsix\n")
    score = regard.evaluate(run, tmp_path / "x", tmp_path / "y", to="fr")
    printed = call("evaluate", counting, "--source", tmp_path / "x", "--target", tmp_path / "y", "--to", "fr").stdout
    assert printed == f"{score}\n"
    assert f"exact {50:6.2f} %  of 2 sentences" in printed


def test_training_is_taken_up_again_by_the_command(files, tmp_path):
    base = ["train", files["tsv"], "--out", tmp_path / "run", *SMALL, "--set", "tokenizer.size=320"]
    short = ["--set", "train.warmup=1", "--set", "train.validate_every=2", "--set", "train.batch_tokens=256"]
    assert call(*base, *short, "--set", "train.steps=2").returncode == 0
    done = call(*base, *short, "--set", "train.steps=4", "--resume")
    assert done.returncode == 0, done.stderr
    steps = [json.loads(line)["step"] for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert steps[-1] == 4
    assert "step 2/4" not in done.stderr


def test_a_run_made_within_a_time_can_be_repeated_from_its_config_to_the_last_bit(files, tmp_path):
    """Five seconds decide how many steps there are; config.json tells them, and no clock is needed any more."""
    small = [*SMALL, "--set", "tokenizer.size=320", "--set", "train.batch_tokens=256"]
    timed = call("train", files["tsv"], "--time", "5s", "--out", tmp_path / "timed", *small)
    assert timed.returncode == 0, timed.stderr
    again = call("train", tmp_path / "timed" / "config.json", "--out", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    for name in ("model.safetensors", "config.json"):
        assert (tmp_path / "timed" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    assert "BLEU" in (tmp_path / "timed" / "README.md").read_text()
    assert (tmp_path / "timed" / "curve.png").stat().st_size > 5000


def test_a_time_for_a_run_that_is_taken_up_is_refused(files, tmp_path):
    done = call("train", files["tsv"], "--time", "5s", "--resume", "--out", tmp_path / "run")
    expected = "regard: --time and --resume do not go together: a run that is taken up has its number of steps\n"
    assert (done.returncode, done.stderr) == (1, expected)


def test_what_cannot_both_be_done_is_refused(files, tmp_path):
    out = ["--out", tmp_path / "run"]
    assert refused("train", files["tsv"], "--resume", "--overwrite", *out) == (
        "regard: --resume and --overwrite do not go together: the one goes on with what the other deletes\n"
    )
    usage = refused("train", files["tsv"], "--text", files["en"], *out, code=2)
    assert "--source, --text, --labelled and --pictures are for different networks: give one." in usage


def test_a_time_that_is_none_is_refused(files, tmp_path):
    done = call("train", files["tsv"], "--time", "soon", "--out", tmp_path / "run")
    assert (done.returncode, done.stderr) == (1, "regard: --time soon is not a time: write 90s, 20m or 1h30m\n")
