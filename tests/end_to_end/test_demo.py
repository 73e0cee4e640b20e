"""The demo, cut short: all its parts, on a network that has hardly begun to learn. The whole one is `make demo`."""

from __future__ import annotations

import json

import pytest
from matplotlib.image import imread

import regard
from regard.data import phrasebook
from regard.data.phrasebook import Phrase
from regard.demos import translator as module


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Its folder, what it found, and what it printed."""
    folder = tmp_path_factory.mktemp("runs") / "demo"
    settings = {
        **module.SETTINGS,
        "train": {**module.SETTINGS["train"], "steps": 60, "warmup": 20, "validate_every": 60},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SETTINGS", settings)
        for name, count in (("TRAIN", 3000), ("VALID", 20), ("TEST", 30), ("CONTRASTS", 8)):
            patch.setattr(module, name, count)
        return folder, regard.demo(folder, seed=3, on="cpu")


def test_it_leaves_a_run_with_its_figures_and_pictures(short):
    folder, findings = short
    run = regard.load(folder)
    assert run.settings.train.seed == 3
    assert run.settings.data.languages == ("en", "fr")
    written = json.loads((folder / "demo.json").read_text())
    assert written["to_french"]["exact"] == findings.to_french.exact
    assert written["binding"]["attention"] == findings.binding.attention
    for picture in ("it.png", "attention.png"):
        assert imread(folder / picture).ndim == 3


def test_its_head_is_judged_on_other_pairs_than_it_is_chosen_on(short):
    _, findings = short
    shares = (findings.binding.flips, findings.binding.flips_untrained, findings.binding.pronouns)
    assert all(0 <= share <= 1 for share in shares)
    valid, test = ({pair.subject for pair in phrasebook.minimal_pairs(part)} for part in ("valid", "test"))
    assert not valid & test


def test_every_licensed_translation_counts_as_right(monkeypatch):
    """English leaves the gender of I open; French does not."""

    class Said:
        def __init__(self, text: str):
            self.text = text

    answers = {"I am tired.": "Je suis fatiguée.", "I am sick.": "Je suis malades."}
    monkeypatch.setattr(module, "translate", lambda run, sources, to: [Said(answers[source]) for source in sources])
    phrases = [
        Phrase(english, french, frozenset())
        for english, french in (("I am tired.", "Je suis fatigué."), ("I am sick.", "Je suis malade."))
    ]
    assert {"Je suis fatigué.", "Je suis fatiguée."} <= phrasebook.translations("I am tired.", "fr")
    assert module.score_phrases(None, phrases, "fr").exact == 50.0  # type: ignore[arg-type]
