"""Labelled texts: what is read, what is refused, and how they and pictures stand in a batch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.config import DataConfig
from regard.data.gallery import read_gallery
from regard.data.labelled import Picture, Text, collate_pictures, collate_texts, read_labelled
from regard.data.pictures import split
from regard.errors import ConfigError, DataError


def written(folder, text: str):
    (folder / "texts.tsv").write_text(text)
    return folder / "texts.tsv"


def test_a_label_is_what_stands_behind_the_last_tab(tmp_path):
    texts = read_labelled(written(tmp_path, "a\tb\tno spam\nc\t spam \nd\tno spam\n"))
    assert texts.texts == ("a\tb", "c", "d")
    assert texts.names == ("no spam", "spam")
    assert texts.labels.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("good\tyes\nbad\n", "{path}, line 2: there is no tab: write text, tab, label on each line"),
        (" \tyes\n", "{path}, line 1: the text or its label is empty: write both, or remove the line"),
        ("good\t \n", "{path}, line 1: the text or its label is empty: write both, or remove the line"),
        ("", "{path} is empty: give a file with text, tab, label on each line"),
    ],
)
def test_what_is_no_labelled_text_is_refused(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(DataError) as refused:
        read_labelled(path)
    assert str(refused.value) == message.format(path=path)


def test_classes_are_numbered_as_a_model_has_learned_them(tmp_path):
    texts = read_labelled(written(tmp_path, "x\tb\ny\ta\n")).under(["c", "b", "a"])
    assert texts.labels.tolist() == [1, 2]
    with pytest.raises(DataError, match=r"^the class 'b' is not one of those learned, which are c, a$"):
        read_labelled(written(tmp_path, "x\tb\n")).under(["c", "a"])


def test_a_part_set_aside_has_every_class_and_nothing_of_the_rest(tmp_path):
    texts = read_labelled(written(tmp_path, "".join(f"text {i}\t{'abc'[i % 3]}\n" for i in range(30))))
    train, valid = split(texts, 0.2, seed=3)
    assert sorted(train.texts + valid.texts) == sorted(texts.texts)
    assert np.bincount(valid.labels).tolist() == [2, 2, 2]
    assert all(
        name == "abc"[int(text.split()[1]) % 3]
        for text, name in zip(valid.texts, np.array(valid.names)[valid.labels], strict=True)
    )


def test_texts_side_by_side_are_padded_and_their_padding_is_not_readable():
    batch = collate_texts([Text([2, 7, 3], 1), Text([2, 8, 9, 9, 3], 0)])
    assert batch.ids.tolist() == [[2, 7, 3, 0, 0], [2, 8, 9, 9, 3]]
    assert batch.readable.tolist() == [[True] * 3 + [False] * 2, [True] * 5]
    assert (batch.tokens, batch.work) == (2, 10)
    assert [part.labels.tolist() for part in batch.cut(2)] == [[1], [0]]


def test_pictures_side_by_side_are_numbers_from_minus_one_to_one():
    grey = np.arange(6, dtype=np.uint8).reshape(2, 3, 1) * 51
    batch = collate_pictures([Picture(grey, 4, 6), Picture(grey, 2, 6)])
    assert batch.pictures.shape == (2, 1, 2, 3)
    torch.testing.assert_close(batch.pictures[1, 0], torch.tensor([[-1, -0.6, -0.2], [0.2, 0.6, 1.0]]))
    assert batch.labels.tolist() == [4, 2]


def test_without_pictures_there_is_nothing_to_train_on():
    with pytest.raises(ConfigError, match=r"^there is nothing to train on: give --pictures and a folder"):
        read_gallery(DataConfig(), seed=1)


def test_shapes_need_no_files_and_their_parts_share_no_caption():
    parts = read_gallery(DataConfig(pictures="shapes"), seed=1)
    assert (len(parts.train), len(parts.valid)) == (20_000, 500)
    assert not set(parts.train.captions) & set(parts.valid.captions)


@pytest.mark.parametrize(
    ("data", "given"),
    [
        (DataConfig(pictures="shapes", picture_size=(16, 24)), "data.picture_size=[16, 24]"),
        (DataConfig(pictures="shapes", valid_pictures="x.npz"), "data.valid_pictures=x.npz"),
    ],
)
def test_what_shapes_have_no_use_for_is_refused(data, given):
    with pytest.raises(ConfigError) as caught:
        read_gallery(data, seed=1)
    assert str(caught.value) == (
        f"{given} means nothing to the shapes, which are drawn at one size, and others to validate with: leave it out"
    )


def test_pictures_of_files_are_brought_to_one_size(tmp_path):
    pixels = np.zeros((12, 10, 6), dtype=np.uint8)
    np.savez(tmp_path / "x.npz", images=pixels, labels=np.arange(12) % 2)
    alone = read_gallery(DataConfig(pictures=str(tmp_path / "x.npz"), picture_size=(5, 3), valid_share=0.3), seed=1)
    assert (alone.train.pixels.shape, alone.valid.pixels.shape) == ((8, 5, 3, 1), (4, 5, 3, 1))
    both = read_gallery(DataConfig(pictures=str(tmp_path / "x.npz"), valid_pictures=str(tmp_path / "x.npz")), seed=1)
    assert (len(both.train), len(both.valid)) == (12, 12)


def test_the_digits_can_be_named():
    pytest.importorskip("sklearn", reason="this machine has no scikit-learn")
    parts = read_gallery(DataConfig(pictures="digits"), seed=1)
    assert parts.train.pixels.shape[1:] == (8, 8, 1)
    assert parts.train.names == tuple("0123456789")
