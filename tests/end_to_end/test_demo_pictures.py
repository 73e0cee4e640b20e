"""The demos of ViT and DALL-E, cut to a few steps: they run with nothing but the package, and leave what they say."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from regard.data import shapes
from regard.data.shapes.scene import SHAPES
from regard.demos import dalle, vit
from regard.run import load


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    monkeypatch.setattr(vit, "ALONE", {"train": 40, "valid": 20, "unseen": 25})
    monkeypatch.setattr(vit, "MANY", {"steps": 3, "validate_every": 3})
    monkeypatch.setattr(vit, "FEW", {"steps": 3, "validate_every": 3, "batch_tokens": 512})
    monkeypatch.setattr(dalle, "TRAIN", 40)
    monkeypatch.setattr(dalle, "VALID", 10)
    monkeypatch.setattr(dalle, "ASKED", 6)
    monkeypatch.setitem(dalle.SETTINGS["tokenizer"], "codec_steps", 2)
    monkeypatch.setitem(dalle.SETTINGS["train"], "steps", 3)
    monkeypatch.setitem(dalle.SETTINGS["train"], "warmup", 1)


def test_vit_without_scikit_learn_looks_at_shapes(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)  # as if it were not installed
    findings = vit.demo(tmp_path / "run", on="cpu")
    told = capsys.readouterr().out
    assert told.startswith(
        "scikit-learn, whose digits this demo reads, is not installed: shapes of our own take their place."
    )
    assert f"regard classify {tmp_path / 'run'} {tmp_path / 'run' / 'one.png'} --top 3" in told
    assert json.loads((tmp_path / "run" / "demo.json").read_text())["test"]["examples"] == findings.test.examples == 25
    assert (tmp_path / "run" / "pictures.png").is_file()
    assert load(tmp_path / "run").settings.data.labels == SHAPES


def test_vit_looks_at_digits_where_they_are(tmp_path, capsys):
    pytest.importorskip("sklearn", reason="this machine has no scikit-learn")
    assert vit.demo(tmp_path / "run", on="cpu").what == "handwritten digits of 8 × 8 pixels"


def test_what_the_shapes_are_tested_on_was_never_shown():
    train, test = (vit.by_shape(shapes.alone(part, 30, seed=1)) for part in ("train", "unseen"))
    assert len(train) == len(test) == 30
    for picture, label in zip(test.pixels, np.array(test.names)[test.labels], strict=True):
        [seen] = shapes.read(picture)
        assert seen.thing.shape == label
        assert seen.thing.kind in shapes.HELD_OUT


def test_dalle_paints_and_is_judged(tmp_path, capsys):
    findings = dalle.demo(tmp_path / "run", on="cpu")
    told = capsys.readouterr().out
    assert "Never among them: black squares, blue crosses," in told
    assert f"regard generate {tmp_path / 'run'} 'a large red circle' --out circle.png --n 9" in told
    assert json.loads((tmp_path / "run" / "demo.json").read_text())["unseen"] == findings.unseen
    for name in ("codes.png", "seen.png", "unseen.png", "painted.png"):
        assert (tmp_path / "run" / name).is_file()


def test_a_picture_as_it_was_drawn_is_painted_right():
    drawn = shapes.alone("unseen", 8, seed=3)
    assert dalle.share(drawn.captions, drawn.pixels) == 1.0
    assert dalle.share(drawn.captions, 255 - drawn.pixels) == 0.0
