"""Pictures side by side: each is there, in its place, with its caption."""

from __future__ import annotations

import numpy as np
import pytest

from regard.insight.pictures import grid


@pytest.mark.parametrize("channels", [1, 3])
def test_every_picture_is_in_its_place_in_its_colours(tmp_path, channels):
    pictures = np.arange(5, dtype=np.uint8)[:, None, None, None] * 50 + np.zeros((5, 6, 8, channels), np.uint8)
    figure = grid(pictures, [f"number {i}" for i in range(5)], columns=2, title="Five")
    boxes = [axes.get_position() for axes in figure.axes]
    assert [axes.get_images()[0].get_array().max() for axes in figure.axes] == [0, 50, 100, 150, 200]  # type: ignore[union-attr]
    assert boxes[0].x0 == boxes[2].x0 == boxes[4].x0 < boxes[1].x0 == boxes[3].x0
    assert boxes[0].y0 == boxes[1].y0 > boxes[2].y0 > boxes[4].y0 > 0
    assert [text.get_text() for text in figure.texts] == ["Five", *(f"number {i}" for i in range(5))]
    figure.savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_a_long_caption_takes_several_lines_and_no_picture_needs_one():
    pictures = np.zeros((3, 32, 32, 3), np.uint8)
    assert [text.get_text() for text in grid(pictures).texts] == []
    long = "a small red circle above a large blue square"
    lines = [text.get_text() for text in grid(pictures, [long, "", "x"]).texts]
    assert " ".join(line for line in lines if line) == f"{long} x"
    assert len(lines) > 3
