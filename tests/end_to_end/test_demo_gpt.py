"""The demo of GPT, cut short: all its parts, on a network that has hardly begun to learn."""

from __future__ import annotations

import json

import pytest

import regard
from regard.data import phrasebook
from regard.decoding.generate import Generated
from regard.demos import gpt as module


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Its folder, and what it found."""
    folder = tmp_path_factory.mktemp("runs") / "demo-gpt"
    sizes = {"width": 32, "hidden": 64, "heads": 2, "layers": 1}
    settings = {
        **module.SETTINGS,
        "tokenizer": {"kind": "bpe", "size": 400},
        "model": {**module.SETTINGS["model"], **sizes},
        "train": {**module.SETTINGS["train"], "steps": 40, "warmup": 4, "validate_every": 40, "batch_tokens": 512},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SETTINGS", settings)
        for name, count in (("TRAIN", 1500), ("VALID", 20), ("WRITTEN", 12), ("LONG", 12)):
            patch.setattr(module, name, count)
        return folder, module.demo(folder, seed=3, on="cpu")


def test_it_leaves_a_run_with_its_figures(short):
    folder, findings = short
    run = regard.load(folder)
    assert (run.task, run.settings.train.seed) == ("write", 3)
    written = json.loads((folder / "demo.json").read_text())
    assert written["foretold"]["perplexity"] == findings.foretold.perplexity < 200
    assert 0 <= findings.new <= findings.grammatical <= 1
    assert findings.written == 12


def test_only_whole_sentences_of_the_grammar_count():
    [phrase] = phrasebook.phrases("test", 1)

    def drawn(text: str, finished: bool = True) -> Generated:
        return Generated("", text, (), 0.0, finished)

    assert module.of_the_grammar(drawn(phrase.english))
    assert not module.of_the_grammar(drawn(phrase.english, finished=False))
    assert not module.of_the_grammar(drawn(phrase.english.replace(" ", "  ")))
    assert not module.of_the_grammar(drawn("The the."))


def test_the_next_tokens_are_the_likeliest(short):
    folder, _ = short
    run = regard.load(folder)
    tokens = module.next_tokens(run, "The cat", count=4)
    shares = [share for _, share in tokens]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1
