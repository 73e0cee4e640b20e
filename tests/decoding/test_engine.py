"""Which runtime decodes, how that is found out, and that it is found out once."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from counting import pairs
from regard.decoding import ctranslate2_engine
from regard.decoding import engine as module
from regard.decoding.ctranslate2_engine import CTranslate2Engine
from regard.decoding.engine import Choice
from regard.decoding.torch_engine import TorchEngine, limits_of
from regard.errors import ConfigError
from regard.insight.change import switched_off
from regard.run import Run

NOTES = Path("engines") / "ctranslate2-float32" / "notes.json"


@pytest.fixture
def run(counting: Path, tmp_path: Path) -> Run:
    """A copy, for engines to be kept in, with a validation file to compare them on."""
    folder = shutil.copytree(counting, tmp_path / "run", ignore=shutil.ignore_patterns("engines"))
    held_out = tmp_path / "valid.en"
    held_out.write_text("".join(f"{pair.source}\n" for pair in pairs(70, seed=3)))
    config = json.loads((folder / "config.json").read_text())
    config["data"]["valid_source"] = str(held_out)
    (folder / "config.json").write_text(json.dumps(config))
    return regard.load(folder)


def folder_of(run: Run) -> Path:
    assert run.folder
    return run.folder


def found_out(run: Run) -> dict[str, Any]:
    notes = json.loads((folder_of(run) / NOTES).read_text())
    return next(each for name, each in notes.items() if name.startswith("machine"))


def test_a_faster_engine_is_made_when_there_is_work_enough(run: Run, capsys):
    choice = Choice(run, run.settings.decode)
    assert choice(3).name == "torch"
    assert not (folder_of(run) / "engines").exists(), "three lines are not worth it"
    assert choice(200).name == "ctranslate2"
    assert choice(1).name == "ctranslate2", "now that it is there"
    assert capsys.readouterr().err == (
        "CTranslate2 tried on 64 sentences, alone and together: the same tokens as torch\n"
    )
    known = found_out(run)
    assert (known["fails"], known["differs"], known["compared"]) == ("", 0, 64)
    splits = known[f"beam {run.settings.decode.beam}"]
    assert splits["together"][1] == 1
    assert splits["together"][2] in (16, 32, 64)


def test_what_was_found_out_is_not_asked_again(run: Run, monkeypatch):
    Choice(run, run.settings.decode)(200)
    for name in ("differing", "measured"):
        monkeypatch.setattr(module, name, lambda *_: pytest.fail("it was asked again"))
    assert Choice(run, run.settings.decode)(1).name == "ctranslate2", "a single line is quick, too"


def test_an_engine_that_gives_other_tokens_is_not_taken(run: Run, monkeypatch, capsys):
    """Of the real one nothing can be made to differ, so its answers are changed on their way."""
    real = CTranslate2Engine.search

    def search(self, sources, config, best=None):
        found = real(self, sources, config, best)
        found[7].hypotheses.reverse()
        return found

    monkeypatch.setattr(CTranslate2Engine, "search", search)
    choice = Choice(run, run.settings.decode)
    assert choice(200).name == choice(200).name == "torch"
    assert capsys.readouterr().err == (
        "CTranslate2 tried on 64 sentences, alone and together: 1 translated otherwise than by torch\n"
    )
    monkeypatch.undo()
    assert Choice(run, run.settings.decode)(200).name == "torch", "it is remembered"


def test_what_it_cannot_follow_is_left_to_torch(run: Run, tmp_path: Path):
    steered = run.settings.decode.model_copy(update={"min_length": 2})
    assert Choice(run, steered)(500).name == "torch"
    without_folder = Run(run.settings, run.model, run.tokenizers)
    assert Choice(without_folder, run.settings.decode)(500).name == "torch"
    with pytest.raises(ConfigError) as caught:
        Choice(run, steered, "ctranslate2")
    assert str(caught.value) == ("CTranslate2 cannot decode this: it follows a plain beam alone; use --engine torch")
    moved_away = replace(without_folder, folder=tmp_path / "moved")
    assert Choice(moved_away, run.settings.decode)(500).name == "torch"
    for homeless in (without_folder, moved_away):
        with pytest.raises(ConfigError, match="it is kept in the run's folder, and there is none; use --engine torch"):
            Choice(homeless, run.settings.decode, "ctranslate2")


def test_a_network_that_was_changed_is_decoded_as_it_is(run: Run):
    """By hooks, and by hand: neither is in the run's folder, which the other engine reads."""
    lines = ["one two", "three four five", "six"] * 40
    before = [each.text for each in regard.translate(run, lines, "fr")]
    assert Choice(run, run.settings.decode)(1).name == "ctranslate2"
    with switched_off(run.model, "decoder.blocks.0.cross_attention", 0, 1):
        assert Choice(run, run.settings.decode)(500).name == "torch"
        deaf = [each.text for each in regard.translate(run, lines, "fr", max_length=9)]
    assert deaf != before
    assert [each.text for each in regard.translate(run, lines, "fr")] == before
    assert Choice(run, run.settings.decode)(1).name == "ctranslate2", "nothing is hooked any more"
    with torch.no_grad():
        run.model.output.table.weight.neg_()
    with pytest.raises(ConfigError, match="it reads the run's folder, and the network here has been changed"):
        Choice(run, run.settings.decode, "ctranslate2")
    run.save(folder_of(run))
    assert Choice(run, run.settings.decode, "ctranslate2")(1).name == "ctranslate2", "its folder has it now"


def test_a_single_line_that_comes_first_does_not_decide_for_the_many(run: Run):
    Choice(run, run.settings.decode)(200)
    choice = Choice(run, run.settings.decode)
    alone, together = choice(1), choice(300)
    assert isinstance(alone, CTranslate2Engine)
    assert isinstance(together, CTranslate2Engine)
    known = found_out(run)[f"beam {run.settings.decode.beam}"]
    assert (list(alone.split), list(together.split)) == (known["alone"], known["together"])
    assert choice(1) is alone


def test_a_run_that_may_not_be_written_is_decoded_all_the_same(run: Run, capsys):
    """Root may write anywhere, so a file stands where the folder should be."""
    (folder_of(run) / "engines").write_text("")
    assert Choice(run, run.settings.decode)(200).name == "torch"
    assert "cannot be written, where an engine is kept: " in capsys.readouterr().err


def test_what_is_asked_for_is_what_decodes(run: Run):
    assert Choice(run, run.settings.decode, "torch")(500).name == "torch"
    assert Choice(run, run.settings.decode, "ctranslate2")(1).name == "ctranslate2"
    assert Choice(run, run.settings.decode, precision="int8")(1).name == "ctranslate2"
    refused: list[tuple[dict[str, Any], str]] = [
        ({"wanted": "tensorrt"}, "engine 'tensorrt' is unknown: choose from auto, torch, ctranslate2"),
        (
            {"wanted": "torch", "precision": "int8"},
            "torch decodes in float32, not in int8: use --engine ctranslate2 for that",
        ),
    ]
    for given, message in refused:
        with pytest.raises(ConfigError) as caught:
            Choice(run, run.settings.decode, **given)
        assert str(caught.value) == message


def test_every_engine_translates_alike(run: Run):
    known = pairs(130, seed=12)
    lines = [pair.source for pair in known]
    lines[5] = "  "
    hows: list[dict[str, Any]] = [{"engine": "torch"}, {}, {"precision": "int8"}]
    own, texts, rounded = ([each.text for each in regard.translate(run, lines, "fr", **how)] for how in hows)
    assert texts == own
    assert texts[5] == ""
    assert sum(a == b for a, b in zip(own, rounded, strict=True)) > 120, "numbers of 8 bits may turn a choice"
    best = list(regard.translate(run, lines[:3], "fr", engine="ctranslate2", n_best=3))
    assert [len(each.candidates) for each in best] == [3, 3, 3]


@pytest.mark.parametrize("level", [0.0, 9.0])
def test_a_sentence_that_hung_by_a_hair_is_weighed_and_then_searched_for(run: Run, monkeypatch, level: float):
    real, own, told, asked = CTranslate2Engine.found, TorchEngine.search, [], []

    def found(self, result, config, best):
        told.append(real(self, result, config, best))
        if len(told) == 2:
            told[1].margin = 1e-5  # as if it had hung by a hair
            told[1].hypotheses.reverse()  # and fallen the wrong way
        return told[-1]

    def search(self, sources, config):
        asked.extend(sources)
        return own(self, sources, config)

    texts = ["one two", "three", "four"]
    choice = Choice(run, run.settings.decode, "ctranslate2")
    engine = choice(len(texts))  # which has measured by now
    monkeypatch.setattr(CTranslate2Engine, "found", found)
    monkeypatch.setattr(TorchEngine, "search", search)
    monkeypatch.setattr(ctranslate2_engine, "LEVEL", level)  # what torch finds apart by less is searched for
    sure = engine.search([run.encode_source(text, "fr") for text in texts], run.settings.decode)
    written = [run.target_tokenizer.decode(each.hypotheses[0].ids) for each in sure]
    assert written == ["un deux", "trois", "quatre"]
    assert asked == ([run.encode_source("three", "fr")] if level else [])


def test_weighed_hypotheses_are_as_likely_as_the_search_finds_them(run: Run):
    engine = CTranslate2Engine(run)
    for text in ("one two three four five", "six"):
        source = run.encode_source(text, "fr")
        config = run.settings.decode.model_copy(update={"beam": 4, "max_length": 3})  # which cuts the longer one off
        [own] = TorchEngine(run).search([source], config)
        result = engine.within({0: source}, config, limits_of([source], config)[0])[0]
        weighed = engine.weighed(source, engine.found(result, config, best=4), config)
        best = own.hypotheses[: config.beam]  # ours may know one more that ended; CTranslate2 tells as many as the beam
        assert [each.ids for each in weighed.hypotheses] == [each.ids for each in best]
        assert [each.finished for each in weighed.hypotheses] == [each.finished for each in best]
        for mine, searched in zip(weighed.hypotheses, best, strict=True):
            assert (mine.score, mine.log_probability) == pytest.approx(
                (searched.score, searched.log_probability), abs=1e-5
            )
        shorter = [min(a.length, b.length) ** config.length_penalty for a, b in pairwise(weighed.hypotheses)]
        gaps = [a.score - b.score for a, b in pairwise(weighed.hypotheses)]
        assert weighed.margin == min(gap * length for gap, length in zip(gaps, shorter, strict=True))


def test_sentences_to_compare_come_from_the_validation_file(run: Run):
    held_out = Path(run.settings.data.valid_source)
    held_out.write_text("one two\tun deux\n\nfive\tcinq\n")
    assert module.some_sources(run) == [run.encode_source("one two", "fr"), run.encode_source("five", "fr")]
    held_out.unlink()
    assert len(module.some_sources(run)) == 64, "of the phrasebook"
