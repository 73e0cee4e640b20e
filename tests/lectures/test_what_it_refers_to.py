""" "The animal didn't cross the street because it was too tired": what is *it*? (Alammar, the Illustrated Transformer)

The whole grammar takes minutes to learn, and is `regard demo`'s, which also finds the head that shows it. Here a
smaller network learns the sentences of this one kind, of which the lecture's own are none.
"""

from __future__ import annotations

import pytest

from regard.config import Settings, validate
from regard.data import phrasebook
from regard.data.corpus import Pair
from regard.decoding.translate import translate
from regard.run import Run
from regard.training.train import train_pairs_into

TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    settings = {
        "tokenizer": {"kind": "bpe", "size": 1200},
        "model": {"width": 96, "hidden": 192, "heads": 4, "layers": 2, "decoder_layers": 1, "dropout": 0.0},
        "train": {
            "steps": 450,
            "batch_tokens": 1536,
            "warmup": 80,
            "learning_rate": 3e-3,
            "label_smoothing": 0.0,
            "validate_every": 450,
        },
    }
    pairs = [
        Pair(phrase.english, phrase.french)
        for pair in phrasebook.minimal_pairs("train", 5000)
        for phrase in (pair.subject, pair.object)
    ]
    folder = tmp_path_factory.mktemp("runs") / "it"
    return train_pairs_into(folder, validate(Settings, settings, "test"), pairs, [], on="cpu")


def test_a_trained_model_knows_what_it_is(run):
    """Into French, il or elle depends on it; the two sentences and their combinations were never seen."""
    tired, wide = (each.text for each in translate(run, [TIRED, WIDE]))
    assert tired == "L'animal n'a pas traversé la rue parce qu'il était trop fatigué."
    assert wide == "L'animal n'a pas traversé la rue parce qu'elle était trop large."


def test_what_it_is_hangs_on_the_last_word_alone(run):
    """Held-out pairs that differ in nothing else get two different pronouns, each the right one, nearly always."""
    pairs = phrasebook.minimal_pairs("test", 100)
    sentences = [phrase.english for pair in pairs for phrase in (pair.subject, pair.object)]
    written = [phrasebook.pronoun(each.text) for each in translate(run, sentences, beam=1)]
    both = [tuple(written[i : i + 2]) == pair.pronouns for i, pair in zip(range(0, 200, 2), pairs, strict=True)]
    assert sum(both) / len(both) >= 0.9
