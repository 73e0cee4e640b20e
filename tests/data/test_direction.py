"""Which way pairs are learned, and what is set aside from them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from regard.config import DataConfig
from regard.data.corpus import Pair
from regard.data.direction import Directed, directed, set_aside

PAIRS = [Pair("one", "un"), Pair("two", "deux")]


def test_one_way_asks_for_no_language():
    assert directed(PAIRS, DataConfig()) == [Directed("one", "un", None), Directed("two", "deux", None)]


def test_both_ways_each_pair_is_learned_there_and_back():
    assert directed(PAIRS, DataConfig(languages=("en", "fr"), both_ways=True)) == [
        Directed("one", "un", "fr"),
        Directed("un", "one", "en"),
        Directed("two", "deux", "fr"),
        Directed("deux", "two", "en"),
    ]


TEXT = st.sampled_from([f"sentence {i}" for i in range(30)])


@given(
    pairs=st.lists(st.builds(Pair, TEXT, TEXT), min_size=1, max_size=60),
    size=st.integers(1, 20),
    seed=st.integers(0, 5),
)
def test_what_is_set_aside_shares_no_sentence_with_the_rest(pairs, size, seed):
    train, valid = set_aside(pairs, size, seed)
    assert sorted(train + valid) == sorted(pairs)
    assert not {pair.source for pair in train} & {pair.source for pair in valid}
    assert not {pair.target for pair in train} & {pair.target for pair in valid}
    assert len(valid) <= min(size, len(pairs) // 10)
    assert set_aside(pairs, size, seed) == (train, valid)


def test_as_much_is_set_aside_as_was_asked_for():
    pairs = [Pair(f"s{i}", f"t{i}") for i in range(500)]
    train, valid = set_aside(pairs, 40, seed=1)
    assert (len(train), len(valid)) == (460, 40)
    assert set_aside(pairs, 40, seed=2)[1] != valid
