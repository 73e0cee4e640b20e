"""The search under demands: against searching everything, against the plain search, and against what it promises."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from brute import asking, everything
from lively import lively, sources
from regard.config import DecodeConfig
from regard.decoding.constraints.constrain import constrained_search, opening
from regard.decoding.search import search
from regard.tokens.text import BOS, EOS, PAD, UNKNOWN, TextTokenizer

FORBIDDEN = torch.tensor([PAD, UNKNOWN, BOS])


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), beam=st.integers(1, 5))
def test_without_demands_it_is_the_plain_search(seed, beam):
    model = lively(vocabulary=23, seed=seed)
    source, readable = sources(23, [6])
    config = DecodeConfig(beam=beam, no_repeat=3)
    [plain] = search(model, source, readable, config, [9], FORBIDDEN)
    [found] = constrained_search(model, source, readable, [[]], [True] * 23, config, [9], FORBIDDEN)
    assert [(each.ids, each.finished) for each in found.hypotheses] == [
        (each.ids, each.finished) for each in plain.hypotheses
    ]
    assert [each.score for each in found.hypotheses] == pytest.approx([each.score for each in plain.hypotheses])
    assert found.margin == pytest.approx(plain.margin, abs=1e-5)


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), demanded=st.lists(st.sampled_from([4, 5]), min_size=1, max_size=2))
def test_a_beam_as_wide_as_the_space_finds_the_best_of_what_meets_the_demands(seed, demanded):
    model = lively(vocabulary=7, seed=seed)
    source, readable = sources(7, [4])
    opens = [True, True, True, True, True, True, False]  # 6 goes on with a word, so it cannot follow what is demanded
    config = DecodeConfig(beam=60, length_penalty=0.7)

    def meets(ids: tuple[int, ...]) -> bool:
        held = Counter(id for id in ids if id in demanded) == Counter(demanded)
        return held and not any(one in demanded and next == 6 for one, next in pairwise(ids))

    with torch.inference_mode():
        best = [
            each
            for each in everything(cache(asking(model, source, readable, config)), range(4, 7), 3, config)
            if meets(each[1])
        ]
    [found] = constrained_search(model, source, readable, [demanded], opens, config, [3], FORBIDDEN)
    assert [(each.ids, each.finished) for each in found.hypotheses] == [(ids, ended) for _, ids, ended in best]
    assert [each.score for each in found.hypotheses] == pytest.approx([score for score, _, _ in best], abs=1e-4)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    beam=st.integers(1, 4),
    demanded=st.lists(st.sampled_from([5, 9, 14]), min_size=1, max_size=5),
    spare=st.integers(0, 6),
)
def test_every_demand_is_met_just_so_often_whenever_the_limit_leaves_room(seed, beam, demanded, spare):
    model = lively(vocabulary=19, seed=seed)
    source, readable = sources(19, [7])
    opens = [id % 3 != 1 for id in range(19)]
    limit = len(demanded) + spare
    config = DecodeConfig(beam=beam)
    [found] = constrained_search(model, source, readable, [demanded], opens, config, [limit], FORBIDDEN)
    assert found.hypotheses
    for each in found.hypotheses:
        assert Counter(id for id in each.ids if id in demanded) == Counter(demanded)
        assert all(opens[next] for one, next in pairwise(each.ids) if one in demanded)
        assert len(each.ids) <= limit


def test_a_sentence_is_searched_alike_alone_and_in_any_batch():
    model = lively(vocabulary=29, seed=7)
    lengths, demanded = [3, 8, 5, 1, 12], [[5], [9, 9, 14], [], [14, 5], [20]]
    source, readable = sources(29, lengths)
    opens, config = [id % 4 != 1 for id in range(29)], DecodeConfig(beam=3)
    limits = [length + 9 for length in lengths]
    together = constrained_search(model, source, readable, demanded, opens, config, limits, FORBIDDEN)
    for row, length in enumerate(lengths):
        one = slice(row, row + 1)
        [alone] = constrained_search(
            model, source[one, :length], readable[one, :length], demanded[one], opens, config, limits[one], FORBIDDEN
        )
        assert alone.margin > 1e-5, "this test wants choices that no rounding can turn; take another seed"
        assert [each.ids for each in together[row].hypotheses] == [each.ids for each in alone.hypotheses]
        assert [each.score for each in together[row].hypotheses] == pytest.approx(
            [each.score for each in alone.hypotheses], abs=1e-4
        )
        assert together[row].margin == pytest.approx(alone.margin, abs=1e-4)


def test_where_the_limit_leaves_no_room_what_came_furthest_is_given_unfinished():
    model = lively(vocabulary=19, seed=1)
    source, readable = sources(19, [7])
    config = DecodeConfig(beam=3)
    [found] = constrained_search(model, source, readable, [[5, 9, 14]], [True] * 19, config, [2], FORBIDDEN)
    assert found.hypotheses
    for each in found.hypotheses:
        assert len(each.ids) == len(set(each.ids) & {5, 9, 14}) == 2
        assert not each.finished


def test_where_the_rules_leave_nothing_to_write_there_is_an_answer_still():
    """With every other id forbidden, 5 written once, and no id allowed twice, a second 5 cannot come."""
    model = lively(vocabulary=8, seed=2)
    source, readable = sources(8, [3])
    forbidden = torch.tensor([PAD, UNKNOWN, BOS, 4, 6, 7])
    config = DecodeConfig(beam=2, no_repeat=1)
    [found] = constrained_search(model, source, readable, [[5, 5]], [True] * 8, config, [9], forbidden)
    assert [(each.ids, each.finished) for each in found.hypotheses] == [((5,), False)]


def test_coverage_counts_as_it_does_without_demands():
    model = lively(vocabulary=19, seed=3)
    source, readable = sources(19, [7])
    config = DecodeConfig(beam=3, coverage=0.4)
    [plain] = search(model, source, readable, config, [8], FORBIDDEN)
    [found] = constrained_search(model, source, readable, [[]], [True] * 19, config, [8], FORBIDDEN)
    assert [each.score for each in found.hypotheses] == pytest.approx([each.score for each in plain.hypotheses])


def test_a_word_ends_before_a_space_before_punctuation_and_at_the_end():
    tokenizer = TextTokenizer.learn(["one two, three (four) . five-six"] * 3, size=300)
    opens = opening(tokenizer)
    for id, piece in enumerate(tokenizer.pieces(range(len(tokenizer)))):
        if id > EOS:
            assert opens[id] == (piece[0] in "▁,().-"), piece
    assert opens[EOS]
