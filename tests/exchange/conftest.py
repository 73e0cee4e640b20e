"""Runs to give away: two that can count, and two vocabularies for random ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from counting import pairs, settings
from foreign_translators import learned
from regard.config import Settings, validate
from regard.run import Run, load
from regard.tokens.text import TextTokenizer
from regard.training.train import train_pairs_into
from traded import TEXTS


@pytest.fixture(scope="session")
def post_norm(counting: Path, tmp_path_factory) -> Run:
    """A copy of the run that can count: an engine would leave its folder in it."""
    return load(shutil.copytree(counting, tmp_path_factory.mktemp("runs") / "post"))


@pytest.fixture(scope="session")
def pre_norm(tmp_path_factory) -> Run:
    folder, given = tmp_path_factory.mktemp("runs") / "pre", settings(steps=200, validate_every=100).model_dump()
    given["model"]["norm"] = "pre"
    train_pairs_into(folder, validate(Settings, given, "test"), pairs(400, seed=1), pairs(20, seed=2), on="cpu")
    return load(folder)


@pytest.fixture(scope="session")
def tokenizers() -> tuple[TextTokenizer, TextTokenizer]:
    """Two vocabularies of different sizes and kinds."""
    texts = TEXTS + [pair.source for pair in pairs(50, seed=3)]
    target = [pair.target for pair in pairs(50, seed=3)]
    return TextTokenizer.learn(texts, size=330), TextTokenizer.learn(target, size=310, kind="bpe")


@pytest.fixture(scope="session")
def models() -> tuple[bytes, bytes]:
    """Two vocabularies as other people have them."""
    both = pairs(60, seed=4)
    source = learned([pair.source for pair in both], "unigram")
    return source, learned([pair.target for pair in both], "unigram")
