"""Coverage: the equation by hand from what the explorer records, and what it does to a ranking."""

from __future__ import annotations

import math

import pytest
import torch

from brute import FORBIDDEN
from lively import lively, sources
from regard.config import DecodeConfig
from regard.decoding.coverage import coverage
from regard.decoding.ensemble import Ensemble
from regard.decoding.search import Hypothesis, search
from regard.errors import ConfigError
from regard.insight.trace import record
from regard.model.translator import Translator
from regard.tokens.text import BOS


def by_hand(models: list[Translator], source: list[int], hypothesis: Hypothesis) -> float:
    """Wu et al. 2016, equation 14, a number at a time."""
    read = [BOS, *hypothesis.ids] if hypothesis.finished else [BOS, *hypothesis.ids[:-1]]
    looks = []
    for model in models:
        with record(model) as trace, torch.no_grad():
            model(torch.tensor([source]), torch.tensor([read]), torch.ones(1, len(source), dtype=torch.bool))
        looks.append(trace.cross[-1].mean(0))  # (T, S)
    seen = [
        sum(float(sum(look[j, i] for look in looks)) / len(looks) for j in range(len(read))) for i in range(len(source))
    ]
    return sum(math.log(min(each, 1.0)) for each in seen)


@pytest.mark.parametrize("how", [{"beam": 4}, {"beam": 4, "groups": 2}, {"samples": 5}])
@pytest.mark.parametrize("together", [False, True])
def test_the_score_gains_what_the_equation_says_and_ranks_by_it(how, together):
    models = [lively(19, seed=2, norm="pre"), lively(19, seed=3)][: 1 + together]
    model = Ensemble(models) if together else models[0]
    lengths, limits = [6, 3, 8], [7, 9, 4]
    source, readable = sources(19, lengths)
    plain = search(model, source, readable, DecodeConfig(**how), limits, FORBIDDEN)
    covered = search(model, source, readable, DecodeConfig(**how, coverage=0.7), limits, FORBIDDEN)
    for row, (before, after) in enumerate(zip(plain, covered, strict=True)):
        ids = source[row, : lengths[row]].tolist()
        expected = {each.ids: each.score + 0.7 * by_hand(models, ids, each) for each in before.hypotheses}
        assert {each.ids: each.score for each in after.hypotheses} == pytest.approx(expected, abs=1e-4)
        scores = [each.score for each in after.hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert sorted(each.log_probability for each in after.hypotheses) == pytest.approx(
            sorted(each.log_probability for each in before.hypotheses), abs=1e-5
        )


def test_a_translation_that_leaves_out_half_of_the_source_falls_behind():
    model = lively(19, seed=2)
    source = torch.randint(4, 19, (6,)).tolist()
    short, long = Hypothesis((5,), -0.1, -0.2, True), Hypothesis((5, 9, 4, 7, 11, 6, 8), -0.1, -0.8, True)
    little, much = coverage([model], source, [short, long])
    assert little < much <= 0


def test_coverage_is_the_same_in_any_batch():
    model = lively(23, seed=4)
    lengths, limits = [3, 9, 5], [8, 12, 7]
    source, readable = sources(23, lengths)
    config = DecodeConfig(beam=4, coverage=0.5)
    for row, found in enumerate(search(model, source, readable, config, limits, FORBIDDEN)):
        only = slice(row, row + 1), slice(lengths[row])
        [alone] = search(model, source[only], readable[only], config, [limits[row]], FORBIDDEN)
        assert found.margin > 1e-5, "this test wants choices that no rounding can turn; take another seed"
        assert [each.ids for each in found.hypotheses] == [each.ids for each in alone.hypotheses]
        scores = [each.score for each in alone.hypotheses]
        assert [each.score for each in found.hypotheses] == pytest.approx(scores, abs=1e-5)


def test_a_model_that_does_not_tell_what_it_looks_at_is_refused():
    model = lively(9, seed=1)

    class Elsewhere:
        """The same on another runtime."""

        encode, decode, logits, cache = model.encode, model.decode, model.logits, model.cache

    with pytest.raises(ConfigError) as refused:
        search(Elsewhere(), *sources(9, [3]), DecodeConfig(coverage=0.2), [4])
    assert str(refused.value) == "coverage=0.2 asks what a model looks at, and this one does not tell: set coverage=0"
