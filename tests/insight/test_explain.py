"""The verb explain: the translation that translate gives, and what the model looked at to write it."""

from __future__ import annotations

import json

import pytest
import torch
from typer.testing import CliRunner

import regard
import untrained
from regard.cli import app
from regard.decoding.torch_engine import decode_batch
from regard.errors import DataError, RegardError, RunError
from regard.insight.change import switched_off
from regard.insight.explain import explain
from regard.insight.trace import record
from regard.insight.ways.way import LIMIT
from regard.tokens.text import BOS

TEXT = "The animal didn't cross the street because it was too tired."


def test_the_verb_is_found(run):
    assert regard.explain is explain


def test_the_target_is_what_translate_writes(run):
    [translation] = regard.translate(run, [TEXT], "fr", max_length=9)
    trace = explain(run, TEXT, "fr", max_length=9)
    ids = translation.candidates[0].ids
    assert trace.translation == translation.text
    assert [*trace.target][: len(ids)] == run.target_tokenizer.pieces(ids)
    assert trace.read == ("<s>", *trace.target[:-1]), "each step reads what the one before it wrote"
    assert trace.source == (">>fr<<", *run.source_tokenizer.pieces(run.source_tokenizer.encode(TEXT)), "</s>")
    assert trace.text == TEXT
    S, T = len(trace.source), len(trace.target)
    assert (trace.encoder.shape, trace.decoder.shape, trace.cross.shape) == ((2, 3, S, S), (4, 3, T, T), (4, 3, T, S))


@pytest.mark.parametrize("eager", [True, False])
def test_the_end_is_shown_where_it_was_written_and_only_there(run, eager):
    """A model that ends at once or never; the log-probabilities add up to the hypothesis' own."""
    with torch.no_grad():
        run.model.decoder.blocks[-1].around_feed.norm.bias.copy_(
            run.model.output.table.weight[3] * (50 if eager else -50)
        )
    found = decode_batch(run, [run.encode_source(TEXT, "fr")], run.settings.decode.model_copy(update={"max_length": 6}))
    best = found[0].hypotheses[0]
    trace = explain(run, TEXT, "fr", max_length=6)
    assert best.finished == eager
    assert (trace.target[-1] == "</s>") == eager
    assert len(trace.target) == len(best.ids) + eager
    assert trace.log_probabilities.shape == (len(trace.target),)
    assert trace.log_probabilities.sum() == pytest.approx(best.log_probability, abs=1e-3)


def test_the_pass_is_the_models_own_without_dropout(run):
    """Even while a model trains: explained in eval, and training goes on."""
    calm = explain(run, TEXT, "fr", max_length=6)
    run.model.train()
    busy = explain(run, TEXT, "fr", max_length=6)
    assert run.model.training
    assert all((calm.weights[name] == busy.weights[name]).all() for name in calm.weights)
    with torch.no_grad(), record(run.model.eval()) as again:
        source = torch.tensor([run.encode_source(TEXT, "fr")])
        read = torch.tensor([[BOS]])
        run.model(source, read, torch.ones_like(source, dtype=torch.bool))
    assert (again.encoder == calm.encoder).all()


def test_a_head_can_be_switched_off_while_explaining(run):
    plain = explain(run, TEXT, "fr", max_length=6)
    with switched_off(run.model, "encoder.blocks.0.self_attention", 1):
        without = explain(run, TEXT, "fr", max_length=6)
    assert (plain.encoder[0] == without.encoder[0]).all(), "what the first layer looks at does not depend on it"
    assert not (plain.encoder[1] == without.encoder[1]).all()


def test_what_cannot_be_explained_is_said(run):
    with pytest.raises(DataError, match=r"^there is nothing to explain in an empty sentence: give some text$"):
        explain(run, "  ", "fr")
    with pytest.raises(DataError, match=f"tokens is too long to look at: give one of at most {LIMIT}$"):
        explain(run, "street " * 600, "fr")
    with pytest.raises(RunError, match=r"^this run translates into en and fr: say which, as in --to fr$"):
        explain(run, TEXT)


@pytest.fixture
def folder(run, tmp_path):
    settings = run.settings.model_copy(update={"decode": run.settings.decode.model_copy(update={"max_length": 6})})
    run.settings = settings
    run.save(tmp_path / "run")
    return tmp_path / "run"


def command(*arguments):
    result = CliRunner().invoke(app, ["explain", *map(str, arguments), "--device", "cpu"])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_the_command_prints_the_translation_and_a_picture(run, folder):
    trace = explain(run, TEXT, "fr")
    lines = command(folder, TEXT, "--to", "fr").stdout.splitlines()
    assert lines[0] == trace.translation
    assert lines[2] == "Cross-attention, layer 4, mean of 3 heads"
    chosen = command(folder, TEXT, "--to", "fr", "--layer", "2", "--head", "3").stdout.splitlines()
    assert chosen[2] == "Cross-attention, layer 2, head 3"


def test_the_command_writes_a_picture_or_the_numbers(run, folder, tmp_path):
    command(folder, TEXT, "--to", "fr", "--out", tmp_path / "a.png", "--layer", "1", "--head", "1")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    printed = command(folder, TEXT, "--to", "fr", "--out", tmp_path / "a.json", "--json").stdout
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == printed
    assert json.loads(printed)["translation"] == explain(run, TEXT, "fr").translation


def test_the_command_refuses_other_files_before_it_works(tmp_path):
    with pytest.raises(RegardError) as caught:
        command(tmp_path / "no run", TEXT, "--out", "a.gif")
    assert str(caught.value) == (
        "a.gif ends in neither .png nor .json: a picture is written as .png, its numbers as .json"
    )
    assert command(tmp_path, TEXT, "--layer", "0").exit_code == 2


def test_the_command_names_the_layers_there_are(folder):
    with pytest.raises(RegardError, match=r"^there is no layer 9: they are 1 to 4$"):
        command(folder, TEXT, "--to", "fr", "--layer", "9")
    with pytest.raises(RegardError, match=r"^there is no head 4: they are 1 to 3$"):
        command(folder, TEXT, "--to", "fr", "--head", "4")


def test_the_command_refuses_what_would_be_ignored(tmp_path):
    untrained.reader("fill").save(tmp_path / "run")
    refused = command(tmp_path / "run", "The [MASK] is wide.", "--to", "fr")
    assert refused.exit_code == 2
    assert (
        "--to goes with a run that translates or a run that restores text, not with a run that fills in words: "
        "leave it out." in " ".join(refused.stderr.split())
    )
