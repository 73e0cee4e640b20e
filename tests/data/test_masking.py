"""Hiding tokens, as a user of BERT knows it: how many, which, and never the same in two epochs."""

from __future__ import annotations

import random
from collections import Counter

import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.data.marked import collate_marked
from regard.data.masking import Masking, hide, stretches
from regard.tokens.text import BOS, EOS

MASK, ORDINARY = 1, range(100, 120)
TEXTS = st.lists(st.integers(10, 99), min_size=1, max_size=40)


def each_alone(ids: list[int]) -> list[int]:
    return [-1, *range(len(ids) - 2), -1]


@given(TEXTS, st.floats(0.01, 0.99), st.integers())
def test_a_share_of_the_tokens_is_hidden_and_the_rest_and_both_ends_stay(inside, share, seed):
    ids = [BOS, *inside, EOS]
    found = hide(ids, each_alone(ids), Masking(share, MASK, ORDINARY), random.Random(seed))
    assert len(found.places) == max(1, round(share * len(inside)))
    assert found.places == sorted(set(found.places))
    assert 0 < found.places[0] <= found.places[-1] < len(ids) - 1
    assert found.labels == [ids[place] for place in found.places]
    restored = list(found.ids)
    for place, label in zip(found.places, found.labels, strict=True):
        assert restored[place] in (MASK, label, *ORDINARY)
        restored[place] = label
    assert restored == ids


def test_of_those_chosen_80_in_100_are_masked_10_replaced_and_10_stay():
    ids, counts = [BOS, *([50] * 1000), EOS], Counter[str]()
    for seed in range(20):
        found = hide(ids, each_alone(ids), Masking(0.5, MASK, ORDINARY), random.Random(seed))
        kinds = {MASK: "masked", 50: "kept"}
        counts.update(kinds.get(found.ids[place], "replaced") for place in found.places)
    total = counts.total()
    assert total == 20 * 500
    assert abs(counts["masked"] / total - 0.8) < 0.02  # five standard deviations
    assert abs(counts["replaced"] / total - 0.1) < 0.015
    assert abs(counts["kept"] / total - 0.1) < 0.015


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.integers())
def test_whole_words_are_hidden_whole(lengths, seed):
    words = [-1, *(number for number, length in enumerate(lengths) for _ in range(length)), -1]
    ids = [BOS, *range(10, 10 + sum(lengths)), EOS]
    found = hide(ids, words, Masking(0.4, MASK, ORDINARY), random.Random(seed))
    hidden = {words[place] for place in found.places}
    assert found.places == [place for place, word in enumerate(words) if word in hidden]
    assert len(found.places) <= max(max(lengths), round(0.4 * sum(lengths)))


def test_a_text_without_a_word_has_something_to_find_too():
    assert hide([BOS, 10, EOS], [-1, -1, -1], Masking(0.15, MASK, ORDINARY), random.Random(0)).labels == [10]


@given(st.lists(TEXTS, min_size=1, max_size=5), st.integers(3, 17), st.integers())
def test_documents_become_texts_that_fit_and_lose_nothing(documents, room, seed):
    texts = stretches(documents, room, str(seed))
    assert all(3 <= text.size <= room and text.ids[0] == BOS and text.ids[-1] == EOS for text in texts)
    assert [id for text in texts for id in text.ids[1:-1]] == [id for document in documents for id in document]
    assert len({text.seed for text in texts}) == len(texts)
    assert all(text.ids[1:-1] in documents for text in texts) or any(len(each) > room - 2 for each in documents)


def test_another_epoch_cuts_and_hides_elsewhere():
    document = [list(range(10, 200))]
    cuts = {tuple(map(tuple, (text.ids for text in stretches(document, 12, f"1 {epoch} hide")))) for epoch in range(9)}
    assert len(cuts) > 3
    ids = [BOS, *range(10, 50), EOS]
    places = [
        hide(ids, each_alone(ids), Masking(0.15, MASK, ORDINARY), random.Random(f"1 {e}")).places for e in range(9)
    ]
    assert len(set(map(tuple, places))) == 9


def test_a_batch_has_its_labels_where_they_are_wanted():
    short = hide([BOS, 10, EOS], [-1, 0, -1], Masking(0.15, MASK, [100]), random.Random(0))
    long = hide([BOS, 11, 12, 13, EOS], [-1, 0, 0, 0, -1], Masking(0.15, MASK, [100]), random.Random(0))
    batch = collate_marked([short, long])
    assert batch.wanted.tolist() == [[False, True, False, False, False], [False, True, True, True, False]]
    assert batch.labels[batch.wanted].tolist() == [10, 11, 12, 13]
    assert batch.readable.tolist() == [[True] * 3 + [False] * 2, [True] * 5]
    assert batch.tokens == 4
    assert batch.work == 10
    assert torch.equal(batch.cut(2)[1].ids, batch.ids[1:])
