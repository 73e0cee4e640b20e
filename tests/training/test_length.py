"""The length penalty that a run ends up with is the one by which its validation set is translated best."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from counting import pairs, settings
from regard.config import Settings, validate
from regard.data.direction import Directed, directed
from regard.decoding.translate import translate_together
from regard.errors import ConfigError
from regard.training.length import PENALTIES, tuned
from regard.training.score import score
from regard.training.train import train_pairs_into


def by_searching(run: regard.Run, held_out: list[Directed], length_penalty: float) -> float:
    config = run.settings.decode.model_copy(update={"length_penalty": length_penalty})
    found = translate_together(run, [(pair.source, pair.to) for pair in held_out], config)
    return score([each.text for each in found], [pair.target for pair in held_out]).bleu


@pytest.fixture(scope="module")
def unsure(tmp_path_factory) -> Path:
    """A run that has begun to learn: its hypotheses are of many lengths."""
    folder = tmp_path_factory.mktemp("runs") / "unsure"
    begun = settings(steps=120, warmup=10, tune_length=True)
    train_pairs_into(folder, begun, pairs(200, seed=1), pairs(20, seed=2), on="cpu")
    return folder


@pytest.mark.parametrize(("end", "kind"), [(min, "paper"), (max, "length")], ids=["short", "long"])
def test_one_search_finds_the_penalty_that_many_searches_find(unsure, end, kind):
    """References that are the shortest, or the longest, of what a beam finds ask for a low or a high penalty."""
    run = regard.load(unsure)
    run.settings = run.settings.model_copy(
        update={"decode": run.settings.decode.model_copy(update={"penalty": kind, "beam": 7})}
    )
    given = [pair.source for pair in pairs(30, seed=5)]
    found = regard.translate(run, given, to="fr", n_best=7)
    wanted = [end(each.candidates, key=lambda way: len(way.ids)).text for each in found]
    held_out = [Directed(source, target, "fr") for source, target in zip(given, wanted, strict=True)]

    scores = {each: by_searching(run, held_out, each) for each in PENALTIES}
    chosen = tuned(run, held_out).length_penalty
    assert scores[chosen] == max(scores.values())
    assert len(set(scores.values())) > 2, "the penalty makes a difference here"
    assert chosen < 1 if end is min else chosen > 1


def test_where_all_are_as_good_a_run_keeps_its_own(counting):
    run = regard.load(counting)
    held_out = directed(pairs(20, seed=2), run.settings.data)
    assert len({by_searching(run, held_out, each) for each in (0.8, 1.0, 1.2)}) == 1
    for own in (1.0, 0.7, 5.0):
        decode = run.settings.decode.model_copy(update={"length_penalty": own})
        assert by_searching(run, held_out, own) == by_searching(run, held_out, 1.0)
        run.settings = run.settings.model_copy(update={"decode": decode})
        assert tuned(run, held_out) == decode


def test_training_ends_with_the_penalty_in_the_run(unsure):
    run = regard.load(unsure)
    kept, held_out = run.settings.decode.length_penalty, directed(pairs(20, seed=2), run.settings.data)
    assert by_searching(run, held_out, kept) == max(by_searching(run, held_out, each) for each in PENALTIES)
    assert f"length penalty {kept:g}" in (unsure / "README.md").read_text()


def test_draws_and_coverage_leave_nothing_to_tune():
    for search in ({"samples": 4}, {"coverage": 0.2}):
        with pytest.raises(ConfigError, match=r"train\.tune_length chooses a length penalty for a beam"):
            validate(Settings, {"train": {"tune_length": True}, "decode": search}, "test")
