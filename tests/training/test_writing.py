"""To learn to write: the same run twice, taken up again bit for bit, on time, and told what it cannot do."""

from __future__ import annotations

import json

import pytest
import torch
import torch.nn.functional as F

import regard
from regard.config import Gpt2Config, Settings, validate
from regard.data.text import Prose, blocks, collate_blocks
from regard.errors import ConfigError, DataError
from regard.model.gpt2 import Gpt2
from regard.training import suited, tasks
from regard.training.objective import NextToken
from regard.training.suited import SCALES, suit_text
from regard.training.train import train, train_into
from rhymes import lines, prose, settings

SHORT = {"steps": 12, "warmup": 4, "validate_every": 3, "log_every": 2, "schedule": "inverse-sqrt"}


def trained(folder, resume=False, kind="characters", **train):
    chosen = settings(kind, **{**SHORT, **train})
    chosen = chosen.model_copy(update={"model": chosen.model.model_copy(update={"dropout": 0.2})})
    return train_into(folder, chosen, prose(), on="cpu", resume=resume)


def same(one, other) -> bool:
    states = one.model.state_dict(), other.model.state_dict()
    return all(torch.equal(a, b) for a, b in zip(*(state.values() for state in states), strict=True))


def test_the_same_seed_is_the_same_run_and_it_goes_on_as_if_it_had_never_stopped(tmp_path):
    straight, again = trained(tmp_path / "straight"), trained(tmp_path / "again")
    assert same(straight, again)
    trained(tmp_path / "broken", steps=6)
    torch.manual_seed(12345)
    assert same(straight, trained(tmp_path / "broken", resume=True))
    assert not same(straight, trained(tmp_path / "other", seed=2))


def test_the_folder_holds_a_run_that_loads_and_a_card_that_tells_of_it(rhymes):
    run = regard.load(rhymes, on="cpu")
    assert (run.task, run.window, run.tokenizers["text"].characters[:2]) == ("write", 24, "\n ")
    assert sorted(path.name for path in rhymes.iterdir()) == [
        *("README.md", "checkpoints", "config.json", "curve.png", "metrics.jsonl", "model.safetensors"),
        "tokenizer.json",
    ]
    card = (rhymes / "README.md").read_text(encoding="utf-8")
    for words in (
        f"| validation | set aside: {len(lines(40, seed=2))} characters |",
        "| loss | ",
        "| per character | ",
        "windows of 24 in strides of 12",
    ):
        assert words in card
    assert f"regard generate {rhymes} --prompt" in card
    metrics = [json.loads(line) for line in (rhymes / "metrics.jsonl").read_text().splitlines()]
    validated = [line for line in metrics if "valid_loss" in line]
    assert validated[-1]["valid_loss"] < 0.9 < 2 < metrics[0]["loss"]


def test_subwords_write_too(tmp_path):
    run = trained(tmp_path / "run", kind="unigram", steps=3, warmup=1)
    [text] = regard.generate(regard.load(tmp_path / "run"), "one two\n", tokens=12)
    assert str(text).startswith("one two\n")
    assert (tmp_path / "run" / "tokenizer.model").exists()
    assert run.writer.decode(run.writer.encode("six\nseven")) == "six\nseven"


def test_the_loss_is_the_cross_entropy_of_torch():
    torch.manual_seed(1)
    model = Gpt2(Gpt2Config(vocabulary=23, width=12, hidden=20, heads=3, layers=2, dropout=0.0))
    batch = collate_blocks(blocks(torch.randint(4, 23, (37,)), 7, "0"))
    for smoothing in (0.0, 0.1):
        loss = NextToken(smoothing).loss(model, batch)
        logits = model(batch.reads).flatten(0, 1)
        expected = F.cross_entropy(logits, batch.labels.flatten(), label_smoothing=smoothing, reduction="sum")
        torch.testing.assert_close(loss.total, expected)
        torch.testing.assert_close(loss.surprise, F.cross_entropy(logits, batch.labels.flatten(), reduction="sum"))
        assert loss.tokens == batch.tokens == batch.labels.numel()


def test_from_files_with_a_time_and_nothing_else_said(tmp_path, capsys):
    (tmp_path / "a.txt").write_text(lines(300, seed=1))
    (tmp_path / "b.txt").write_text(lines(20, seed=2))
    small = {"width": 16, "hidden": 32, "heads": 2, "layers": 1}
    given = {"data": {"text": str(tmp_path / "a.txt")}, "model": small, "train": {"precision": "float32"}}
    run = train(given, tmp_path / "run", time="6s", on="cpu")
    assert (run.settings.model.family, run.settings.tokenizer.kind) == ("gpt2", "characters")
    assert (run.settings.train.schedule, run.settings.train.label_smoothing) == ("stable", 0.0)
    whole = len(lines(300, seed=1))
    said = capsys.readouterr().err
    assert f"no validation text: the last {whole - int(whole * 0.9):,} of {whole:,} characters set aside" in said
    files = {"text": [str(tmp_path / "a.txt")], "valid_text": str(tmp_path / "b.txt"), "documents": "blank-lines"}
    corpus = tasks.choose(run.settings).read(validate(Settings, {"data": files}, "test"))
    assert corpus == Prose([lines(300, seed=1).rstrip("\n")], [lines(20, seed=2).rstrip("\n")])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"r_drop": 1.0}, "train.r_drop=1.0 means nothing to the task write: leave it out"),
        ({"start": "neighbours"}, "train.start=neighbours means nothing to the task write: leave it out"),
        ({"choose_by": "bleu"}, "train.choose_by=bleu is no figure of the task write: choose loss"),
        ({"task": "fill"}, "train.task=fill is nothing that the family gpt2 can learn: choose write"),
        (
            {"batch_tokens": 20},
            "a block of 24 tokens does not fit train.batch_tokens=20: "
            "set data.block to less, or train.batch_tokens to more",
        ),
    ],
)
def test_what_cannot_be_learned_so(tmp_path, change, sentence):
    with pytest.raises(ConfigError) as caught:
        trained(tmp_path / "run", **change)
    assert str(caught.value) == sentence


def test_without_text_there_is_nothing_to_learn(tmp_path):
    with pytest.raises(ConfigError) as caught:
        train(settings(), tmp_path / "run")
    assert str(caught.value) == "there is nothing to train on: give --text and a file"
    with pytest.raises(DataError) as short:
        train_into(tmp_path / "run", settings(steps=1, warmup=0), Prose(["a"], []), on="cpu")
    assert str(short.value) == "there is next to no text to learn from: give more"


def test_more_text_gets_a_larger_network_and_less_time_a_smaller_one(monkeypatch):
    monkeypatch.setattr(suited, "operations_a_second", lambda: 150e9)
    family = validate(Settings, {"model": {"family": "gpt2"}}, "test")
    chosen = [suit_text(family, scale.characters + 10_000) for scale in SCALES]
    assert [each.model.width for each in chosen] == [scale.sizes["width"] for scale in SCALES]
    assert [each.tokenizer.kind for each in chosen] == ["characters", "unigram", "unigram"]
    soon, late = (suit_text(family, 200_000_000, hours * 3600) for hours in (1, 10_000))
    assert soon.model.width < late.model.width
    assert soon.train.steps > 1
    given = validate(Settings, {"model": {"family": "gpt2", "width": 64}, "train": {"steps": 30}}, "test")
    kept = suit_text(given, 1000)
    assert isinstance(kept.model, Gpt2Config)
    assert (kept.model.width, kept.train.steps, kept.train.label_smoothing) == (64, 30, 0.0)
    assert kept.data.block == kept.model.max_positions


@pytest.mark.parametrize("scale", SCALES)
def test_the_work_of_a_network_is_six_operations_for_each_number_in_its_matrices(scale):
    vocabulary = {"vocabulary": scale.vocabulary, "position": "rotary"}
    with torch.device("meta"):
        model = Gpt2(Gpt2Config.model_validate({**scale.sizes, **vocabulary}))
    numbers = sum(parameter.numel() for parameter in model.parameters())
    assert scale.work(1.0) == pytest.approx(6 * numbers, rel=0.02)
