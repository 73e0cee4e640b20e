"""Runs add their translations to a corpus: what they say of its sources and of its targets, where that is new."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from counting import pairs
from process import call, refused
from regard.config import DataConfig, validate
from regard.data.corpus import Pair
from regard.errors import ConfigError
from regard.languages import goes
from regard.training.translated import with_translations

CORPUS = [Pair("one two", "deux"), Pair("three", "trois"), Pair("one two", "deux")]


def data(folder: Path, *languages: str) -> DataConfig:
    return validate(DataConfig, {"translated_by": str(folder), "languages": languages}, "test")


def test_what_is_new_joins_the_corpus_and_what_was_there_stays(counting):
    found = with_translations(CORPUS, data(counting, "en", "fr"))
    assert found == [*CORPUS, Pair("one two", "un deux"), Pair("two", "deux")]


def test_the_corpus_may_go_the_other_way(counting):
    turned = [Pair(*pair[::-1]) for pair in CORPUS]
    found = with_translations(turned, data(counting, "fr", "en"))
    assert found == [*turned, Pair("deux", "two"), Pair("un deux", "one two")]


def test_several_runs_say_the_same_once(counting):
    twice = data(counting, "en", "fr").model_copy(update={"translated_by": (str(counting), str(counting))})
    assert with_translations(CORPUS, twice) == with_translations(CORPUS, data(counting, "en", "fr"))


@pytest.mark.parametrize(
    ("languages", "said"),
    [
        (("en", "de"), "which is en → de"),
        ((), "which is of languages without names: give --languages"),
    ],
)
def test_a_run_of_other_languages_is_refused(counting, languages, said):
    with pytest.raises(ConfigError) as caught:
        with_translations(CORPUS, data(counting, *languages))
    told = f"data.translated_by={counting} translates neither way of this corpus, {said}"
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("run", "way", "expected"),
    [
        ({"languages": ["en", "de"]}, ("en", "de"), True),
        ({"languages": ["en", "de"]}, ("de", "en"), False),
        ({"languages": ["en", "de"], "both_ways": True}, ("de", "en"), True),
        ({"languages": ["en", "de"], "both_ways": True}, ("de", "fr"), False),
        ({"languages": ["en", "de"], "both_ways": True}, (None, None), False),
        ({"languages": ["en", "de"]}, (None, None), True),
        ({}, ("en", "de"), True),
        ({"languages": ["fr", "en", "de"], "tags": "both"}, ("de", "fr"), True),
        ({"languages": ["fr", "en", "de"], "tags": "target"}, ("de", "it"), False),
    ],
)
def test_which_ways_a_run_goes(run, way, expected):
    assert goes(validate(DataConfig, run, "test"), *way) is expected


def test_a_run_learns_from_another_s_translations(counting, tmp_path):
    given = [f"{pair.source}\t{pair.target} {pair.target}" for pair in pairs(40, seed=7)]
    (tmp_path / "pairs.tsv").write_text("\n".join(given) + "\n")
    asked = ["--languages", "en,fr", "--set", f"data.translated_by={counting}"]
    small = ["--set", "train.steps=2", "--set", "tokenizer.size=320", "--set", "model.width=32"]
    done = call("train", tmp_path / "pairs.tsv", *asked, *small, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert f"{counting}: " in done.stderr
    assert "pairs more, to learn from beside the " in done.stderr
    assert regard.load(tmp_path / "run").settings.data.translated_by == (str(counting),)

    said = refused("train", "--text", tmp_path / "pairs.tsv", *asked, "--out", tmp_path / "text")
    assert "data.translated_by=" in said
    assert "means nothing to the task write" in said
