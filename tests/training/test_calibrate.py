"""What the end of training leaves for trust."""

from __future__ import annotations

from dataclasses import replace

import pytest

import counting as numbers
import regard
from regard import lessons
from regard.data.direction import directed
from regard.decoding.confidence import CONFIDENCE, Calibration, calibration_of
from regard.decoding.heads import ALIGNMENT, choice_of
from regard.errors import DataError
from regard.training.calibrate import calibrate, learn_trust


def test_a_trained_run_knows_its_heads_and_what_its_scores_are_worth(counting):
    run = regard.load(counting)
    held_out = directed(numbers.pairs(20, seed=2), run.settings.data)
    calibration = calibration_of(run)
    assert calibration == lessons.load(Calibration, counting / CONFIDENCE)
    assert calibration.sentences == len(held_out) == 40
    assert calibration.quality[-1] > 0.95, "it translates its validation perfectly"
    assert calibration.shortest < 1 < calibration.longest
    assert choice_of(run).pairs == 40

    again = calibrate(run, held_out)
    assert again.scores == pytest.approx(calibration.scores, abs=1e-5)
    assert again.quality == pytest.approx(calibration.quality, abs=1e-5)


def test_a_run_learns_trust_from_pairs_alone(counting, tmp_path):
    run = replace(regard.load(counting), folder=tmp_path)
    learn_trust(run, directed(numbers.pairs(20, seed=2), run.settings.data))
    assert all((tmp_path / name).exists() for name in (ALIGNMENT, CONFIDENCE))
    assert calibration_of(run).sentences == choice_of(run).pairs == 40


def test_where_there_is_nothing_to_learn_from_nothing_is_kept(counting, tmp_path):
    run = replace(regard.load(counting), folder=tmp_path)
    learn_trust(run, [], [])
    learn_trust(replace(run, folder=None), [], [])
    assert not any((tmp_path / name).exists() for name in (ALIGNMENT, CONFIDENCE))
    with pytest.raises(
        DataError, match=r"^there is nothing to calibrate with: give pairs that the run was not trained"
    ):
        calibrate(run, [])
