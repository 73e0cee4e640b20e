"""Pictures ⇄ ids: learned again the same, kept on disk, and good enough to read what was drawn."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.data import shapes
from regard.errors import ConfigError, DataError, RunError
from regard.tokens.image import CodecConfig, ImageTokenizer, in_colour, to_pixels, to_tensor


@pytest.fixture(scope="module")
def tokenizer() -> ImageTokenizer:
    torch.set_num_threads(1)
    return ImageTokenizer.learn(shapes.pictures("train", 1000).pixels, steps=40)


def test_what_was_drawn_can_be_read_after_encoding_and_decoding(tokenizer):
    """After a few seconds of learning; benchmarks/codec.py measures a whole training."""
    for split in ("test", "unseen"):  # kinds of things that were shown, and kinds that were not
        held_out = shapes.pictures(split, 100)
        again = tokenizer.decode(tokenizer.encode(held_out.pixels))
        assert again.shape == held_out.pixels.shape
        assert again.dtype == np.uint8
        assert sum(map(shapes.drawn_right, held_out.captions, again)) >= 97


def test_learning_helps():
    """More than the codes by themselves, which is what no step of training leaves."""
    train, held_out = shapes.pictures("train", 500).pixels, shapes.pictures("test", 60).pixels
    errors = []
    for steps in (1, 100):
        tokenizer = ImageTokenizer.learn(train, codes=24, colours=16, hidden=32, steps=steps)
        errors.append(np.square(tokenizer.decode(tokenizer.encode(held_out)) - held_out.astype(float)).mean())
    assert errors[1] < 0.8 * errors[0]


def test_the_same_seed_learns_the_same_and_leaves_torch_s_chance_alone():
    pictures = shapes.pictures("train", 60).pixels
    before = torch.get_rng_state()
    learned, losses = [], []
    for seed in (1, 1, 2):
        losses.append([])
        report = partial(lambda said, step, loss: said.append((step, loss)), losses[-1])
        learned.append(
            ImageTokenizer.learn(pictures, codes=30, colours=7, hidden=8, steps=4, batch=5, seed=seed, report=report)
        )
    assert torch.equal(before, torch.get_rng_state())
    first, same, other = (each.codec.state_dict() for each in learned)
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not torch.equal(first["patterns.vectors"], other["patterns.vectors"])
    assert losses[0] == losses[1] != losses[2]
    assert [step for step, _ in losses[0]] == [1, 2, 3, 4]


def test_pictures_of_any_size_and_kind_row_by_row(tmp_path):
    """Grey, 6 × 15 pixels in patches of 3: two rows of five pairs of ids, which is what a file gives back, too."""
    flat = np.arange(10, dtype=np.uint8).reshape(2, 5) * 25
    picture = flat.repeat(3, 0).repeat(3, 1)[None, ..., None]
    tokenizer = ImageTokenizer.learn(picture, patch=3, codes=4, colours=10, hidden=4, steps=0)
    ids = tokenizer.encode(picture)
    assert ids.shape == (1, 20)
    assert len(tokenizer) == 14
    assert (ids[0, 0::2].unique().numel(), ids[0, 1::2].unique().numel()) == (1, 10)
    assert all(id in tokenizer.kind(place) for place, id in enumerate(ids[0].tolist()))
    assert sorted({*tokenizer.kind(0), *tokenizer.kind(1)}) == [*range(14)]
    np.testing.assert_array_equal(tokenizer.decode(ids), picture)
    tokenizer.save(tmp_path / "run")
    loaded = ImageTokenizer.load(tmp_path / "run")
    assert loaded.grid == (2, 10)
    assert torch.equal(loaded.encode(picture), ids)
    np.testing.assert_array_equal(loaded.decode(ids), picture)


def test_many_pictures_are_as_each_alone(tokenizer):
    pictures = shapes.pictures("valid", 300).pixels  # more than are taken at a time
    ids = tokenizer.encode(pictures)
    assert torch.equal(ids[270], tokenizer.encode(pictures[270:271])[0])
    assert np.abs(tokenizer.decode(ids)[270].astype(int) - tokenizer.decode(ids[270:271])[0]).max() <= 1
    assert tokenizer.encode(pictures[:0]).shape == (0, 128)
    assert tokenizer.decode(ids[:0]).shape == (0, 32, 32, 3)


def test_a_saved_tokenizer_is_the_same(tokenizer, tmp_path):
    pictures = shapes.pictures("valid", 20).pixels
    tokenizer.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["codec.json", "codec.safetensors"]
    assert torch.equal(ImageTokenizer.load(tmp_path).encode(pictures), tokenizer.encode(pictures))


def test_every_byte_survives_the_way_to_numbers_and_back():
    pixels = np.arange(256, dtype=np.uint8).reshape(1, 8, 16, 2)
    numbers = to_tensor(pixels)
    assert numbers.shape == (1, 2, 8, 16)
    assert (numbers.min(), numbers.max()) == (-1, 1)
    np.testing.assert_array_equal(to_pixels(numbers), pixels)
    assert to_pixels(torch.tensor([-7.0, 7.0]).view(1, 1, 1, 2)).ravel().tolist() == [0, 255]


def test_grey_is_grey_in_colour_too_and_colours_are_seen_as_grey():
    colour = np.array([[[[255, 0, 0], [0, 255, 0], [255, 255, 255]]]], dtype=np.uint8)
    grey = in_colour(colour, 1)
    assert grey.tolist() == [[[[76], [150], [255]]]]
    assert in_colour(grey, 3).tolist() == [[[[76] * 3, [150] * 3, [255] * 3]]]
    assert in_colour(colour, 3) is colour


def test_a_codebook_of_colours_reads_grey_pictures(tokenizer):
    grey = shapes.pictures("test", 3).pixels[..., :1]
    assert torch.equal(tokenizer.encode(grey), tokenizer.encode(grey.repeat(3, axis=-1)))


def test_pictures_that_do_not_fit_are_told(tokenizer):
    with pytest.raises(DataError, match="the pictures are 28 × 28 × 1 and the codebook was learned from 32 × 32 × 3: "):
        tokenizer.encode(np.zeros((2, 28, 28, 1), np.uint8))
    with pytest.raises(ConfigError, match="pictures of 30 × 32 pixels do not split into patches of 4: resize them, or"):
        ImageTokenizer.learn(np.zeros((2, 30, 32, 3), np.uint8))
    with pytest.raises(DataError, match="there is no picture to learn a codebook from: the corpus is empty"):
        ImageTokenizer.learn(np.zeros((0, 32, 32, 3), np.uint8))


def spoil(folder: Path, **changed) -> None:
    path = folder / "codec.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda run: (run / "codec.json").unlink(),
            "codec.json does not exist: a run that paints keeps its codec there",
        ),
        (lambda run: (run / "codec.safetensors").unlink(), "codec.safetensors does not exist: a run that paints"),
        (lambda run: (run / "codec.json").write_text("{"), "has a codec.json or codec.safetensors that is damaged"),
        (lambda run: (run / "codec.safetensors").write_bytes(b"x" * 50), "has a codec.json or codec.safetensors that"),
        (
            lambda run: spoil(run, codes=2**31 - 1),
            "codec.safetensors does not hold the codec that codec.json describes",
        ),
        (lambda run: spoil(run, height=7), "has a codec.json or codec.safetensors that is damaged: copy the run again"),
        (lambda run: spoil(run, code="import os"), "has a codec.json or codec.safetensors that is damaged"),
    ],
)
def test_a_damaged_run_is_told(tmp_path, damage, message):
    ImageTokenizer(CodecConfig(height=8, width=6, channels=1, patch=2, codes=5, colours=4, hidden=3)).save(tmp_path)
    damage(tmp_path)
    with pytest.raises(RunError, match=re.escape(message)):
        ImageTokenizer.load(tmp_path)
