"""To learn to fill in: the loss against torch's own, runs that resume and start from others, students of teachers."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from typer.testing import CliRunner

import regard
from gaps import prose, settings
from regard.cli import app
from regard.config import Settings, validate
from regard.data.marked import Marked, collate_marked
from regard.data.masking import Text
from regard.data.text import Prose
from regard.errors import ConfigError, DataError, RunError
from regard.model import build
from regard.training.distilling import Distilling
from regard.training.hidden import Hiding
from regard.training.inherit import inherit, like_its_parent, parent_of
from regard.training.tasks import choose
from regard.training.tasks.filling import Filling, Finding, up_to
from regard.training.train import train, train_into

SHORT: dict[str, Any] = {"steps": 8, "warmup": 2, "validate_every": 4, "log_every": 4}


def same(one, other) -> bool:
    states = one.model.state_dict(), other.model.state_dict()
    return all(torch.equal(a, b) for a, b in zip(*(state.values() for state in states), strict=True))


def some_batch(vocabulary: int):
    texts = [Marked([2, 7, 1, 9, 3], [2], [8]), Marked([2, 1, 11, 3], [1, 2], [10, 11])]
    assert vocabulary > 12
    return collate_marked(texts)


def test_the_loss_is_the_cross_entropy_at_the_hidden_tokens_alone(gaps):
    model, batch = regard.load(gaps).model, some_batch(300)
    logits = model(batch.ids, batch.readable)
    expected: Any = sum(
        -logits[row, place].log_softmax(-1)[label] for row, place, label in [(0, 2, 8), (1, 1, 10), (1, 2, 11)]
    )
    found = Finding().loss(model, batch)
    torch.testing.assert_close(found.total, expected)
    torch.testing.assert_close(found.surprise, expected.detach())
    assert found.tokens == 3
    [gradient, reference] = (
        torch.autograd.grad(each, model.embedding.table.weight) for each in (found.total, expected)
    )
    torch.testing.assert_close(gradient, reference, rtol=1e-4, atol=1e-5)


def test_a_run_goes_on_as_if_it_had_never_stopped(tmp_path):
    def trained(folder, resume=False, **more):
        chosen = settings(model={"dropout": 0.2}, **{**SHORT, "schedule": "constant", **more})
        return train_into(folder, chosen, prose(), on="cpu", resume=resume)

    straight = trained(tmp_path / "straight")
    trained(tmp_path / "broken", steps=4)
    torch.manual_seed(999)
    assert same(straight, trained(tmp_path / "broken", resume=True))


def test_the_card_says_how_much_is_found(gaps):
    card = (gaps / "README.md").read_text(encoding="utf-8")
    assert "gaps: fills in words" in card
    assert "| hidden tokens found | " in card
    assert f'regard fill {gaps} "The [MASK] sat on the mat." --top 5' in card


def test_validation_hides_the_same_tokens_each_time_and_training_never(gaps):
    task = Filling(regard.load(gaps), prose())
    first, second = task.validate(), task.validate()
    assert first
    assert first == second
    assert first.figures["accuracy"] > 0.8
    assert first.figures["perplexity"] == pytest.approx(math.exp(first.figures["loss"]))
    assert " [MASK]" in f" {first.samples[0]}"
    assert "  →  ▁" in first.samples[0]
    epochs = [task.collate(task.examples(epoch)[:20]).ids.tolist() for epoch in (0, 0, 1)]
    assert epochs[0] == epochs[1] != epochs[2]
    whole = settings(whole_words=True).train
    task.run.settings = task.run.settings.model_copy(update={"train": whole})
    assert Hiding(task.run).words([2, *task.tokenizer.encode("one xy"), 3])[:2] == [-1, 0]


def test_the_command_scores_what_validation_does(gaps, tmp_path):
    """On the same text, the same tokens are hidden and as many found."""
    held = tmp_path / "held.txt"
    held.write_text("\n".join(prose().valid), encoding="utf-8")
    run = regard.load(gaps)
    lines = run.settings.data.model_copy(update={"documents": "lines"})
    run.settings = run.settings.model_copy(update={"data": lines})
    trained = Filling(run, prose()).validate()
    assert trained is not None
    found = regard.evaluate_hidden(run, [held])
    assert (found.accuracy, found.loss) == (trained.figures["accuracy"], pytest.approx(trained.figures["loss"]))
    assert found.interval[0] < found.accuracy < found.interval[1]
    told = CliRunner().invoke(app, ["evaluate", str(gaps), "--text", str(held)])
    assert " hidden tokens found, 95 % interval " in told.stdout
    refused = CliRunner().invoke(app, ["evaluate", str(gaps), "--text", str(held), "--stride", "3"])
    assert refused.exit_code == 2
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    with pytest.raises(DataError, match="empty"):
        regard.evaluate_hidden(run, [tmp_path / "empty.txt"])


def test_a_validation_reads_the_first_texts_up_to_a_number_of_tokens():
    texts = [Text([2] * size, "") for size in (4, 3, 5, 6)]
    assert [up_to(tokens, texts) for tokens in (0, 4, 5, 99)] == [[], texts[:1], texts[:2], texts]


def test_without_validation_text_nothing_is_validated(gaps):
    task = Filling(regard.load(gaps), Prose(prose().train, []))
    assert task.validate() is None
    assert task.conclude().scores == {}


@pytest.mark.parametrize(
    ("change", "corpus", "message"),
    [
        (
            {"model": {"fills": False}},
            None,
            "model.fills=false has no head that fills in words: leave it out to train one",
        ),
        (
            {"batch_tokens": 10},
            None,
            "texts of up to 16 tokens do not fit train.batch_tokens=10: set data.block to less, but 3 or more, or "
            "train.batch_tokens to more",
        ),
        ({}, Prose(["", " "], []), "there is no text to learn from: give a file with some"),
    ],
)
def test_what_cannot_be_learned_is_told(gaps, change, corpus, message):
    run = regard.load(gaps)
    run.settings = settings(**change)
    run.model.config = run.settings.model
    with pytest.raises((ConfigError, DataError)) as caught:
        Filling(run, corpus or prose())
    assert str(caught.value) == message


def test_from_files_it_suits_the_corpus_and_the_time(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(prose().train), encoding="utf-8")
    given = {"data": {"text": str(text), "documents": "lines"}, "model": {"family": "roberta"}}
    chosen = validate(Settings, given, "test")
    corpus = choose(chosen).read(chosen)
    assert all(line in prose().train for line in corpus.train[:-1]), "a line is a text"
    suited = choose(chosen).suit(chosen, corpus, None)
    assert (suited.model.family, suited.model.width, suited.model.norm, suited.tokenizer.kind) == (
        *("roberta", 128, "pre"),
        "unigram",
    )


# ---------------------------------------------------------------------------------------------- starting from others


def test_a_run_starts_from_another_and_only_its_new_head_is_new(gaps, tmp_path, capsys):
    given = {"train": {"start_from": str(gaps), "task": "classify"}, "data": {"labelled": "x.tsv"}}
    chosen: Any = validate(Settings, like_its_parent(given), "test")
    parent = regard.load(gaps)
    assert chosen.model == parent.settings.model.model_copy(update={"vocabulary": chosen.model.vocabulary})
    assert chosen.tokenizer == parent.settings.tokenizer

    child = regard.load(gaps)
    torch.manual_seed(5)
    child.model = build(chosen.model.model_copy(update={"fills": False, "classes": 3}))
    inherit(child, parent)
    own, theirs = dict(child.model.named_parameters()), dict(parent.model.named_parameters())
    assert all(torch.equal(own[name], theirs[name]) for name in own.keys() & theirs.keys())
    assert {name.split(".")[0] for name in own.keys() - theirs.keys()} == {"pooler", "classifier"}
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith(f"starting from {gaps}: ")
    assert said.endswith("new: pooler, classifier")


def test_what_fits_nothing_cannot_be_started_from(gaps):
    child, parent = regard.load(gaps), regard.load(gaps)
    child.model = torch.nn.Linear(3, 5)
    with pytest.raises(ConfigError) as caught:
        inherit(child, parent)
    assert str(caught.value) == (
        f"{gaps} has no parameter that fits this network: leave its sizes out, and they are as there"
    )


def test_settings_that_start_from_nothing_are_left_alone():
    for given in ({}, {"train": {"steps": 3}}, {"train": 7}, {"train": {"start_from": "x"}, "model": 3}):
        assert like_its_parent(given) == given
    with pytest.raises(RunError, match=r"^nowhere is not a run folder"):
        like_its_parent({"train": {"start_from": "nowhere"}})


# ------------------------------------------------------------------------------------------------------ distillation


def test_a_student_begins_with_every_other_layer_of_its_teacher(tmp_path):
    teacher = regard.load(_deep(tmp_path))
    given = {"train": {"teacher": str(teacher.folder)}, "model": {"family": "distilbert"}}
    chosen: Any = validate(Settings, like_its_parent(given), "test").model
    assert (chosen.layers, chosen.width, chosen.token_types, chosen.pooling) == (2, 8, 0, "relu")
    student = regard.load(str(teacher.folder))
    student.model = build(chosen.model_copy(update={"vocabulary": len(teacher.tokenizers["text"])}))
    inherit(student, teacher)
    for number, block in enumerate(student.model.encoder.blocks):
        expected = teacher.model.encoder.blocks[2 * number].state_dict()
        assert all(torch.equal(value, expected[name]) for name, value in block.state_dict().items())


def _deep(tmp_path) -> Any:
    """A teacher of four layers, hardly trained."""
    chosen = settings(model={"width": 8, "hidden": 12, "layers": 4}, **{**SHORT, "steps": 1, "warmup": 0})
    return train_into(tmp_path / "deep", chosen, Prose(prose().train[:50], prose().valid[:5]), on="cpu").folder


def test_the_loss_of_distillation_is_its_formula(gaps, tmp_path):
    teacher, batch = regard.load(gaps), some_batch(300)
    chosen = settings(teacher=str(gaps), temperature=3.0)
    torch.manual_seed(3)
    student: Any = build(teacher.settings.model.model_copy(update={"layers": 1}))
    objective = Distilling(regard.load(gaps), chosen.train)
    found = objective.loss(student, batch)

    ours, theirs = student(batch.ids, batch.readable), teacher.model(batch.ids, batch.readable).detach()
    soft = hard = 0.0
    for row, place, label in [(0, 2, 8), (1, 1, 10), (1, 2, 11)]:
        p, q = (theirs[row, place] / 3).softmax(-1), (ours[row, place] / 3).softmax(-1)
        soft += (p * (p.log() - q.log())).sum()
        hard += -ours[row, place].log_softmax(-1)[label]
    states = student.states(batch.ids, batch.readable), teacher.model.states(batch.ids, batch.readable)
    apart = sum(
        1 - F.cosine_similarity(states[0][r, t], states[1][r, t], dim=0) for r in (0, 1) for t in range([5, 4][r])
    )
    torch.testing.assert_close(found.total, 5 * 9 * soft + 2 * hard + 0.4 * apart, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found.surprise, hard.detach())
    assert torch.autograd.grad(found.total, student.embedding.table.weight)[0].abs().sum() > 0
    assert all(parameter.grad is None for parameter in objective.teacher.parameters())
    torch.testing.assert_close(
        objective.loss(teacher.model, batch).total, 2 * Finding().loss(teacher.model, batch).total
    )


def test_a_student_learns_from_its_teacher(gaps, tmp_path):
    given = {
        "data": {"text": str(tmp_path / "text.txt"), "documents": "lines"},
        "model": {"family": "distilbert"},
        "train": {
            **settings(**{**SHORT, "steps": 60}).train.model_dump(
                include={"steps", "batch_tokens", "learning_rate", "hide"}
            )
        },
    }
    given["train"]["teacher"] = str(gaps)
    (tmp_path / "text.txt").write_text("\n".join(prose().train), encoding="utf-8")
    run = train(given, tmp_path / "student", on="cpu")
    assert (run.model.config.layers, run.model.config.token_types) == (1, 0)
    assert run.tokenizers["text"].pieces(range(20)) == regard.load(gaps).tokenizers["text"].pieces(range(20))
    found = Filling(run, prose()).validate()
    assert found
    assert found.figures["accuracy"] > 0.6


def test_a_teacher_teaches_its_own_task_and_width(gaps, rhymes):
    run = regard.load(gaps)
    with pytest.raises(ConfigError) as caught:
        parent_of(settings(teacher="runs/bert", task="tag"))
    assert str(caught.value) == (
        "train.teacher=runs/bert teaches to fill in words, and train.task=tag is another task: leave it out, or start "
        "from it with train.start_from"
    )
    with pytest.raises(RunError) as caught:
        Distilling(run, settings(teacher=str(rhymes)).train)
    assert str(caught.value) == f"{rhymes} writes text and does not fill in words: try regard generate {rhymes}"
    run.settings = settings(model={"width": 16})
    with pytest.raises(ConfigError) as caught:
        Distilling(run, settings(teacher=str(gaps)).train)
    assert str(caught.value) == (
        "a student of width 16 cannot be compared with its teacher's states of 32: leave model.width out"
    )
