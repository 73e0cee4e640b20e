"""Sampling: the distribution it draws from, what may be drawn, and the same draws in any batch."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from brute import FORBIDDEN, asking, everything
from lively import lively, sources
from regard.config import DecodeConfig
from regard.decoding.sample import draw, exponential, generator, within_cuts
from regard.decoding.search import search
from regard.tokens.text import EOS


def test_translations_are_drawn_as_often_as_their_probability_says():
    """Pearson's chi-square over every sequence there is; the seed is fixed, and the bound is that of one in 10,000."""
    model = lively(vocabulary=7, seed=21)
    source, readable = sources(7, [4])
    draws, plain = 4000, DecodeConfig(length_penalty=0.0)
    with torch.inference_mode():
        following = cache(asking(model, source, readable, plain))
        expected = {(ids, ended): math.exp(score) for score, ids, ended in everything(following, range(4, 7), 3, plain)}
    assert sum(expected.values()) == pytest.approx(1)
    [found] = search(model, source, readable, plain.model_copy(update={"samples": draws}), [3], FORBIDDEN)
    drawn = Counter((each.ids, each.finished) for each in found.hypotheses)
    assert drawn.total() == draws
    common = {each: share for each, share in expected.items() if share * draws >= 5}  # as the test wants it
    observed = [*(drawn[each] for each in common), draws - sum(drawn[each] for each in common)]
    wanted = [draws * share for share in (*common.values(), 1 - sum(common.values()))]
    distance = sum((o - w) ** 2 / w for o, w in zip(observed, wanted, strict=True))
    freedom = len(common)
    assert freedom >= 10
    bound = freedom * (1 - 2 / (9 * freedom) + 3.72 * math.sqrt(2 / (9 * freedom))) ** 3  # Wilson and Hilferty 1931
    assert distance < bound
    for each in found.hypotheses:
        share = expected[each.ids, each.finished]
        assert each.log_probability == pytest.approx(math.log(share), abs=1e-4), "the model's own"


@pytest.mark.parametrize("filters", [{"top_k": 4}, {"top_p": 0.7}, {"temperature": 0.6, "min_p": 0.1}])
def test_tokens_are_drawn_as_the_temperature_and_the_cuts_reshape_them(filters):
    """One step, many draws of it, against Hugging Face's reshaping of the same logits."""
    config = DecodeConfig(samples=1, **filters)
    logits = torch.randn(1, 13, generator=torch.Generator().manual_seed(3)) * 2
    shares = reshaped(logits, config).softmax(-1)[0]
    draws = 20_000
    noise = torch.empty(draws, 13).exponential_(generator=torch.Generator().manual_seed(5))
    tokens, _ = draw(logits.log_softmax(-1).expand(draws, -1), noise, config)
    often = tokens.bincount(minlength=13) / draws
    deviation = (shares * (1 - shares) / draws).sqrt()
    assert ((often - shares).abs() <= 4 * deviation).all()


def reshaped(logits: torch.Tensor, config: DecodeConfig) -> torch.Tensor:
    """By Hugging Face's warpers, in the order in which `generate` has them."""
    from transformers import (
        LogitsProcessorList,
        MinPLogitsWarper,
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
    )

    warpers: list[Any] = [TemperatureLogitsWarper(config.temperature)] if config.temperature != 1 else []
    warpers += [TopKLogitsWarper(config.top_k)] if config.top_k else []
    warpers += [TopPLogitsWarper(config.top_p)] if config.top_p < 1 else []
    warpers += [MinPLogitsWarper(config.min_p)] if config.min_p else []
    every: Any = LogitsProcessorList(warpers)
    return every(torch.zeros(len(logits), 1, dtype=torch.long), logits)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    temperature=st.sampled_from([0.5, 1.0, 1.7]),
    top_k=st.sampled_from([0, 1, 3, 8, 40]),
    top_p=st.sampled_from([0.05, 0.6, 0.9, 1.0]),
    min_p=st.sampled_from([0.0, 0.02, 0.3]),
)
def test_what_may_be_drawn_is_what_hugging_face_leaves(seed, temperature, top_k, top_p, min_p):
    config = DecodeConfig(samples=1, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    logits = torch.randn(6, 17, generator=torch.Generator().manual_seed(seed)) * 2
    logits[:3, 5:15] = -torch.inf  # forbidden
    inside, _ = within_cuts(logits.log_softmax(-1) / temperature, config)
    drawable = inside & logits.isfinite()
    assert drawable.tolist() == reshaped(logits, config).isfinite().tolist()


def test_cutting_to_one_token_is_greedy_search():
    model = lively(vocabulary=23, seed=5)
    source, readable = sources(23, [6, 4, 7])
    greedy = search(model, source, readable, DecodeConfig(beam=1), [9, 5, 12], FORBIDDEN)
    cuts: list[dict[str, Any]] = [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 0.001}]
    for cut in cuts:
        drawn = search(model, source, readable, DecodeConfig(samples=2, **cut), [9, 5, 12], FORBIDDEN)
        for one, other in zip(drawn, greedy, strict=True):
            assert one.hypotheses[0].ids == one.hypotheses[1].ids == other.hypotheses[0].ids
            assert one.hypotheses[0].score == pytest.approx(other.hypotheses[0].score, abs=1e-5)


@pytest.mark.parametrize("cuts", [{}, {"temperature": 1.3, "top_k": 9, "top_p": 0.9, "min_p": 0.01}])
@pytest.mark.parametrize("cached", [True, False])
def test_a_sentence_is_drawn_alike_alone_and_in_any_batch(cuts, cached):
    model = lively(vocabulary=29, seed=7)
    lengths, limits = [3, 8, 5, 1, 12], [9, 19, 13, 5, 27]
    source, readable = sources(29, lengths)
    config = DecodeConfig(samples=3, seed=4, **cuts)
    order = [4, 2, 0, 3, 1]
    together = search(model, source, readable, config, limits, FORBIDDEN)
    shuffled = search(model, source[order], readable[order], config, [limits[row] for row in order], FORBIDDEN, cached)
    for row, length in enumerate(lengths):
        only = slice(row, row + 1), slice(length)
        [alone] = search(model, source[only], readable[only], config, [limits[row]], FORBIDDEN)
        assert together[row].margin > 1e-5, "this test wants choices that no rounding can turn; take another seed"
        for other in (alone, shuffled[order.index(row)]):
            assert [each.ids for each in together[row].hypotheses] == [each.ids for each in other.hypotheses]
            assert together[row].margin == pytest.approx(other.margin, abs=1e-4)


def test_the_first_samples_of_many_are_those_of_few_and_another_seed_draws_others():
    model = lively(vocabulary=29, seed=7)
    source, readable = sources(29, [5, 3])

    def drawn(samples: int, seed: int) -> list[set[tuple[int, ...]]]:
        config = DecodeConfig(samples=samples, seed=seed)
        return [{each.ids for each in one.hypotheses} for one in search(model, source, readable, config, [9, 9])]

    few, many, others = drawn(2, seed=1), drawn(6, seed=1), drawn(6, seed=2)
    assert all(some < more for some, more in zip(few, many, strict=True))
    assert all(one != other for one, other in zip(many, others, strict=True))


@pytest.mark.parametrize(
    "cuts",
    [
        {},
        {"temperature": 0.2},
        {"top_k": 3},
        {"top_p": 0.6},
        {"top_k": 5, "top_p": 0.8},
        {"temperature": 2.0, "min_p": 0.2},
    ],
)
def test_no_rounding_turns_a_draw_that_did_not_hang_by_a_hair(cuts):
    """Among tokens made almost alike, where small changes turn many draws; those are told by their margin."""
    config = DecodeConfig(samples=1, **cuts)
    chance = torch.Generator().manual_seed(6)
    alike = torch.randn(3000, 9, generator=chance).mul(4).round().div(4)
    log_probabilities = (alike + 1e-4 * torch.rand(3000, 9, generator=chance)).log_softmax(-1)
    noise = torch.empty(3000, 9).exponential_(generator=chance)
    noise[:1000] = noise[:1000, :1]  # where noise is alike too, the likeliest is drawn
    tokens, margins = draw(log_probabilities, noise, config)
    turned = torch.zeros(3000, dtype=torch.bool)
    for _ in range(10):
        sway = 1e-4 * (torch.rand(3000, 9, generator=chance) - 0.5)  # no difference changes by more than 1e-4
        turned |= draw(log_probabilities + sway, noise, config)[0] != tokens
    assert turned.sum() > 100
    assert margins[turned].max() <= 1e-4
    assert (margins > 1e-4).sum() > 1000


def test_each_sample_of_each_sentence_draws_from_a_generator_of_its_own():
    rows = exponential([generator(1, [4, 5], 0), None, generator(1, [4, 5], 1), generator(1, [4, 5], 0)], 7)
    torch.testing.assert_close(rows[0], rows[3], rtol=0, atol=0)
    assert rows[1].tolist() == [1.0] * 7
    different = exponential([generator(1, [4, 5], 0), generator(1, [45], 0), generator(2, [4, 5], 0)], 7)
    assert len({tuple(row.tolist()) for row in (*rows, *different)}) == 5


def test_a_prefix_is_drawn_first_and_costs_what_it_costs():
    model = lively(vocabulary=11, seed=5)
    source, readable = sources(11, [4])
    [found] = search(model, source, readable, DecodeConfig(samples=4, top_k=2), [6], FORBIDDEN, prefix=(9, 4))
    with torch.inference_mode():
        following = asking(model, source, readable, DecodeConfig())
        for each in found.hypotheses:
            assert each.ids[:2] == (9, 4)
            whole = (*each.ids, EOS) if each.finished else each.ids
            total = sum(following(whole[:t])[token] for t, token in enumerate(whole))
            assert each.log_probability == pytest.approx(total, abs=1e-4)
