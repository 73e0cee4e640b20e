"""Other pictures of the same: what may change does, and nothing else."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from regard.data.augment import erased, flipped, shifted

PIXELS = np.random.default_rng(5).integers(0, 256, (400, 7, 9, 3), dtype=np.uint8)
WAYS = {"shifted": partial(shifted, most=2), "flipped": flipped, "erased": partial(erased, side=4)}


def random() -> np.random.Generator:
    return np.random.default_rng(6)


@pytest.mark.parametrize("way", WAYS)
def test_the_same_seed_gives_the_same_and_what_was_given_stays(way: str):
    before = PIXELS.copy()
    changed = WAYS[way](PIXELS, random=random())
    np.testing.assert_array_equal(PIXELS, before)
    np.testing.assert_array_equal(changed, WAYS[way](PIXELS, random=random()))
    assert changed.shape == PIXELS.shape
    assert changed.dtype == np.uint8
    assert (changed != PIXELS).any()


def test_a_shift_moves_the_whole_picture_and_repeats_its_edge():
    found = set()
    padded = np.pad(PIXELS, ((0, 0), (2, 2), (2, 2), (0, 0)), mode="edge")
    for picture, wide in zip(shifted(PIXELS, 2, random()), padded, strict=True):
        ways = [(y, x) for y in range(5) for x in range(5) if (picture == wide[y : y + 7, x : x + 9]).all()]
        assert len(ways) == 1
        found.update(ways)
    assert len(found) == 25, "each of the 5 · 5 shifts happens"


def test_half_of_the_pictures_are_mirrored():
    changed = flipped(PIXELS, random())
    mirrored = [(picture == given[:, ::-1]).all() for picture, given in zip(changed, PIXELS, strict=True)]
    same = [(picture == given).all() for picture, given in zip(changed, PIXELS, strict=True)]
    assert all(a != b for a, b in zip(mirrored, same, strict=True))
    assert 150 < sum(mirrored) < 250


def test_a_square_is_erased_and_the_rest_stays():
    blank = np.zeros_like(PIXELS)
    rows, columns = [], []
    for picture in erased(blank, 3, random()):
        y, x = np.nonzero(picture.any(-1))
        rows.append(np.ptp(y) + 1)
        columns.append(np.ptp(x) + 1)
        assert len(y) <= 9
    assert set(rows) == set(columns) == {2, 3}, "at the edge only two thirds of it are on the picture"
