"""The verb classify: texts and pictures in, likely classes out; and what it says to what it cannot read."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

import regard
import stripes
from process import call
from regard.cli import app
from regard.decoding.classify import inputs
from regard.errors import ConfigError, DataError, RunError

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def seeing(trained):
    return regard.load(trained["stripes"])


@pytest.fixture(scope="module")
def reading(trained):
    return regard.load(trained["moods"])


def test_pictures_of_a_file_an_array_and_an_npz_are_the_same_picture(seeing, tmp_path):
    pixels = stripes.stripes(3, seed=9).pixels
    Image.fromarray(pixels[1]).save(tmp_path / "one.png")
    np.savez(tmp_path / "all.npz", images=pixels)
    alone, *several = regard.classify(seeing, [tmp_path / "one.png", str(tmp_path / "all.npz")], top=2)
    [memory] = regard.classify(seeing, [pixels[1]], top=2)
    assert [each.given for each in several] == [f"{tmp_path / 'all.npz'}[{i}]" for i in range(3)]
    assert alone.labels == several[1].labels == memory.labels
    assert alone.probabilities == pytest.approx(several[1].probabilities, abs=1e-5)
    assert sum(alone.probabilities) == pytest.approx(1)


def test_what_it_says_is_the_softmax_of_the_network(reading):
    texts = ["sun song", "tears gloom rain grave tears", "dance"]
    tokenizer, model = reading.tokenizers["text"], reading.model
    for text, found in zip(texts, regard.classify(reading, texts, top=2), strict=True):
        ids = torch.tensor([[2, *tokenizer.encode(text), 3]])
        p = model.classify(model.states(ids, torch.ones_like(ids, dtype=torch.bool))).softmax(-1)[0]
        assert found.probabilities == pytest.approx(p.sort(descending=True)[0].tolist(), abs=1e-5)
        assert found.labels[0] == ("glad", "sad")[int(p.argmax())] == ("sad" if "tears" in text else "glad")


def test_no_more_classes_are_told_than_there_are(seeing):
    [found] = regard.classify(seeing, stripes.stripes(1, seed=5).pixels, top=7)
    assert set(found.labels) == set(stripes.DIRECTIONS)
    with pytest.raises(ConfigError, match=r"^top=0 should be at least 1$"):
        regard.classify(seeing, [], top=0)


def test_a_picture_of_another_size_or_colour_is_brought_to_what_the_run_reads(seeing, tmp_path, capsys):
    large = np.repeat(np.repeat(stripes.stripes(1, seed=4).pixels[0], 3, axis=0), 3, axis=1)
    Image.fromarray(large).convert("L").save(tmp_path / "grey.png")
    list(regard.classify(seeing, [tmp_path / "grey.png"]))
    assert capsys.readouterr().err == f"{tmp_path / 'grey.png'}: 24 × 36 pixels are brought to 8 × 12\n"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nowhere.png", "nowhere.png does not exist: give the path of an image file"),
        (np.zeros((8, 12)), "pixels of shape (8, 12) are no picture: give bytes, (height, width, 1 or 3)"),
    ],
)
def test_what_is_no_picture_is_refused(seeing, given, message):
    with pytest.raises(DataError) as error:
        list(regard.classify(seeing, [given]))
    assert str(error.value) == message


def test_a_run_that_reads_texts_reads_nothing_else(reading, tmp_path):
    with pytest.raises(DataError, match=r"^a ndarray is no text, and this run reads texts: give lines of text$"):
        list(regard.classify(reading, [np.zeros(3)]))
    (tmp_path / "a.txt").write_text("sun\nrain\n")
    assert list(inputs(reading, [str(tmp_path / "a.txt")])) == ["sun", "rain"]
    with pytest.raises(DataError) as caught:
        inputs(reading, [str(tmp_path / "a.txt"), "-"])
    assert str(caught.value) == (
        "- is the lines of stdin, as they come, and stands alone: give it, or files, but not both"
    )


def test_a_long_text_is_cut_and_counted(reading, capsys):
    [found] = regard.classify(reading, ["sun " * 40])
    assert found.labels[0] == "glad"
    assert capsys.readouterr().err == "of 1 texts only the first 8 tokens are read\n"


def test_a_run_of_another_kind_says_what_it_is_for(trained):
    with pytest.raises(RunError, match=r"flags paints and does not tell classes apart: try regard generate .*flags$"):
        regard.classify(regard.load(trained["flags"]), ["x"])


def test_the_command_line_answers_lines(trained):
    done = call("classify", trained["moods"], "--top", "2", stdin="sun song\nrain\n")
    first, second = done.stdout.splitlines()
    assert [first.split("\t")[0].split()[0], first.split("\t")[-1]] == ["glad", "sun song"]
    assert second.startswith("sad ")


def test_the_command_line_tells_of_pictures(trained, tmp_path):
    Image.fromarray(stripes.stripes(1, seed=8).pixels[0]).save(tmp_path / "a.png")
    done = RUNNER.invoke(app, ["classify", str(trained["stripes"]), str(tmp_path / "a.png"), "--json"])
    assert set(json.loads(done.stdout)) == {"given", "labels", "probabilities"}
    done = RUNNER.invoke(app, ["classify", str(trained["stripes"])])
    assert str(done.exception) == "this run reads pictures, and stdin has lines of text: give image files"


def test_evaluate_tells_accuracy_and_the_table_of_mistakes(trained, tmp_path):
    (tmp_path / "test.tsv").write_text("sun song\tglad\nrain tears\tsad\nrain rain\tglad\n")
    done = RUNNER.invoke(app, ["evaluate", str(trained["moods"]), str(tmp_path / "test.tsv"), "--json"])
    assert json.loads(done.stdout)["confusion"] == [
        [1, 1],
        [0, 1],
    ]
    done = RUNNER.invoke(app, ["evaluate", str(trained["moods"]), str(tmp_path / "test.tsv"), "--compare", "other"])
    assert done.exit_code == 2
    assert "not with a run that tells classes apart: leave it out." in done.stderr
    held_out = stripes.stripes(40, seed=6)
    np.savez(tmp_path / "test.npz", images=held_out.pixels, labels=np.array(held_out.names)[held_out.labels])
    found = regard.evaluate_classes(regard.load(trained["stripes"]), tmp_path / "test.npz")
    assert found.accuracy > 0.8
    assert found.examples == 40
