"""Pictures from files: one type from every kind of corpus, and a sentence for what is wrong with it."""

from __future__ import annotations

import gzip
import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.config import DataConfig, override
from regard.data.image import read_picture
from regard.data.pictures import Pictures, digits, read_captioned, read_idx, read_npz, read_pictures, split
from regard.errors import DataError

RANDOM = np.random.default_rng(4)


def pixels(*shape: int) -> np.ndarray:
    return RANDOM.integers(0, 256, shape, dtype=np.uint8)


def save(path: Path, array: np.ndarray) -> np.ndarray:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array).save(path)
    return array


def idx(path: Path, array: np.ndarray) -> None:
    data = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


# ------------------------------------------------------------------------------------------------ folders of classes


def test_a_folder_of_classes(tmp_path):
    made = {
        name: save(tmp_path / name, pixels(5, 7, 3))
        for name in ("dog/a.png", "cat/z.PNG", "cat/deep/b.bmp", "dog/b.png")
    }
    (tmp_path / "dog" / "notes.txt").write_text("no picture")
    (tmp_path / ".hidden").mkdir()
    found = read_pictures(tmp_path)
    assert found.names == ("cat", "dog")
    assert found.labels is not None
    assert found.labels.tolist() == [0, 0, 1, 1]
    expected = [made[name] for name in ("cat/deep/b.bmp", "cat/z.PNG", "dog/a.png", "dog/b.png")]
    np.testing.assert_array_equal(found.pixels, np.stack(expected))
    assert len(found) == 4


def test_one_picture_in_colour_makes_all_so(tmp_path):
    grey, colour = save(tmp_path / "a" / "1.png", pixels(4, 6)), save(tmp_path / "b" / "1.png", pixels(4, 6, 3))
    found = read_pictures(tmp_path).pixels
    np.testing.assert_array_equal(found, np.stack([np.stack([grey] * 3, -1), colour]))
    (tmp_path / "b" / "1.png").unlink()
    save(tmp_path / "b" / "1.png", pixels(4, 6))
    assert read_pictures(tmp_path).pixels.shape == (2, 4, 6, 1)


def test_sizes_that_differ_are_told_or_brought_to_one(tmp_path):
    save(tmp_path / "a" / "1.png", pixels(4, 6, 3))
    save(tmp_path / "b" / "2.png", pixels(8, 5, 3))
    with pytest.raises(DataError) as caught:
        read_pictures(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/b/2.png has 8 × 5 pixels and {tmp_path}/a/1.png has 4 × 6: bring all to one size, as with --set "
        "data.picture_size=[32,32]"
    )
    assert DataConfig.model_validate(override({}, ["data.picture_size=[3,2]"])["data"]).picture_size == (3, 2)
    assert read_pictures(tmp_path, size=(3, 2)).pixels.shape == (2, 3, 2, 3)


def test_of_sizes_that_differ_no_more_is_read_than_it_takes_to_tell(tmp_path):
    for name, height in (("a/1.png", 4), ("a/2.png", 5), ("b/3.png", 4)):
        save(tmp_path / name, pixels(height, 6, 3))
    (tmp_path / "b" / "3.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"a/2\.png has 5 × 6 pixels and "):
        read_pictures(tmp_path)


def test_resizing_cuts_and_does_not_squeeze(tmp_path):
    """Of a wide picture in three stripes the middle one is kept."""
    stripes = np.repeat(np.array([[0, 128, 255]], np.uint8), 12, axis=1).repeat(12, axis=0)
    save(tmp_path / "x.png", stripes)
    found = read_picture(tmp_path / "x.png", size=(4, 4))
    assert found.shape == (4, 4, 1)
    assert (abs(found[:, 1:3].astype(int) - 128) < 8).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: None, "{folder} has no subfolders: make one for each class, with its pictures in it"),
        (
            lambda folder: (folder / "cat").mkdir(),
            "{folder}/cat has no pictures: put some there, or remove it; .bmp, .gif",
        ),
        (
            lambda folder: ((folder / "cat").mkdir(), (folder / "cat" / "a.png").write_bytes(b"no image")),
            "{folder}/cat/a.png is not an image that can be read: save it as .png or .jpg",
        ),
    ],
)
def test_what_is_wrong_with_a_folder_is_told(tmp_path, make, message):
    make(tmp_path)
    with pytest.raises(DataError, match=re.escape(message.format(folder=tmp_path))):
        read_pictures(tmp_path)


# ------------------------------------------------------------------------------------------------------- image files


def test_what_is_transparent_lies_on_white(tmp_path):
    array = np.zeros((2, 3, 4), np.uint8)
    array[0, :, 3] = 255
    save(tmp_path / "x.png", array)
    assert read_picture(tmp_path / "x.png")[:, 0, 0].tolist() == [0, 255]


def test_grey_that_is_transparent_stays_grey(tmp_path):
    grey = np.stack([np.array([[0, 100, 200]], np.uint8), np.array([[255, 255, 51]], np.uint8)], -1)
    Image.fromarray(grey).save(tmp_path / "alpha.png")
    Image.fromarray(grey[..., 0]).save(tmp_path / "marked.png", transparency=100)
    assert read_picture(tmp_path / "alpha.png").tolist() == [[[0], [100], [244]]], "a fifth of 200, the rest white"
    assert read_picture(tmp_path / "marked.png").tolist() == [[[0], [255], [200]]]


def test_deep_grey_palettes_and_cameras_held_askew(tmp_path):
    deep = np.array([[0, 65535, 256]], np.uint16)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    assert read_picture(tmp_path / "deep.png").ravel().tolist() == [0, 255, 1]
    Image.fromarray(pixels(4, 5, 3)).convert("P").save(tmp_path / "palette.gif")
    assert read_picture(tmp_path / "palette.gif").shape == (4, 5, 3)
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    Image.fromarray(pixels(4, 5, 3)).save(tmp_path / "turned.jpg", exif=exif)
    assert read_picture(tmp_path / "turned.jpg").shape == (5, 4, 3)


def test_what_is_wrong_with_an_image_file_is_told(tmp_path, monkeypatch):
    path = tmp_path / "x.png"
    with pytest.raises(DataError, match=re.escape(f"{path} does not exist: give the path of an image file")):
        read_picture(path)
    save(path, pixels(40, 50, 3))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=re.escape(f"{path} cannot be read as an image, ")):
        read_picture(path)
    path.write_bytes(whole)
    for limit in (1500, 500):  # Pillow warns of twice that, and refuses more
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        with pytest.raises(DataError, match=re.escape(f"{path} has more than {limit:,} pixels: make it smaller")):
            read_picture(path)


# ---------------------------------------------------------------------------------------------------------- captions


def test_a_table_of_captions(tmp_path):
    made = [save(tmp_path / "art" / name, pixels(4, 6, 3)) for name in ("b.png", "a.png")]
    (tmp_path / "x.tsv").write_text("art/b.png\ta red circle\nart/a.png\ttwo\tthree\n")
    found = read_pictures(tmp_path / "x.tsv")
    assert found.captions == ("a red circle", "two\tthree")
    assert found.labels is None
    np.testing.assert_array_equal(found.pixels, np.stack(made))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty: give a file with path, tab, caption on each line"),
        ("a.png", ", line 1: there is no tab: write path, tab, caption on each line"),
        ("a.png\t ", ", line 1: there is no caption after the tab: write one, or remove the line"),
        ("a.png\tx", "a.png does not exist: give the path of an image file"),
    ],
)
def test_what_is_wrong_with_a_table_is_told(tmp_path, text, message):
    (tmp_path / "x.tsv").write_text(text)
    with pytest.raises(DataError, match=re.escape(message)):
        read_captioned(tmp_path / "x.tsv")


# ------------------------------------------------------------------------------------------------------------ arrays


def test_arrays_with_labels_captions_or_neither(tmp_path):
    images = pixels(4, 5, 6, 3)
    np.savez(tmp_path / "x.npz", x=images, y=np.array(["dog", "cat", "dog", "eel"]), captions=np.array(list("abcd")))
    found = read_pictures(tmp_path / "x.npz")
    assert found.names == ("cat", "dog", "eel")
    assert found.labels is not None
    assert found.labels.tolist() == [1, 0, 1, 2]
    assert found.captions == ("a", "b", "c", "d")
    np.testing.assert_array_equal(found.pixels, images)
    np.savez(tmp_path / "y.npz", images=images[..., 0] / 255)
    np.testing.assert_array_equal(read_npz(tmp_path / "y.npz").pixels, images[..., :1])
    assert read_npz(tmp_path / "y.npz", size=(3, 7)).pixels.shape == (4, 3, 7, 1)
    (tmp_path / "y.txt").write_text("one\ntwo\nthree\nfour\n")
    assert read_npz(tmp_path / "y.npz").captions == ("one", "two", "three", "four")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"pictures": pixels(2, 3, 3)}, "has the arrays pictures and none called images or x: name it so"),
        ({"x": pixels(2, 3, 3, 4)}, "has images of shape (2, 3, 3, 4): give (count, height, width) for grey ones or"),
        ({"x": pixels(0, 3, 3)}, "has images of shape (0, 3, 3, 1): give"),
        ({"x": np.full((2, 3, 3), 300)}, "has images beyond 0 … 255, or fractions beyond 0 … 1: scale them so"),
        ({"x": np.full((2, 3, 3), 1.5)}, "has images beyond 0 … 255, or fractions beyond 0 … 1: scale them so"),
        ({"x": np.full((2, 3, 3), "a")}, "has images beyond 0 … 255, or fractions beyond 0 … 1: scale them so"),
        ({"x": pixels(2, 3, 3), "y": np.arange(3)}, "has 3 labels for 2 pictures: give one for each"),
        ({"x": pixels(2, 3, 3), "captions": np.array(["a"])}, "has 1 captions for 2 pictures: give one for each"),
        (
            {"x": pixels(2, 3, 3), "y": np.array([{}, {}])},
            "holds pickled objects, which could run code: save plain arrays",
        ),
    ],
)
def test_what_is_wrong_with_arrays_is_told(tmp_path, arrays, message):
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(DataError, match=re.escape(f"{tmp_path}/x.npz {message}")):
        read_npz(tmp_path / "x.npz")


def test_a_damaged_or_oversized_npz_is_told(tmp_path, monkeypatch):
    path = tmp_path / "x.npz"
    with pytest.raises(DataError, match=re.escape(f"{path} does not exist: give the path of an .npz")):
        read_npz(path)
    np.savez(path, x=pixels(2, 30, 30))
    whole = path.read_bytes()
    path.write_bytes(whole[:500])
    with pytest.raises(DataError, match=re.escape(f"{path} cannot be read as an .npz: save it again with np.savez")):
        read_npz(path)
    path.write_bytes(whole)
    monkeypatch.setattr("regard.data.arrays.LIMIT", 1000)
    with pytest.raises(DataError, match=re.escape(f"{path} holds 1,928 bytes, more than 1,000: split it into smaller")):
        read_npz(path)


# --------------------------------------------------------------------------------------------------------------- IDX


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_idx_files_as_mnist_has_them(tmp_path, suffix):
    images, labels = pixels(6, 4, 5), np.array([7, 3, 3, 9, 7, 3], np.uint8)
    path = tmp_path / f"train-images-idx3-ubyte{suffix}"
    idx(path, images)
    idx(tmp_path / f"train-labels-idx1-ubyte{suffix}", labels)
    found = read_pictures(path)
    np.testing.assert_array_equal(found.pixels, images[..., None])
    assert found.names == ("3", "7", "9")
    assert found.labels is not None
    assert found.labels.tolist() == [1, 0, 0, 2, 1, 0]
    (tmp_path / "classes.txt").write_text("".join(f"name {i}\n" for i in range(10)))
    named = read_idx(path, size=(8, 8))
    assert named.labels is not None
    assert [named.names[label] for label in named.labels] == [f"name {label}" for label in labels]
    assert named.pixels.shape == (6, 8, 8, 1)
    (tmp_path / "classes.txt").write_text("shirt\n")
    with pytest.raises(DataError, match=r"classes\.txt has 1 names and .* goes up to 9: write one name a line"):
        read_idx(path)


def test_what_is_wrong_with_idx_files_is_told(tmp_path, monkeypatch):
    path, beside = tmp_path / "t-images-idx3-ubyte", tmp_path / "t-labels-idx1-ubyte"

    def told(message: str) -> None:
        with pytest.raises(DataError, match=re.escape(message)):
            read_idx(path)

    told(f"{path} does not exist: IDX files come in pairs, images and labels")
    idx(path, pixels(3, 2, 2))
    told(f"{beside} does not exist: IDX files come in pairs, images and labels")
    idx(beside, pixels(4))
    told(f"{path} has 3 pictures but {beside} has 4 labels: give one for each")
    beside.write_bytes(path.read_bytes())
    told(f"{beside} is no IDX file of bytes in 1 dimensions: give one as MNIST has them")
    whole = path.read_bytes()
    for data in (whole[:-1], whole + b"x"):
        path.write_bytes(data)
        told(f"{path} does not hold the 12 bytes that it says it does: fetch it again")
    path.write_bytes(whole[:3])
    told(f"{path} cannot be read, being cut short, damaged or no IDX file: fetch it again")
    path.write_bytes(whole)
    monkeypatch.setattr("regard.data.arrays.LIMIT", 10)
    told(f"{path} says that it holds 12 bytes, more than 10: split it")
    with pytest.raises(DataError, match="is not named as IDX images are: name it like train-images-idx3-ubyte"):
        read_idx(tmp_path / "idx")


def test_a_path_that_is_no_corpus_is_told(tmp_path):
    with pytest.raises(DataError, match="x is no corpus of pictures: give a folder with one subfolder for each"):
        read_pictures(tmp_path / "x")


# ------------------------------------------------------------------------------------------------- digits and splits


def test_the_digits_are_scikit_learn_s():
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed: pip install scikit-learn")
    found = digits()
    assert found.pixels.shape == (1797, 8, 8, 1)
    np.testing.assert_allclose(found.pixels[..., 0] / 255, datasets.load_digits().images / 16, atol=0.002)
    assert found.labels is not None
    assert [found.names[label] for label in found.labels[:10]] == list("0123456789")


def test_without_scikit_learn_there_are_no_digits(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(
        DataError, match="the digits come with scikit-learn, which is not installed: pip install scikit"
    ):
        digits()


def labelled(*counts: int) -> Pictures:
    """Classes of so many pictures each; every picture has a value of its own."""
    labels = np.repeat(np.arange(len(counts)), counts)
    values = np.arange(len(labels), dtype=np.uint8)[:, None, None, None]
    return Pictures(values, labels, tuple("abcdef"[: len(counts)]), tuple(f"no {i}" for i in range(len(labels))))


def test_a_split_has_every_picture_once_and_its_share_of_each_class():
    whole = labelled(40, 10, 3, 2)
    train, valid = split(whole, 0.2, seed=3)
    assert train.labels is not None
    assert valid.labels is not None
    assert np.bincount(valid.labels).tolist() == [8, 2, 1, 1]
    values = [part.pixels.ravel().tolist() for part in (train, valid)]
    assert sorted(values[0] + values[1]) == list(range(55))
    assert values[0] != sorted(values[0]), "shuffled"
    for part in (train, valid):
        assert whole.labels is not None
        assert part.labels is not None
        assert part.captions == tuple(f"no {value}" for value in part.pixels.ravel())
        assert part.labels.tolist() == whole.labels[part.pixels.ravel()].tolist()
        assert part.names == whole.names
    assert split(whole, 0.2, seed=3)[1].captions == valid.captions != split(whole, 0.2, seed=4)[1].captions


def test_a_split_of_pictures_without_classes():
    train, valid = split(Pictures(pixels(20, 2, 3, 1)), 0.25)
    assert (len(train), len(valid)) == (15, 5)
    with pytest.raises(
        DataError, match="there is one picture, which cannot be split in two: give more, or a validation"
    ):
        split(Pictures(pixels(1, 2, 3, 1)), 0.25)
    with pytest.raises(DataError, match="the class 'b' has one picture, which cannot be split in two"):
        split(labelled(5, 1), 0.25)


def test_classes_are_numbered_as_a_model_has_learned_them():
    found = labelled(1, 2, 1).under(["c", "x", "b", "a"])
    assert found.labels is not None
    assert found.labels.tolist() == [3, 2, 2, 0]
    with pytest.raises(DataError, match="the class 'b' is not one of those learned, which are a, c"):
        labelled(1, 2, 1).under(["a", "c"])
    with pytest.raises(DataError, match="the pictures have no classes: put each into the folder of its class"):
        Pictures(pixels(2, 3, 3, 1)).under(["a"])
