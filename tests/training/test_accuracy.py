"""How often a run is right: the share, its interval against exact binomial figures, and the table of mistakes."""

from __future__ import annotations

import math

import pytest
import torch

from regard.training.accuracy import Accuracy, of_logits, wilson


def found(said: list[int], right: list[int], names=("cat", "dog", "elephant")) -> Accuracy:
    logits = torch.nn.functional.one_hot(torch.tensor(said), len(names)) * 9.0
    return of_logits(logits, torch.tensor(right), names)


def test_a_row_is_what_is_right_and_a_column_what_was_said():
    result = found([0, 1, 1, 2, 0], [0, 0, 1, 2, 2])
    assert result.confusion == ((1, 1, 0), (0, 1, 0), (1, 0, 1))
    assert result.accuracy == 3 / 5
    assert result.loss == pytest.approx((3 * 0 + 2 * 9) / 5 + math.log(1 + 2 * math.exp(-9)), abs=1e-5)


def test_the_interval_holds_the_share_as_often_as_it_says():
    """Of all that may come of n tries at a true share, those whose interval has it make up about 95 %."""
    for n, share in ((30, 0.5), (100, 0.9), (400, 0.97)):
        chance = [math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)]
        covered = [wilson(k / n, n)[0] <= share <= wilson(k / n, n)[1] for k in range(n + 1)]
        assert sum(p for p, inside in zip(chance, covered, strict=True) if inside) == pytest.approx(0.95, abs=0.02)


def test_an_interval_stays_between_none_and_all():
    assert wilson(1.0, 7)[1] == pytest.approx(1.0)
    assert wilson(0.0, 7)[0] == pytest.approx(0.0)


def test_the_table_can_be_read():
    assert str(found([0, 1, 1, 2, 0], [0, 0, 1, 2, 2])).splitlines()[2:] == [
        "is \\ said   cat   dog  elep",
        "cat           1     1     ·",
        "dog           ·     1     ·",
        "elephant      1     ·     1",
    ]


def test_of_many_classes_the_commonest_mistakes_are_told():
    names = tuple(f"class {i}" for i in range(30))
    lines = str(found([1, 1, 1, 5, 6], [0, 0, 1, 7, 6], names)).splitlines()
    assert lines[2:] == ["     2 × class 0 taken for class 1", "     1 × class 7 taken for class 5"]
