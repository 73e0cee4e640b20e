"""Bad input gets one clear sentence and the right exit code. The sentences are held to the letter."""

from __future__ import annotations

import json
import shutil

import pytest

from process import call, refused
from regard.model import FAMILIES


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "a.en").write_text("one\ntwo\nthree\n")
    (tmp_path / "a.fr").write_text("un\ndeux\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "blank").write_text("\n\n")
    (tmp_path / "latin1").write_bytes("un\nété\n".encode("latin-1"))
    (tmp_path / "no.tsv").write_text("one\tun\ntwo deux\n")
    return tmp_path


def train(corpus, *arguments, code=1) -> str:
    return refused("train", *arguments, "--out", "run", cwd=corpus, code=code)


def test_a_missing_file(corpus):
    assert (
        train(corpus, "--source", "a.en", "--target", "nowhere.fr")
        == "regard: nowhere.fr does not exist: give the path of a text file\n"
    )


def test_unequal_counts(corpus):
    assert train(corpus, "--source", "a.en", "--target", "a.fr") == (
        "regard: a.en has 3 lines but a.fr has 2: line n of one should translate line n of the other\n"
    )


def test_an_empty_corpus(corpus):
    assert train(corpus, "--source", "empty", "--target", "empty") == (
        "regard: empty and empty are empty: give files with one sentence a line\n"
    )
    assert "holds no sentence pairs: every line has an empty side" in train(
        corpus, "--source", "blank", "--target", "blank"
    )


def test_bytes_that_are_not_text(corpus):
    (corpus / "two.en").write_text("one\nsummer\n")
    assert train(corpus, "--source", "two.en", "--target", "latin1").startswith(
        "regard: latin1, line 2: byte 0xe9 is not UTF-8: "
    )


def test_a_table_without_a_tab(corpus):
    assert train(corpus, "no.tsv") == (
        "regard: no.tsv, line 2: there is no tab: write source, tab, target on each line\n"
    )


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("model.widht=64", "settings: model.widht is no setting; did you mean model.width?"),
        ("model.width=wide", "settings: model.width='wide' should be a whole number"),
        ("model.heads=3", "settings: model.width=128 does not split into model.heads=3: make it a multiple"),
        ("model.norm=mid", "settings: model.norm='mid' should be 'post' or 'pre'"),
        ("width", "--set width is not of the form section.key=value: write, say, --set model.width=512"),
    ],
)
def test_a_setting_that_is_none(corpus, assignment, sentence):
    assert train(corpus, "no.tsv", "--set", assignment) == f"regard: {sentence}\n"


def test_a_recipe_that_is_none(corpus):
    assert train(corpus, "mine.toml") == (
        "regard: mine.toml does not exist: give the path of a recipe, such as recipes/laptop.toml\n"
    )
    (corpus / "mine.toml").write_text("[model\nwidth = 3")
    assert train(corpus, "mine.toml").startswith("regard: mine.toml is not a recipe in TOML: ")
    (corpus / "mine.toml").write_text("[train]\nstep = 3")
    assert train(corpus, "mine.toml") == "regard: mine.toml: train.step is no setting; did you mean train.steps?\n"


def test_half_a_corpus_is_wrong_usage(corpus):
    assert "--source and --target go together." in train(corpus, "--source", "a.en", code=2)
    assert "Missing option '--out'" in refused("train", "--source", "a.en", "--target", "a.fr", cwd=corpus, code=2)
    assert train(corpus) == (
        "regard: there is nothing to train on: give --source and --target, or a file of tab-separated pairs\n"
    )


def test_a_folder_that_is_no_run(corpus):
    sentence = "is not a run folder: it has no config.json; give the folder that regard train wrote\n"
    assert refused("translate", "nowhere", cwd=corpus) == f"regard: nowhere {sentence}"
    (corpus / "thing").mkdir()
    assert (
        refused("evaluate", "thing", "--source", "a.en", "--target", "a.en", cwd=corpus) == f"regard: thing {sentence}"
    )
    (corpus / "thing" / "config.json").write_text('{"format": 99, "version": "7.0"}')
    assert refused("translate", "thing", cwd=corpus) == (
        "regard: thing has format 99 and this regard reads up to 1: update regard to at least 7.0\n"
    )
    (corpus / "thing" / "config.json").write_text("[]")
    assert refused("translate", "thing", cwd=corpus) == (
        "regard: thing/config.json is not the configuration of a run: it has no format number\n"
    )


def test_a_language_that_the_run_does_not_have(counting):
    assert refused("translate", counting, stdin="one\n") == (
        "regard: this run translates into en and fr: say which, as in --to fr\n"
    )
    assert refused("translate", counting, "--to", "de", stdin="one\n") == (
        "regard: to de is not possible: this run translates into en and fr\n"
    )


def test_numbers_out_of_range_are_wrong_usage(counting):
    assert "Invalid value for '--beam'" in refused("translate", counting, "--beam", "0", code=2)
    assert refused("translate", counting, "--to", "fr", "--n-best", "9", stdin="one\n") == (
        "regard: n_best=9 is not between 1 and beam=5: there are no more to choose from\n"
    )


def test_a_device_that_is_not_there(counting, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # where there is a GPU, it is not to be seen
    assert refused("translate", counting, "--to", "fr", "--device", "cuda", stdin="one\n") == (
        "regard: this machine has no cuda device that torch can use: try --device auto\n"
    )
    assert "'warp' is not one of" in refused("translate", counting, "--device", "warp", code=2)


def test_a_damaged_run(counting, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(counting, broken)
    whole = (broken / "model.safetensors").read_bytes()
    (broken / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    assert refused("translate", broken, "--to", "fr").startswith(
        f"regard: {broken}/model.safetensors cannot be read as the model's parameters: "
    )
    (broken / "model.safetensors").unlink()
    assert refused("translate", broken, "--to", "fr") == (
        f"regard: {broken} has no model.safetensors: training has not finished; regard train --resume goes on\n"
    )
    (broken / "tokenizer.model").unlink()
    assert refused("translate", broken, "--to", "fr") == (
        f"regard: {broken}/tokenizer.model does not exist: a run keeps its tokenizer there, so copy the run again\n"
    )
    (broken / "tokenizer.model").write_bytes(b"nonsense")
    assert refused("translate", broken, "--to", "fr") == (
        f"regard: {broken}/tokenizer.model is damaged or not a tokenizer of regard: copy the run again\n"
    )


def test_a_run_of_a_family_that_is_not_known(counting, tmp_path):
    other = shutil.copytree(counting, tmp_path / "other")
    config = json.loads((other / "config.json").read_text())
    config["model"]["family"] = "oracle"
    (other / "config.json").write_text(json.dumps(config))
    assert refused("translate", other, "--to", "fr") == (
        f"regard: {other} holds a run of the family 'oracle', and this regard knows {', '.join(FAMILIES)}: "
        "update regard, or give another run\n"
    )


def test_bad_bytes_in_a_stream_are_named_after_the_lines_before_them(counting):
    done = call("translate", counting, "--to", "fr", stdin=b"one\n\xff\xfe\ntwo\n")
    assert done.returncode == 1
    assert done.stdout == "un\n"
    assert done.stderr.startswith("regard: standard input, line 2: byte 0xff is not UTF-8: ")
