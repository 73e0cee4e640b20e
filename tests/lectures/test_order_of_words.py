"""What attention knows of the order of words: nothing, until positions are added (Vaswani et al. 2017, section 3.5)."""

from __future__ import annotations

import pytest
import torch

from benchmarks.lectures import Change, changes, pupil
from regard.model.attention import Attention
from regard.model.position import Sinusoidal
from regard.model.translator import Translator

ORDER = torch.tensor([3, 0, 4, 1, 2])


@pytest.fixture(scope="module")
def changed(reader: Translator) -> dict[str, Change]:
    """What trimmed, omitted and permuted inputs do to the output of the trained model."""
    return changes(reader)


def test_without_positions_attention_is_permutation_equivariant():
    """Attn(PX) = P Attn(X): words in another order give the same vectors in that order."""
    attention, x = Attention(width=12, heads=3), torch.randn(2, 5, 12)
    torch.testing.assert_close(attention(x[:, ORDER]), attention(x)[:, ORDER])


def test_without_positions_a_whole_encoder_is_permutation_equivariant():
    """Norm and feed-forward work word by word, so that a stack of layers knows no more of order than one attention."""
    model, source = pupil(layers=2, position="none").eval(), torch.tensor([[4, 9, 6, 5, 8]])
    readable = source > 0
    memory = model.encode(source, readable)
    torch.testing.assert_close(model.encode(source[:, ORDER], readable), memory[:, ORDER])
    target = torch.tensor([[2, 5, 7]])
    torch.testing.assert_close(
        model(source[:, ORDER], target, readable), model(source, target, readable), atol=1e-4, rtol=1e-4
    )


def test_with_positions_it_is_not():
    """With sinusoids added, the same word at another place is another vector."""
    attention, position, x = Attention(width=12, heads=3), Sinusoidal(width=12), torch.randn(2, 5, 12)
    moved, still = attention(position(x[:, ORDER])), attention(position(x))[:, ORDER]
    assert (moved - still).abs().amax() > 0.1
    model, source = pupil(layers=2).eval(), torch.tensor([[4, 9, 6, 5, 8]])
    memory = model.encode(source, source > 0)
    assert (model.encode(source[:, ORDER], source > 0) - memory[:, ORDER]).abs().amax() > 0.1


def test_permuted_words_permute_the_output_of_a_trained_model(changed: dict[str, Change]):
    """Measured on 200 sentences of a model that learned to read backwards: it reads the new order."""
    change = changed["words permuted"]
    assert change.followed >= 0.95
    assert change.kept <= 0.05  # a permutation may happen to change nothing


def test_permuted_words_change_nothing_for_a_trained_model_without_positions(orderless: Translator):
    """The same training without positions: it sees a bag of words, and cannot read it backwards."""
    asked = changes(orderless)
    assert asked["words permuted"].kept >= 0.95
    assert asked["nothing"].followed <= 0.2


def test_an_omitted_word_is_missing_from_the_output_and_nothing_else_is(changed: dict[str, Change]):
    """Measured: the words behind the gap move up one position, and the model follows."""
    assert changed["one word omitted"].followed >= 0.95


def test_of_a_trimmed_sentence_the_rest_is_read(changed: dict[str, Change]):
    """Measured: without its last two words, but with its end mark, a sentence is only shorter."""
    change = changed["last two words trimmed"]
    assert change.followed >= 0.95
    assert change.kept == 0


def test_trimmed_of_its_end_mark_a_sentence_is_not_understood(changed: dict[str, Change]):
    """Measured: all words are there, but no sentence of its training was without EOS."""
    assert changed["end mark trimmed"].followed <= 0.2
