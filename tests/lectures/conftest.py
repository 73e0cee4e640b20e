"""What the lectures' tests share: the measuring functions of benchmarks/lectures.py, and two models that it trained."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))  # so that benchmarks.lectures is found

from benchmarks.lectures import learn, pupil
from regard.model.translator import Translator


@pytest.fixture(scope="session")
def reader() -> Translator:
    """A translator that has learned, in some seconds, to read sentences of up to 8 words backwards."""
    return taught("halves")


@pytest.fixture(scope="session")
def orderless() -> Translator:
    """The same, taught the same, without positions."""
    return taught("none")


def taught(position: str) -> Translator:
    torch.set_num_threads(1)
    model = pupil(position=position)
    learn(model)
    return model
