"""The demo of BERT, cut short: all its parts, on a network that has hardly begun to learn."""

from __future__ import annotations

import json

import pytest

import regard
from regard.data import phrasebook
from regard.demos import bert as module
from regard.tokens.masks import MASK


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Its folder, and what it found."""
    folder = tmp_path_factory.mktemp("runs") / "demo-bert"
    sizes = {"width": 32, "hidden": 64, "heads": 2, "layers": 1}
    settings = {
        **module.SETTINGS,
        "tokenizer": {"kind": "bpe", "size": 500},
        "model": {**module.SETTINGS["model"], **sizes},
        "train": {**module.SETTINGS["train"], "steps": 40, "warmup": 4, "validate_every": 40, "batch_tokens": 512},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SETTINGS", settings)
        for name, count in (("TRAIN", 1500), ("VALID", 20), ("HIDDEN", 12)):
            patch.setattr(module, name, count)
        return folder, module.demo(folder, seed=3, on="cpu")


def test_it_leaves_a_run_with_its_figures(short):
    folder, findings = short
    run = regard.load(folder)
    assert (run.task, run.settings.train.seed) == ("fill", 3)
    written = json.loads((folder / "demo.json").read_text())
    assert written["same"] == findings.same <= findings.grammatical <= 1, "what was there is of the grammar"
    assert 1 <= findings.hidden <= 12


def test_one_word_is_hidden_that_is_one_token(short):
    folder, _ = short
    run = regard.load(folder)
    sentences = [phrase.english for phrase in phrasebook.phrases("test", 30)]
    for gap, whole in module.gapped(run, sentences, seed=5):
        before, after = gap.split(MASK)
        word = whole.removeprefix(before).removesuffix(after)
        assert before + word + after == whole
        assert len(run.tokenizers["text"].encode(word)) == 1
    again, other = ([*module.gapped(run, sentences, seed)] for seed in (5, 6))
    assert again == [*module.gapped(run, sentences, seed=5)] != other
