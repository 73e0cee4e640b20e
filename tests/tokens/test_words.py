"""Tokens and the words they are parts of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.tokens.text import EOS, TextTokenizer, normalise
from regard.tokens.words import between_tokens, by_word, words_of

TEXTS = ["the animal didn't cross the street", "l'animal n'a pas traversé la rue", "tired, too tired …"] * 5


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def tokenizer(request) -> TextTokenizer:
    return TextTokenizer.learn(TEXTS, size=320, kind=request.param, languages=["en", "fr"])


@given(text=st.one_of(st.text(max_size=40), st.sampled_from(TEXTS), st.text(" ▁até\n€…", max_size=30)))
def test_the_tokens_of_a_word_spell_it(tokenizer, text):
    ids = [tokenizer.tag("fr"), *tokenizer.encode(text), EOS]
    numbers = words_of(tokenizer, ids)
    words = normalise(text).split()
    spelled = [tokenizer.decode(np.array(ids)[numbers == word]) for word in range(numbers.max() + 1)]
    if "\u00a0" in text or any(c.isspace() and c not in " \t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029" for c in text):
        words = [word for word in normalise(text).split(" ") if word]  # other spaces are a part of their word
    assert spelled == words
    assert numbers[0] == numbers[-1] == -1


def test_a_space_that_nothing_follows_is_no_word(tokenizer):
    space = tokenizer.processor.piece_to_id("▁")
    animal = tokenizer.encode("the")
    assert words_of(tokenizer, [*animal, space]).tolist() == [0] * len(animal) + [-1]
    assert words_of(tokenizer, [space, space, *animal[-1:]]).max() <= 1
    assert words_of(tokenizer, []).tolist() == []


def test_weights_between_words_sum_what_is_looked_at_and_average_who_looks():
    weights = np.array([[0.5, 0.2, 0.1, 0.2], [0.1, 0.1, 0.7, 0.1], [0.0, 0.3, 0.3, 0.4]])
    by_hand = [[0.45, 0.4, 0.15], [0.3, 0.3, 0.4]]  # rows 0 and 1 are one word, columns 0 and 1 another, 3 is none
    np.testing.assert_allclose(by_word(weights, np.array([0, 0, 1]), np.array([0, 0, 1, -1])), by_hand)
    assert by_word(np.zeros((0, 2)), np.array([], dtype=int), np.array([0, -1])).shape == (0, 2)


def test_links_between_words_are_links_between_all_their_tokens():
    source, target = np.array([-1, 0, 0, 1, -1]), np.array([0, 1, 1, -1])
    assert between_tokens([(0, 1), (1, 0)], source, target) == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 0)]
