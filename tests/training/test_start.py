"""The start from neighbours, on a language whose translations are known."""

from __future__ import annotations

import random

import pytest
import torch

from regard.config import TranslatorConfig
from regard.data.batch import Example
from regard.model.translator import Translator
from regard.training import start
from regard.training.start import enough, largest, neighbours, start_from_neighbours

WORDS = 40


def corpus(count: int = 600, offset: int = WORDS) -> list[Example]:
    """Sentences of words 0 … 39; the translation of w is offset + w, in another order."""
    draw = random.Random(1)
    sentences = [draw.sample(range(WORDS), k=draw.randint(2, 6)) for _ in range(count)]
    return [Example(words, [offset + word for word in sorted(words)]) for words in sentences]


def test_a_word_lies_closest_to_its_translation():
    torch.manual_seed(1)
    vectors = neighbours(corpus(), size=2 * WORDS, apart=0, width=48)
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(2 * WORDS))
    alike = vectors[:WORDS] @ vectors[WORDS:].T
    assert (alike.argmax(dim=1) == torch.arange(WORDS)).float().mean() > 0.95


def test_the_vectors_are_those_of_the_largest_eigenvalues():
    """Against the whole decomposition."""
    torch.manual_seed(2)
    half = torch.rand(90, 90)
    graph = half + half.T
    found = largest(graph, width=7)
    values, vectors = torch.linalg.eigh(graph.double())
    top = vectors[:, -7:] * values[-7:].clamp(min=0).sqrt()
    torch.testing.assert_close((found @ found.T).double(), top @ top.T, atol=0.05, rtol=0.05)


def test_long_sentences_are_counted_only_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(start, "MEETINGS", 50)
    examples = [Example([1, 2, 3], [4, 5, 6, 7])] * 20  # 12 meetings each
    assert len(enough(examples)) == 4
    assert len(enough([Example(list(range(100)), list(range(100)))] * 3)) == 1


@pytest.mark.parametrize("tied", ["all", "target", "none"])
def test_every_table_gets_the_vectors_of_its_side_and_unknown_ids_keep_their_own(tied):
    joint = tied == "all"
    sizes = {"source_vocabulary": 100 if joint else 60, "target_vocabulary": 100 if joint else 55}
    config = TranslatorConfig.model_validate({**sizes, "width": 44, "heads": 4, "tied": tied})
    torch.manual_seed(3)
    model = Translator(config)
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    examples = corpus(offset=WORDS if joint else 0)
    start_from_neighbours(model, examples)
    source, target = model.source_embedding.table.weight, model.target_embedding.table.weight
    said = target[WORDS : 2 * WORDS] if joint else target[:WORDS]
    assert ((source[:WORDS] @ said.T).argmax(dim=1) == torch.arange(WORDS)).float().mean() > 0.95
    torch.testing.assert_close(model.output.table.weight[:WORDS], target[:WORDS])
    for name, parameter in model.named_parameters():
        if "table" not in name:
            assert torch.equal(parameter, before[name])
    last = before["source_embedding.table.weight"][-1]
    assert torch.equal(source[-1], last), "no example has the last id"
