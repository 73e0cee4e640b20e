"""The task paint: text and picture as one sequence over one vocabulary, and the loss over both."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import regard
import stripes
from regard.config import Settings, validate
from regard.data.labelled import Parts
from regard.errors import ConfigError, DataError
from regard.training.codes import TextThenPicture, collate_captioned, encode
from regard.training.tasks.painting import Painting
from regard.training.train import train_into


@pytest.fixture(scope="module")
def painter(trained):
    return regard.load(trained["flags"])


def test_codes_are_numbered_after_the_pieces_of_text(painter):
    pictures = stripes.flags(7, seed=3)
    words, config = len(painter.tokenizers["text"]), painter.model.config
    for caption, example in zip(pictures.captions, encode(painter, pictures), strict=True):
        ids = painter.tokenizers["text"].encode(caption)
        assert example.text.tolist()[: len(ids) + 2] == [2, *ids, 3]
        assert len(example.text) == config.text_length
        assert example.codes.shape == (12,)
        assert words <= int(example.codes.min()) <= int(example.codes.max()) < config.vocabulary
    assert (config.text_vocabulary, config.image_vocabulary, config.grid) == (words, 8, (2, 6))


def test_some_pictures_are_shown_without_their_captions_others_in_each_epoch(painter):
    task = Painting(painter, stripes.parts(stripes.flags, 200, 8))
    nothing = [2, 3, *[0] * (painter.model.config.text_length - 2)]
    first, again, second = (task.examples(epoch) for epoch in (1, 1, 2))
    bare = [[each.text.tolist() == nothing for each in examples] for examples in (first, again, second)]
    assert bare[0] == bare[1] != bare[2]
    assert 8 <= sum(bare[0]) <= 34, "a tenth of 200"
    for whole, each, empty in zip(task.captioned, first, bare[0], strict=True):
        assert torch.equal(whole.codes, each.codes)
        assert empty or torch.equal(whole.text, each.text)


def test_the_loss_is_seven_eighths_of_the_codes_and_an_eighth_of_the_text(painter):
    batch = collate_captioned(encode(painter, stripes.flags(5, seed=4)))
    loss, model = TextThenPicture(smoothing=0.0).loss(painter.model, batch), painter.model
    with torch.no_grad():
        whole = torch.cat([batch.text, batch.codes], dim=1)
        logits, length = model(whole[:, :-1]), batch.text.size(1)
        codes = F.cross_entropy(logits[:, length - 1 :].flatten(0, 1), batch.codes.flatten())
        text = F.cross_entropy(logits[:, : length - 1].flatten(0, 1), batch.text[:, 1:].flatten(), ignore_index=0)
    torch.testing.assert_close(loss.total / loss.tokens, 7 / 8 * codes + 1 / 8 * text, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(loss.surprise / loss.tokens, codes, rtol=1e-4, atol=1e-5)
    assert loss.tokens == batch.tokens == 60


def test_the_card_shows_what_it_paints(trained):
    card = (trained["flags"] / "README.md").read_text()
    assert "paints what a caption says" in card
    assert "(painted.png)" in card
    assert (trained["flags"] / "painted.png").is_file()
    assert (trained["flags"] / "image" / "codec.safetensors").is_file()
    last = json.loads((trained["flags"] / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["valid_loss"] < 0.5


def test_saved_and_loaded_it_paints_the_same(painter, tmp_path):
    painter_again = regard.load(painter.folder)
    painter_again.save(tmp_path / "copy")
    one, two = (regard.paint(run, "red over blue")[0] for run in (painter, regard.load(tmp_path / "copy")))
    assert one.codes == two.codes
    assert (one.pixels == two.pixels).all()


def test_a_run_taken_up_again_is_the_run_never_left(tmp_path):
    corpus = stripes.parts(stripes.flags, 40, 8)
    how = {"schedule": "constant", "validate_every": 10}
    whole = train_into(tmp_path / "whole", stripes.flag_settings(steps=20, **how), corpus, on="cpu")
    train_into(tmp_path / "parts", stripes.flag_settings(steps=10, **how), corpus, on="cpu")
    parts = train_into(tmp_path / "parts", stripes.flag_settings(steps=20, **how), corpus, on="cpu", resume=True)
    for mine, other in zip(whole.model.parameters(), parts.model.parameters(), strict=True):
        assert torch.equal(mine, other)


def test_a_bound_of_the_captions_that_none_comes_near_does_not_keep_it_from_being_taken_up(tmp_path):
    corpus, how = stripes.parts(stripes.flags, 20, 4), stripes.flag_settings(steps=5, validate_every=5)

    def of(text_length: int) -> Settings:
        return how.model_copy(update={"model": how.model.model_copy(update={"text_length": text_length})})

    train_into(tmp_path, of(20), corpus, on="cpu")
    assert train_into(tmp_path, of(20), corpus, on="cpu", resume=True).model.config.text_length == 5
    with pytest.raises(ConfigError, match=r"was trained with model\.text_length=5 and cannot be resumed with 4: leave"):
        train_into(tmp_path, of(4), corpus, on="cpu", resume=True)


def test_files_are_read_and_what_is_left_open_suits_them(tmp_path):
    flags = stripes.flags(30, seed=1)
    np.savez(tmp_path / "x.npz", images=flags.pixels, captions=np.array(flags.captions))
    given = {
        "data": {"pictures": str(tmp_path / "x.npz")},
        "tokenizer": {"codes": 6, "codec_steps": 3},
        "model": {"family": "dalle"},
        "train": {"steps": 2, "precision": "float32"},
    }
    run = regard.train(given, tmp_path / "run", on="cpu")
    assert (run.model.config.width, run.model.config.text_length) == (192, 5)
    assert run.settings.train.batch_tokens == 64 * (12 + 16)


def test_captions_longer_than_any_that_was_learned_from_are_cut_and_not_painted(tmp_path, capsys):
    long = replace(stripes.flags(4, seed=2), captions=("red over blue over red over blue",) * 4)
    corpus = Parts(stripes.flags(20, seed=1), long)
    train_into(tmp_path / "run", stripes.flag_settings(steps=2, warmup=1), corpus, on="cpu")
    assert "of 4 captions only the first 3 tokens are read" in capsys.readouterr().err
    assert not (tmp_path / "run" / "painted.png").exists()
    assert "painted.png" not in (tmp_path / "run" / "README.md").read_text()


def test_pictures_without_captions_are_refused(tmp_path):
    np.savez(tmp_path / "x.npz", images=stripes.flags(9, seed=1).pixels)
    given = {"data": {"pictures": str(tmp_path / "x.npz")}, "model": {"family": "dalle"}}
    with pytest.raises(
        DataError, match=r"x\.npz has pictures without captions: give a TSV of path, tab, caption, or an \.npz"
    ):
        Painting.read(validate(Settings, given, "test"))


def test_evaluate_tells_how_well_other_pictures_are_foretold(painter, tmp_path):
    flags = stripes.flags(12, seed=5)
    np.savez(tmp_path / "x.npz", images=flags.pixels, captions=np.array(flags.captions))
    found = regard.evaluate_pictures(painter, tmp_path / "x.npz")
    whole = TextThenPicture().loss(painter.model, collate_captioned(encode(painter, flags)))
    assert found.loss == pytest.approx(float(whole.surprise) / 144, rel=1e-4)
    assert str(found).startswith(f"loss {found.loss:.4f} nats a code, perplexity ")
    mixed = regard.evaluate_pictures(painter, wrong(flags, tmp_path / "y.npz"))
    assert mixed.loss > found.loss + 1, "of another caption, a picture is no picture"


def wrong(flags, path):
    np.savez(path, images=255 - flags.pixels, captions=np.array(flags.captions))
    return path
