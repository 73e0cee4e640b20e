"""The task match: each caption is told from those of the other pictures, and found again."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import regard
import stripes
from regard.config import Settings, validate
from regard.data.labelled import Parts
from regard.data.pictures import Pictures
from regard.errors import ConfigError, DataError
from regard.training.likeness import Telling, collate_matched, encode, find
from regard.training.tasks.matching import Matching
from regard.training.train import train_into

FLAGS = [(above, below) for above in stripes.COLOURS for below in stripes.COLOURS]
EVERY = Pictures(
    np.stack([stripes.flag(*each) for each in FLAGS]), captions=tuple(f"{above} over {below}" for above, below in FLAGS)
)


@pytest.fixture(scope="module")
def judge(trained):
    return regard.load(trained["judge"])


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_loss_asks_both_ways_and_takes_the_same_caption_for_right(judge, smoothing: float):
    pictures = Pictures(EVERY.pixels[[0, 4, 4, 7]], captions=tuple(EVERY.captions[i] for i in (0, 4, 4, 7)))
    batch = collate_matched(encode(judge, pictures))
    loss = Telling(smoothing).loss(judge.model, batch)
    logits = judge.model(batch.pictures, batch.ids, batch.readable)
    right = torch.tensor([[1, 0, 0, 0], [0, 0.5, 0.5, 0], [0, 0.5, 0.5, 0], [0, 0, 0, 1]])
    smooth = (1 - smoothing) * right + smoothing / 4
    both = -(smooth * logits.log_softmax(1)).sum() - (smooth * logits.log_softmax(0)).sum()
    torch.testing.assert_close(loss.total, both / 2)
    torch.testing.assert_close(loss.surprise, -(right * logits.log_softmax(1)).sum())
    assert loss.tokens == batch.tokens == 4


def test_a_batch_is_not_cut_since_each_is_told_from_all_others(judge):
    batch = collate_matched(encode(judge, EVERY))
    assert batch.cut(3) == [batch]


def test_a_batch_takes_captions_as_they_come_and_not_of_one_length_each(judge):
    told = Pictures(EVERY.pixels[:2], captions=("red", "red over red over red"))
    short, long = encode(judge, told)
    assert short.size < long.size
    assert short.likeness == long.likeness


def test_it_finds_the_caption_of_each_flag(judge):
    found = find(judge, EVERY)
    assert (found.accuracy, found.pictures, found.among) == (1.0, 9, 9)
    assert found.loss < 0.1


def test_what_is_found_is_counted_as_by_hand(judge):
    """With some captions exchanged, and several pictures of one caption."""
    captions = tuple(EVERY.captions[i] for i in (1, 0, 2, 3, 4, 5, 6, 7, 8, 2))
    pictures = Pictures(np.concatenate([EVERY.pixels, EVERY.pixels[2:3]]), captions=captions)
    found = find(judge, pictures)
    batch = collate_matched(encode(judge, EVERY))
    with torch.no_grad():
        logits = judge.model(batch.pictures, batch.ids, batch.readable)[[*range(9), 2]]
    labels = torch.tensor([1, 0, 2, 3, 4, 5, 6, 7, 8, 2])
    assert found.accuracy == pytest.approx((logits.argmax(1) == labels).float().mean().item()) == 0.8
    assert found.loss == pytest.approx(F.cross_entropy(logits, labels).item(), rel=1e-4)
    assert (found.pictures, found.among) == (10, 9)


def test_the_card_and_the_metrics_tell_how_often(trained):
    card = (trained["judge"] / "README.md").read_text()
    assert "tells which caption goes with a picture" in card
    assert "caption found for 100.00 %" in card
    last = json.loads((trained["judge"] / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["valid_accuracy"] == 1.0


def test_it_keeps_captions_to_choose_from(judge):
    kept = judge.settings.data.labels
    assert 1 < len(kept) == len(set(kept)) <= 9
    assert set(kept) <= set(EVERY.captions)


def test_held_out_pictures_of_another_size_are_judged(judge, tmp_path):
    larger = EVERY.pixels.repeat(2, axis=1).repeat(2, axis=2)
    np.savez(tmp_path / "flags.npz", images=larger, captions=np.array(EVERY.captions))
    found = regard.evaluate_matches(judge, tmp_path / "flags.npz")
    assert (found.accuracy, found.pictures) == (1.0, 9)
    assert "caption found for 100.00 % of 9 pictures, each among 9 different ones" in str(found)


def test_pictures_without_captions_are_refused(judge, tmp_path):
    np.savez(tmp_path / "bare.npz", images=EVERY.pixels)
    with pytest.raises(DataError, match=r"bare\.npz has pictures without captions"):
        regard.evaluate_matches(judge, tmp_path / "bare.npz")
    settings = {"data": {"pictures": str(tmp_path / "bare.npz")}, "model": {"family": "clip"}}
    with pytest.raises(DataError, match=r"bare\.npz has pictures without captions"):
        regard.train(settings, tmp_path / "out", on="cpu")


def test_what_would_make_a_caption_untrue_is_refused(tmp_path):
    settings = stripes.judge_settings()
    flipped = settings.model_copy(update={"data": settings.data.model_copy(update={"flip": True})})
    with pytest.raises(ConfigError, match=r"data\.flip=True means nothing to the task match"):
        train_into(tmp_path / "out", flipped, stripes.parts(stripes.flags), on="cpu")


def test_a_network_is_chosen_that_suits_the_pictures():
    chosen = Matching.suit(validate(Settings, {"model": {"family": "clip"}}, "test"), Parts(EVERY, EVERY), None)
    assert chosen.model.model_dump(include={"picture", "patch"}) == {"picture": (8, 12), "patch": 2}
    asked = validate(Settings, {"model": {"family": "clip", "patch": 4, "width": 20, "heads": 4}}, "test")
    assert Matching.suit(asked, Parts(EVERY, EVERY), None).model.width == 20


def test_the_same_seed_is_the_same_run(tmp_path):
    shorter = stripes.judge_settings(steps=12, warmup=2, validate_every=6)
    for name in ("one", "two"):
        train_into(tmp_path / name, shorter, stripes.parts(stripes.flags), on="cpu")
    one, two = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two
