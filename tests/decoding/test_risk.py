"""Minimum Bayes risk: sacreBLEU's chrF summed by hand, and a mode that is an outlier."""

from __future__ import annotations

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.decoding.risk import expected_chrf, least_risk

texts = st.lists(st.text("ab c", min_size=1, max_size=8).filter(str.strip), min_size=1, max_size=5)


@settings(max_examples=40)
@given(texts=texts, data=st.data())
def test_it_is_the_weighted_mean_of_the_chrf_against_all(texts, data):
    weights = data.draw(st.lists(st.floats(0.1, 9), min_size=len(texts), max_size=len(texts)))
    expected = [
        sum(weight * sacrebleu.sentence_chrf(text, [right]).score for weight, right in zip(weights, texts, strict=True))
        / sum(weights)
        for text in texts
    ]
    assert expected_chrf(texts, weights) == pytest.approx(expected)
    assert [expected[place] for place in least_risk(texts, weights)] == pytest.approx(sorted(expected, reverse=True))


def test_without_weights_all_count_alike_and_what_is_said_twice_counts_twice():
    said = ["a cat sat", "the dog", "the dog", "a cat sat down"]
    assert expected_chrf(said) == pytest.approx(expected_chrf(said, [2.0] * 4))
    assert expected_chrf(said)[1] == pytest.approx(
        expected_chrf(["a cat sat", "the dog", "a cat sat down"], [1, 2, 1])[1]
    )


def test_a_likely_outlier_gives_way_to_what_the_others_agree_on():
    """The mode is the empty-handed answer, with more weight than any other; the rest are ways to say one thing."""
    said = ["Nothing.", "A man sleeps on a bench.", "A man is sleeping on a bench.", "A man sleeps on the bench."]
    weights = [0.31, 0.23, 0.23, 0.23]
    assert least_risk(said, weights) == [1, 3, 2, 0]
    assert least_risk(said, [0.97, 0.01, 0.01, 0.01])[0] == 0, "if it is as good as certain, it stays"


def test_equals_keep_their_order_and_nothing_has_no_order():
    assert least_risk(["b", "a", "b"]) == [0, 2, 1]
    assert least_risk([]) == []
