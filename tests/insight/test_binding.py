"""Which head binds *it* to its noun: the numbers behind the answer, against those of explain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from counting import settings
from regard.data.phrasebook import minimal_pairs, phrases
from regard.insight.binding import Head, flips, leads, noun_weights, where
from regard.insight.explain import explain
from regard.insight.words import by_word, index_of, words
from regard.model import build
from regard.run import Run
from regard.tokens.text import TextTokenizer


@pytest.fixture(scope="module")
def run() -> Run:
    """An untrained network with a lively encoder, over the phrasebook's words."""
    texts = [text for phrase in phrases("train", 400) for text in (phrase.english, phrase.french)]
    tokenizer = TextTokenizer.learn(texts, size=700, languages=("en", "fr"))
    given = settings()
    sizes = {"source_vocabulary": len(tokenizer), "target_vocabulary": len(tokenizer), "layers": 2}
    given = given.model_copy(update={"model": given.model.model_copy(update=sizes)})
    torch.manual_seed(5)
    model: Any = build(given.model).eval()
    with torch.no_grad():
        for parameter in model.encoder.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return Run(given, model, {"source": tokenizer, "target": tokenizer})


def test_the_weights_are_those_that_explain_shows(run):
    pairs = minimal_pairs("valid", 5)
    looks = noun_weights(run, [pair.subject for pair in pairs], [pair.nouns for pair in pairs])
    assert len(looks) == (2 + 2 + 1) * 2, "from two places in two layers of the encoder, from one in the decoder's one"
    for row, pair in enumerate(pairs):
        trace = explain(run, pair.subject.english, "fr", max_length=2)
        among = words(trace.source)
        maps = by_word(trace.encoder, among, among)  # (L, H, words, words)
        nouns = [index_of(noun, among) for noun in pair.nouns]
        for head, weights in looks.items():
            if head.kind != "encoder":
                continue  # the step that writes the pronoun is not in what an untrained network writes
            shown = maps[head.layer, head.head, where(head.place, among), nouns]
            np.testing.assert_allclose(weights[row], shown, atol=1e-5)


def test_a_pair_counts_only_if_both_of_its_sentences_are_right(run):
    pairs = minimal_pairs("valid", 12)
    nouns = [pair.nouns for pair in pairs]
    first = noun_weights(run, [pair.subject for pair in pairs], nouns)
    second = noun_weights(run, [pair.object for pair in pairs], nouns)
    for head, leading in leads(run, pairs).items():
        looks = list(zip(first[head].tolist(), second[head].tolist(), strict=True))
        np.testing.assert_allclose(leading, [(a[0] - a[1], b[1] - b[0]) for a, b in looks], atol=1e-6)
        assert flips(leading) == pytest.approx(sum(a[0] > a[1] and b[1] > b[0] for a, b in looks) / len(pairs))


def test_a_head_is_named_as_people_count():
    assert str(Head("encoder.blocks.1.self_attention", 2, "it")) == "encoder, layer 2, head 3, looking from it"
    cross = Head("decoder.blocks.0.cross_attention", 0, "pronoun")
    assert str(cross) == "cross-attention, layer 1, head 1, looking from the pronoun"


def test_a_clause_looks_from_it_from_its_property_and_from_its_pronoun():
    english = words(["▁The", "▁bus", "▁is", "▁here", "▁because", "▁it", "▁was", "▁too", "▁ti", "red", ".", "</s>"])
    french = words(["▁Il", "▁est", "▁là", "▁parce", "▁qu", "'", "il", "▁était", "▁fatigué", ".", "</s>"])
    assert english[where("it", english)].text == "it"
    assert english[where("property", english)].text == "tired"
    assert french[where("pronoun", french)][:3] == ("il", 6, 7)
