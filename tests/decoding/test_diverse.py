"""Diverse beam search: one group is the plain beam, none shunned are plain beams, and the objective in plain lists."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import regard
from brute import FORBIDDEN, asking, beam
from counting import pairs
from lively import lively, sources
from regard.config import DecodeConfig
from regard.decoding.candidates import likeliest
from regard.decoding.diverse import likeliest_by_group
from regard.decoding.search import search


def test_one_group_chooses_what_a_plain_beam_chooses():
    draw = torch.Generator().manual_seed(4)
    sums, owed = torch.randn(3, 4, generator=draw), torch.zeros(3, 4)
    log_probabilities = torch.randn(12, 9, generator=draw).log_softmax(-1)
    plain = likeliest(sums, owed, log_probabilities.clone())
    for ours, theirs in zip(likeliest_by_group(sums, owed, log_probabilities, 1, 0.7), plain, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


@pytest.mark.parametrize(("width", "groups"), [(6, 2), (6, 3), (4, 4)])
def test_groups_that_shun_nothing_are_so_many_plain_beams(width, groups):
    model = lively(vocabulary=23, seed=6)
    source, readable = sources(23, [6, 3, 8])
    grouped = DecodeConfig(beam=width, groups=groups, diversity=0.0)
    plain = DecodeConfig(beam=width // groups)
    for together, alone in zip(
        search(model, source, readable, grouped, [9, 7, 12], FORBIDDEN),
        search(model, source, readable, plain, [9, 7, 12], FORBIDDEN),
        strict=True,
    ):
        assert [each.ids for each in together.hypotheses[::groups]] == [each.ids for each in alone.hypotheses]
        told = [each.ids for each in together.hypotheses]
        assert all(told.count(each.ids) == groups for each in alone.hypotheses)
        assert together.margin == pytest.approx(alone.margin, abs=1e-4)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    split=st.sampled_from([(2, 2), (4, 2), (3, 3), (6, 3), (6, 2)]),
    diversity=st.sampled_from([0.3, 1.0, 5.0]),
    alpha=st.sampled_from([0.0, 1.0]),
    no_repeat=st.integers(0, 2),
)
def test_every_group_follows_the_objective_told_in_plain_lists(seed, split, diversity, alpha, no_repeat):
    model = lively(vocabulary=8, seed=seed)
    source, readable = sources(8, [5, 3])
    width, groups = split
    config = DecodeConfig(beam=width, groups=groups, diversity=diversity, length_penalty=alpha, no_repeat=no_repeat)
    limits = [6, 4]
    with torch.inference_mode():
        for row, found in enumerate(search(model, source, readable, config, limits, FORBIDDEN)):
            following = cache(asking(model, source[row : row + 1], readable[row : row + 1], config))
            expected = beam(following, limits[row], config)
            scores = [score for score, _, _ in expected]
            assert [each.score for each in found.hypotheses] == pytest.approx(scores, abs=1e-4)
            if found.margin > 1e-4:
                told = sorted((each.ids, each.finished) for each in found.hypotheses)
                assert told == sorted((ids, finished) for _, ids, finished in expected)


@pytest.mark.parametrize("cached", [True, False])
def test_groups_find_the_same_alone_and_in_any_batch(cached):
    model = lively(vocabulary=29, seed=8)
    lengths, limits = [3, 8, 5, 1], [9, 19, 13, 5]
    source, readable = sources(29, lengths)
    config = DecodeConfig(beam=6, groups=3, diversity=0.8)
    for row, found in enumerate(search(model, source, readable, config, limits, FORBIDDEN)):
        only = slice(row, row + 1), slice(lengths[row])
        [alone] = search(model, source[only], readable[only], config, [limits[row]], FORBIDDEN, cached)
        assert found.margin > 1e-5, "this test wants choices that no rounding can turn; take another seed"
        assert [each.ids for each in found.hypotheses] == [each.ids for each in alone.hypotheses]


def test_what_groups_say_is_more_varied_the_more_they_shun_each_other(counting):
    """On a trained run; the best of the first group, which shuns nothing, stays the best."""
    run = regard.load(counting)
    lines = [pair.source for pair in pairs(12, seed=8)]

    def said(diversity: float) -> list[regard.Translation]:
        decode = {"beam": 4, "groups": 4, "diversity": diversity}
        return list(regard.translate(run, lines, to="fr", n_best=4, engine="torch", **decode))

    varied = [sum(len({each.text for each in one.candidates}) for one in said(much)) for much in (0.0, 4.0, 8.0)]
    assert varied[0] == len(lines)
    assert varied == sorted(varied)
    assert varied[2] >= 3 * len(lines)
    greedy = [each.text for each in regard.translate(run, lines, to="fr", beam=1, engine="torch")]
    assert [one.text for one in said(4.0)] == greedy
