"""The folder that is trained into: what is refused leaves it as it was, and nothing in a new one."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import gaps as filling
import regard
import rhymes as writing
import stripes
from regard.compiled import Kernel
from regard.config import Settings, read_recipe
from regard.data.labelled import Parts
from regard.errors import ConfigError, RegardError, RunError
from regard.training.deadline import Deadline
from regard.training.train import KERNELS, check_room, kernels, train_into
from regard.workers import threads

PICTURES, TEXTS, FLAGS = (stripes.parts(make, 20, 4) for make in (stripes.stripes, stripes.moods, stripes.flags))
ALIKE = replace(PICTURES.train, labels=np.zeros(20, dtype=int), names=("lying",))
STRANGE = replace(TEXTS.valid, names=("dull", "sad"))


def with_patch(side: int) -> Settings:
    settings = stripes.flag_settings()
    return settings.model_copy(update={"tokenizer": settings.tokenizer.model_copy(update={"patch": side})})


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def old(trained, tmp_path) -> Path:
    """A run that somebody may still need."""
    return shutil.copytree(trained["moods"], tmp_path / "old")


def refused(settings: Settings, corpus: Any, old: Path, kind: type[RegardError] = RegardError) -> str:
    """Why nothing is trained, neither over an old run nor into a new folder, which are then as they were."""
    before, new = files(old), old.parent / "new"
    with pytest.raises(kind):
        train_into(new, settings, corpus, on="cpu")
    assert not new.exists()
    with pytest.raises(kind) as caught:
        train_into(old, settings, corpus, on="cpu", overwrite=True)
    assert files(old) == before
    return str(caught.value)


@pytest.mark.parametrize(
    ("settings", "corpus", "message"),
    [
        pytest.param(writing.settings(batch_tokens=9), writing.prose(), "a block of 24 tokens does", id="window"),
        pytest.param(with_patch(5), FLAGS, "pictures of 8 × 12 pixels do not split into patches of 5", id="codec"),
        pytest.param(
            stripes.stripe_settings(), Parts(ALIKE, ALIKE), "all there is to learn from is of", id="one class"
        ),
        pytest.param(stripes.mood_settings(), Parts(TEXTS.train, STRANGE), "the class 'dull' is not one", id="class"),
    ],
)
def test_a_mistake_costs_no_run_and_leaves_no_half_of_one(old, settings, corpus, message):
    assert refused(settings, corpus, old).startswith(message)


def test_nor_does_a_teacher_that_does_not_fit_or_a_package_that_is_not_there(gaps, old, monkeypatch):
    narrow = filling.settings(model={"width": 16}, teacher=str(gaps))
    assert refused(narrow, filling.prose(), old).startswith("a student of width 16 cannot be compared with its teacher")
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard.writer", None)
    assert refused(filling.settings(tensorboard=True), filling.prose(), old, ConfigError).startswith(
        "train.tensorboard=true needs the package tensorboard"
    )


def test_a_folder_that_holds_something_is_refused_before_anything_is_read(old):
    with pytest.raises(RunError) as caught:
        regard.train({"data": {"labelled": "nowhere.tsv"}}, old, on="cpu")
    assert str(caught.value) == (
        f"{old} is not empty: choose another --out, or go on with --resume, or replace it with --overwrite"
    )


def test_an_old_run_makes_room_for_a_new_one(old):
    (old / "notes.txt").write_text("of the old one")
    run = train_into(old, writing.settings(steps=1, warmup=0), writing.prose(), on="cpu", overwrite=True)
    assert run.folder == old
    assert not (old / "notes.txt").exists()
    assert (old / "model.safetensors").is_file()


@pytest.mark.parametrize("name", ["train.start_from", "train.teacher", "data.translated_by"])
@pytest.mark.parametrize("within", [".", "parts/first"])
def test_the_run_that_another_starts_from_is_not_overwritten_by_it(old, name, within):
    section, key = name.split(".")
    settings = Settings.model_validate({section: {key: str(old / within)}})
    with pytest.raises(RunError) as caught:
        check_room(old, True, settings)
    assert str(caught.value) == (f"{name}={old / within} would be lost with --overwrite of {old}: choose another --out")
    check_room(old.parent / "new", True, settings)


def test_a_folder_that_cannot_be_made_is_told_first(old, monkeypatch):
    settings = Settings()
    with pytest.raises(RunError, match=r"config\.json/run cannot be made: Not a directory; choose another --out$"):
        check_room(old / "config.json" / "run", False, settings)
    with pytest.raises(RunError, match=r"config\.json is a file: choose another folder for --out$"):
        check_room(old / "config.json", False, settings)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(RunError, match=r"new/run cannot be made: Permission denied; choose another --out$"):
        check_room(old.parent / "new" / "run", False, settings)


def test_a_time_is_refused_where_the_learning_rate_is_a_factor(tmp_path):
    """The paper's recipe has Noam's schedule; its 1.0 taken for a rate would end in nothing."""
    for name in ("en", "de"):
        (tmp_path / name).write_text("one\ntwo\n")
    recipe = read_recipe(Path(__file__).parents[2] / "recipes" / "wmt14-base.toml")
    with pytest.raises(ConfigError, match=r"train\.learning_rate=1 is a factor.*--set train\.schedule=stable"):
        regard.train(
            {**recipe, "data": {"source": str(tmp_path / "en"), "target": str(tmp_path / "de")}},
            tmp_path / "run",
            time="1m",
        )
    assert not (tmp_path / "run").exists()


class Machine:
    """A clock by which whatever is computed with one thread takes so long, and with several so long."""

    def __init__(self, one: float, several: float):
        self.now, self.one, self.several = 0.0, one, several

    def __call__(self) -> float:
        self.now += self.one if torch.get_num_threads() == 1 else self.several
        return self.now


@pytest.mark.parametrize(("one", "several", "taken"), [(0.5, 0.7, 1), (0.5, 0.52, 2), (0.5, 0.3, 2)])
def test_under_a_time_limit_one_thread_learns_where_several_hold_each_other_up(one, several, taken, tmp_path, capsys):
    """It must be clearly faster; what was chosen is in the run, and nothing of it is left in the process."""
    with threads(2):
        deadline = Deadline(60, clock=Machine(one, several))
        train_into(tmp_path / "run", stripes.mood_settings(), TEXTS, deadline=deadline, on="cpu")
        assert torch.get_num_threads() == 2
    assert regard.load(tmp_path / "run").settings.train.threads == taken
    assert ("training by 1 of 2 threads" in capsys.readouterr().err) == (taken == 1)


def test_without_a_time_limit_all_threads_learn_so_that_a_run_repeats(tmp_path):
    settings = stripes.mood_settings()
    with threads(2):
        train_into(tmp_path / "all", settings, TEXTS, on="cpu")
    again = regard.load(tmp_path / "all").settings
    assert again.train.threads == 2
    with threads(1):
        train_into(tmp_path / "again", again, TEXTS, on="cpu")
    alone = settings.model_copy(update={"train": settings.train.model_copy(update={"threads": 1})})
    with threads(2):
        train_into(tmp_path / "alone", alone, TEXTS, on="cpu")
    first, second = (files(tmp_path / name)[tmp_path / name / "model.safetensors"] for name in ("all", "again"))
    assert first == second, "by the number of threads that the run tells"
    assert regard.load(tmp_path / "alone").settings.train.threads == 1


def test_it_is_told_what_computes_and_why(monkeypatch):
    for name, home in KERNELS.items():
        why = "torch's kernel: ours takes 1.50 × as long here" if name == "matrices" else "a kernel of ours"
        monkeypatch.setattr(home, "kernel", lambda why=why: Kernel(None, why))
    assert kernels() == [
        "attention of short sequences, dropout, softmax by a kernel of ours",
        "matrices by torch's kernel: ours takes 1.50 × as long here",
    ]
