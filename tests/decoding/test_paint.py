"""The verb generate for runs that paint: captions in, pictures out, the same ones however they are drawn."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

import regard
import stripes
from regard.cli import app
from regard.decoding.paint import framed, paint_each, text_ids
from regard.errors import ConfigError, DataError, RunError
from regard.insight.painted import save_painted

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def painter(trained):
    return regard.load(trained["flags"])


def test_it_paints_what_a_caption_says(painter):
    for above in stripes.COLOURS:
        for below in stripes.COLOURS:
            [found] = regard.paint(painter, f"{above} over {below}", temperature=0.3)
            assert abs(found.pixels.astype(int) - stripes.flag(above, below)).mean() < 30


def test_with_the_cache_and_without_alone_and_together_the_same_pictures_are_drawn(painter):
    captions = ["red over blue", "green over red", "blue over blue"]
    together = paint_each(painter, captions, [2, 0, 1], temperature=1.5)
    for number, caption, found in zip([2, 0, 1], captions, together, strict=True):
        plain = regard.paint(painter, caption, n=number + 1, cached=False, temperature=1.5)[-1]
        assert found.codes == plain.codes
        assert found.log_probability == pytest.approx(plain.log_probability, abs=1e-4)
        assert (found.pixels == plain.pixels).all()


def test_the_log_probability_is_that_of_the_codes_when_they_are_read(painter):
    """Of patterns or of colours alone, by turns: what the network gives to all else is shared out among them."""
    [found] = regard.paint(painter, "red over green")
    text, words = text_ids(painter, "red over green"), painter.model.config.text_vocabulary
    ids = torch.tensor([[*text, *(code + words for code in found.codes)]])
    with torch.no_grad():
        logits = painter.model(ids[:, :-1])[0, len(text) - 1 :, words:]
    patterns = painter.tokenizers["image"].config.codes
    logits[::2, patterns:] = logits[1::2, :patterns] = -torch.inf
    each = logits.log_softmax(-1).gather(1, torch.tensor(found.codes).unsqueeze(1))
    assert found.log_probability == pytest.approx(each.sum().item(), abs=1e-4)


def test_guidance_weighs_what_a_caption_says_against_none(painter):
    """The likeliest code at each place, by hand: both passes over all that is there, and no cache."""
    caption, words = "green over blue", painter.model.config.text_vocabulary
    text = text_ids(painter, caption)
    codes: list[int] = []
    while len(codes) < 12:
        kind = [id + words for id in painter.tokenizers["image"].kind(len(codes))]
        rows = torch.tensor([[*start, *codes] for start in (text, framed([], len(text)))])
        with torch.no_grad():
            said, unsaid = painter.model(rows)[:, -1].log_softmax(-1)[:, kind]
        codes.append(kind[int((unsaid + 3.5 * (said - unsaid)).argmax())])
    for cached in (True, False):
        [found] = regard.paint(painter, caption, cached=cached, guidance=3.5, top_k=1)
        assert [code + words for code in found.codes] == codes


def test_guidance_needs_pictures_that_nothing_was_said_of(painter):
    train = painter.settings.train.model_copy(update={"unsaid": 0.0})
    never = replace(painter, settings=painter.settings.model_copy(update={"train": train}))
    with pytest.raises(ConfigError, match=r"^guidance=2 compares with pictures of no caption, and this run was shown"):
        regard.paint(never, "red over blue", guidance=2.0)
    assert regard.paint(never, "red over blue")[0].codes == regard.paint(painter, "red over blue")[0].codes


def test_another_seed_is_another_picture(painter):
    drawn = {seed: regard.paint(painter, "red over blue", seed=seed, temperature=50)[0].codes for seed in (1, 2)}
    assert drawn[1] != drawn[2]
    assert regard.paint(painter, "red over blue", seed=1, temperature=50)[0].codes == drawn[1]


def test_a_caption_that_stands_there_twice_gets_the_next_picture(painter):
    twice = paint_each(painter, ["red over blue", "blue over red", "red over blue"], temperature=50)
    assert [each.codes for each in twice[::2]] == [
        each.codes for each in regard.paint(painter, "red over blue", n=2, temperature=50)
    ]


def test_a_text_is_framed_and_padded_to_its_length():
    assert framed([7, 8], 6) == [2, 7, 8, 3, 0, 0]
    assert framed([7, 8, 9, 9, 9], 5) == [2, 7, 8, 9, 3]


@pytest.mark.parametrize(
    ("caption", "message"),
    [
        (" ", "^the caption is empty: say what to paint$"),
        (
            "red over blue over red",
            r"^the caption 'red over blue over red' has \d+ tokens and this run reads at most \d+: ",
        ),
    ],
)
def test_a_caption_that_cannot_be_read_is_refused(painter, caption, message):
    with pytest.raises(DataError, match=message):
        regard.paint(painter, caption)


def test_a_run_that_does_not_paint_says_so(trained):
    with pytest.raises(
        RunError, match=r"stripes tells classes apart and does not paint: try regard classify .*stripes$"
    ):
        regard.paint(regard.load(trained["stripes"]), "red over blue")
    with pytest.raises(ConfigError, match=r"^n=0 should be at least 1$"):
        regard.paint(regard.load(trained["flags"]), "red over blue", n=0)


def test_one_picture_is_written_pixel_for_pixel_and_several_as_a_grid(trained, painter, tmp_path):
    done = RUNNER.invoke(app, ["generate", str(trained["flags"]), "red over blue", "--out", str(tmp_path / "one.png")])
    assert done.stdout == f"{tmp_path / 'one.png'}\n"
    with Image.open(tmp_path / "one.png") as one:
        assert (np.asarray(one) == regard.paint(painter, "red over blue")[0].pixels).all()
    save_painted(regard.paint(painter, "red over blue", n=4), tmp_path / "new" / "four.png")
    with Image.open(tmp_path / "new" / "four.png") as grid:
        assert min(grid.size) > 300


def test_a_name_that_is_no_picture_is_refused_before_one_is_painted(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(regard, "paint", lambda *given, **how: pytest.fail("it was painted"))
    done = RUNNER.invoke(app, ["generate", str(trained["flags"]), "red over blue", "--out", str(tmp_path / "x.jpg")])
    assert str(done.exception) == (
        f"{tmp_path / 'x.jpg'} does not end in .png, as a picture here does: write, say, --out picture.png"
    )


def test_where_a_picture_cannot_be_written_is_said(trained, painter, tmp_path):
    found = regard.paint(painter, "red over blue")
    with pytest.raises(ConfigError, match=r"x\.jpg does not end in \.png, as a picture here does"):
        save_painted(found, tmp_path / "x.jpg")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"file/x\.png cannot be written: .*; choose another --out$"):
        save_painted(found, tmp_path / "file" / "x.png")
    done = RUNNER.invoke(app, ["generate", str(trained["flags"]), "red"])
    assert done.exit_code == 2
    assert "paints: say where to, as in --out picture.png." in " ".join(done.stderr.split())
    for idle in (["--tokens", "9"], ["--beam", "1"], ["--set", "beam=1"], ["--json"]):
        done = RUNNER.invoke(app, ["generate", str(trained["flags"]), "red", "--out", str(tmp_path / "x.png"), *idle])
        assert done.exit_code == 2
        assert "goes with a run that writes text, not with a run that paints: leave it out." in done.stderr
    assert json.loads((trained["flags"] / "config.json").read_text())["model"]["grid"] == [2, 6]
