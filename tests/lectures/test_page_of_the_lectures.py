"""docs/lectures.md names every test of this folder, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__)
PAGE = (HERE.parents[2] / "docs" / "lectures.md").read_text(encoding="utf-8")


def test_the_page_names_every_test_under_its_file():
    sections = dict(re.findall(r"File: \[`(test_\w+\.py)`\](.*?)(?=\nFile: |\Z)", PAGE, re.DOTALL))
    files = {path.name: path.read_text(encoding="utf-8") for path in HERE.parent.glob("test_*.py") if path != HERE}
    assert sections.keys() == files.keys()
    for name, text in files.items():
        assert set(re.findall(r"`(test_\w+)`", sections[name])) == set(
            re.findall(r"^def (test_\w+)", text, re.MULTILINE)
        )


def test_the_pictures_of_the_page_are_there_and_small():
    pictures = [HERE.parents[2] / "docs" / path for path in re.findall(r"\]\((pictures/[\w-]+\.png)\)", PAGE)]
    assert len(pictures) == 6
    for picture in pictures:
        assert picture.stat().st_size < 100_000
