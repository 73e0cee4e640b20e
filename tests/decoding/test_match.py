"""Pictures compared with captions, and painted ones chosen by it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import regard
import stripes
from regard.cli import app
from regard.decoding.match import ranked
from regard.decoding.paint import paint_each
from regard.errors import ConfigError, DataError, RunError

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def judge(trained):
    return regard.load(trained["judge"])


@pytest.fixture(scope="module")
def painter(trained):
    return regard.load(trained["flags"])


def test_the_caption_of_a_picture_is_found_among_those_given(judge):
    captions = ["red over blue", "blue over red", "green over green"]
    flags = [stripes.flag("blue", "red"), stripes.flag("green", "green"), stripes.flag("red", "blue")]
    found = list(regard.match(judge, flags, captions, top=2))
    assert [each.labels[0] for each in found] == ["blue over red", "green over green", "red over blue"]
    for each in found:
        assert len(each.labels) == 2
        assert 1 >= each.probabilities[0] > each.probabilities[1] > 0


def test_probabilities_are_over_the_captions_given_however_often_each_is(judge):
    flag = stripes.flag("red", "green")
    for captions in (["red over green"], ["red over green"] * 3):
        [found] = regard.match(judge, [flag], captions)
        assert found.probabilities == (1.0,)
    kept = judge.settings.data.labels
    [found] = regard.match(judge, [flag], top=99)
    assert set(found.labels) == set(kept)
    assert sum(found.probabilities) == pytest.approx(1)


def test_pictures_are_ranked_by_how_much_they_show_of_a_caption(judge):
    flags = np.stack([stripes.flag("blue", "blue"), stripes.flag("red", "green"), stripes.flag("red", "blue")])
    order = ranked(judge, flags, "red over green")
    assert order[0] == 1
    assert sorted(order) == [0, 1, 2]
    assert ranked(judge, flags.repeat(2, axis=1).repeat(2, axis=2), "red over green") == order, "of any size"


def test_a_judge_keeps_the_best_of_what_is_painted(painter, judge):
    """Drawn so wildly that flags differ: those kept are the first in its order of all of them, best first."""
    caption = "red over green"
    wild: dict[str, Any] = {"temperature": 3.0, "guidance": 1.0}
    every = paint_each(painter, [caption] * 24, range(24), **wild)
    kept = regard.paint(painter, caption, n=3, judge=judge, of=24, **wild)
    order = ranked(judge, np.stack([each.pixels for each in every]), caption)
    assert [each.codes for each in kept] == [every[place].codes for place in order[:3]]
    assert order[:3] != [0, 1, 2]
    assert len(regard.paint(painter, caption, n=2, judge=judge)) == 2


def test_mistakes_are_told(painter, judge):
    with pytest.raises(ConfigError, match="of=2 are too few to choose n=3 from: paint more, or keep fewer"):
        regard.paint(painter, "red over blue", n=3, judge=judge, of=2)
    with pytest.raises(ConfigError, match="of=2 says how many a judge chooses from: give judge, too, or n alone"):
        regard.paint(painter, "red over blue", of=2)
    with pytest.raises(RunError, match="paints and does not compare pictures with captions: try regard generate"):
        regard.paint(painter, "red over blue", judge=painter)
    with pytest.raises(RunError, match="compares pictures with captions and does not tell classes apart"):
        regard.classify(judge, [])
    with pytest.raises(DataError, match="the caption ' ' is empty: say what a picture may show"):
        regard.match(judge, [stripes.flag("red", "red")], [" "])
    with pytest.raises(ConfigError, match="top=0 should be at least 1"):
        regard.match(judge, [], ["red over red"], top=0)


def test_the_command_classify_takes_captions(trained, tmp_path):
    Image.fromarray(stripes.flag("blue", "green")).save(tmp_path / "flag.png")
    told = ["--caption", "green over blue", "--caption", "blue over green"]
    ran = RUNNER.invoke(app, ["classify", str(trained["judge"]), str(tmp_path / "flag.png"), *told, "--json"])
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert found["labels"] == ["blue over green"]
    refused = RUNNER.invoke(app, ["classify", str(trained["stripes"]), str(tmp_path / "flag.png"), *told])
    assert refused.exit_code == 2
    assert "--caption goes with a run that compares pictures with captions" in " ".join(refused.output.split())


def test_the_command_generate_takes_a_judge(trained, tmp_path):
    out, judged = tmp_path / "flag.png", ["--judge", str(trained["judge"])]
    painting = ["generate", str(trained["flags"]), "red over blue", "--out", str(out)]
    ran = RUNNER.invoke(app, [*painting, *judged, "--of", "4", "--temperature", "0.3"])
    assert ran.exit_code == 0, ran.output
    assert abs(np.asarray(Image.open(out)).astype(int) - stripes.flag("red", "blue")).mean() < 30
    refused = RUNNER.invoke(app, [*painting, "--of", "4"])
    assert refused.exit_code == 2
    assert "--of says how many --judge chooses from" in " ".join(refused.output.split())
