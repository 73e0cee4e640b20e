"""The verb train: raw files in, a run folder out."""

from __future__ import annotations

import copy
import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import torch

from regard import __version__, device, precision
from regard.config import Settings, validate
from regard.console import say
from regard.data.batch import Place, endless
from regard.data.corpus import Links, Pair
from regard.errors import ConfigError, RunError
from regard.memory import keep_pages
from regard.model import build, dropout, kernel, matmul, softmax
from regard.precision import Precision
from regard.run import CONFIG, VOCABULARY, Run, load_tokenizers, read_settings, vocabularies
from regard.training import checkpoint, tasks
from regard.training.card import depth, write_card
from regard.training.curve import draw_curve
from regard.training.deadline import Deadline, seconds_in
from regard.training.inherit import adopted, inherit, like_its_parent, parent_of
from regard.training.learner import Learner
from regard.training.loop import fit
from regard.training.report import board_writer
from regard.training.tasks import Task
from regard.training.tasks.translation import Pairs
from regard.workers import threads

KERNELS = {"attention of short sequences": kernel, "matrices": matmul, "dropout": dropout, "softmax": softmax}


def train(
    settings: Mapping[str, Any] | Settings,
    out: str | Path,
    *,
    time: str | Deadline | None = None,
    on: str = "auto",
    resume: bool = False,
    overwrite: bool = False,
) -> Run:
    """Train a run from the files that `settings` names, and leave it in the folder `out`.

    Settings are given as a recipe is written: {"data": {"source": …, "target": …}, "model": {"width": 512}}; what they
    leave open is chosen to suit the corpus, the machine and the time. A whole `Settings` object is taken as it is. With
    a time, such as "20m", the whole takes so long, and the number of steps is what fits into it; a deadline may go by
    another clock than the wall's.
    """
    deadline = Deadline(seconds_in(time)) if isinstance(time, str) else time
    if deadline and resume:
        raise ConfigError("--time and --resume do not go together: a run that is taken up has its number of steps")
    if resume and overwrite:
        raise ConfigError("--resume and --overwrite do not go together: the one goes on with what the other deletes")
    whole = isinstance(settings, Settings)
    if not isinstance(settings, Settings):
        settings = validate(Settings, like_its_parent(settings), "settings")
    if resume:
        settings = as_it_was(settings, Path(out))
    else:
        check_room(Path(out), overwrite, settings)
    task = tasks.choose(settings)
    corpus = task.read(settings)
    if not (whole or resume):
        settings = task.suit(settings, corpus, deadline.left if deadline else None)
    return train_into(out, settings, corpus, deadline=deadline, on=on, resume=resume, overwrite=overwrite)


def train_pairs_into(
    out: str | Path,
    settings: Settings,
    pairs: Sequence[Pair],
    valid: Sequence[Pair],
    *,
    alignments: Mapping[Pair, Links] | None = None,
    **how: Any,
) -> Run:
    """A translator from pairs in memory, with the gold links of some of them where a head is to learn these."""
    return train_into(out, settings, Pairs(pairs, valid, alignments or {}), **how)


def train_into(
    out: str | Path,
    settings: Settings,
    corpus: Any,
    *,
    deadline: Deadline | None = None,
    on: str = "auto",
    resume: bool = False,
    overwrite: bool = False,
) -> Run:
    """The same from a corpus in memory, which is what the task of the settings reads.

    The folder is as it was until all that can be checked has been: a mistake costs no run that is to be overwritten.
    """
    if deadline:
        deadline.check(settings.train)
    folder, chosen = Path(out), device.choose(on)
    keep_pages()
    torch.manual_seed(settings.train.seed)
    parent = None
    if resume:
        settings = as_it_was(settings, folder)
        tokenizers = load_tokenizers(settings, folder)
    else:
        check_room(folder, overwrite, settings)
        if parent := parent_of(settings):
            settings, tokenizers = adopted(settings, parent)
        else:
            tokenizers = tasks.choose(settings).learn_tokenizers(settings, corpus)
        settings = tasks.choose(settings).settle(settings, corpus, tokenizers)
    if settings.train.tensorboard:
        board_writer()
    how = precision.choose(settings.train.precision, chosen, settings.model.width)
    settings = resolved(settings, tokenizers, how)
    run = Run(settings, build(settings.model).to(chosen), tokenizers, folder)
    pieces = "".join(f"{len(each):,} pieces, " for each in list(tokenizers.values())[-1:])
    say(f"{depth(settings.model)} layers of width {settings.model.width}, {run.size:,} parameters, {pieces}on {chosen}")
    say(f"computing in {how.name}: {how.why}")
    if chosen.type == "cpu" and how.name == "float32":
        for line in kernels():
            say(line)

    task = tasks.choose(settings)(run, corpus)
    if not resume:
        task.start()
    if parent:
        inherit(run, parent)
    counts = [settings.train.threads] if settings.train.threads else threads_of(chosen)
    trained = settings.train.model_copy(update={"threads": counts[0]})
    if deadline:
        count, seconds = pace(task, how, counts, deadline.clock)
        trained = deadline.estimate(trained.model_copy(update={"threads": count}), seconds)
    run.settings = run.settings.model_copy(update={"train": trained})
    if not resume:
        make_room(folder, overwrite, settings)
    run.save_description(folder)
    with threads(run.settings.train.threads):
        progress = fit(task, folder, resume, precision=how, deadline=deadline)
    run.save(folder)
    account = task.conclude()
    draw_curve(folder)
    write_card(run, folder, progress, account)
    return run


def kernels() -> list[str]:
    """By what that is computed for which there are kernels of ours, a sentence for each answer."""
    found: dict[str, list[str]] = {}
    for name, home in KERNELS.items():
        found.setdefault(home.kernel().why, []).append(name)
    return [f"{', '.join(names)} by {why}" for why, names in found.items()]


def threads_of(chosen: torch.device) -> list[int]:
    """As many threads as torch has, and where they share the work of a step, one instead of them."""
    every = torch.get_num_threads()
    return [every, 1] if every > 1 and chosen.type == "cpu" else [every]


def pace(
    task: Task[Any, Any], how: Precision, counts: Sequence[int], clock: Callable[[], float], measured: float = 3.0
) -> tuple[int, float]:
    """With how many threads steps are fastest here and now, and the seconds of one; neither model nor luck changes.

    Where other programs keep a core busy, threads wait for each other in every step, and one of them is faster alone.
    It must be clearly so: the first count is taken unless another needs a tenth less.
    """
    run, settings = task.run, task.run.settings.train
    times: dict[int, list[float]] = {count: [] for count in counts}
    with torch.random.fork_rng(devices=[]):
        model = copy.deepcopy(run.model)
        batches = endless(task.examples, task.collate, settings.batch_tokens, settings.seed, Place())
        learners = {}
        for count in counts:
            with threads(count):
                learners[count] = Learner(model, settings, how, task.objective)
        while sum(map(sum, times.values())) < measured or len(times[counts[-1]]) < 4:
            taken = [batch.to(run.device) for batch in islice(batches, settings.accumulate)]
            for count, learner in learners.items():
                with threads(count):
                    began = clock()
                    learner.step(taken, rate=0.0)
                    times[count].append(clock() - began)
    seconds = {count: median(each[1:]) for count, each in times.items()}  # the first also warms up
    every, best = counts[0], min(counts, key=lambda count: seconds[count])
    if seconds[best] > 0.9 * seconds[every]:
        return every, seconds[every]
    say(f"training by {best} of {every} threads: a step takes {seconds[best]:.3f} s, and {seconds[every]:.3f} s by all")
    return best, seconds[best]


def check_room(folder: Path, overwrite: bool, settings: Settings) -> None:
    """Refuse a folder that cannot be trained into; one that holds something must be a run that may be overwritten."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file: choose another folder for --out")
    if folder.exists() and any(folder.iterdir()):
        if not overwrite:
            raise RunError(
                f"{folder} is not empty: choose another --out, or go on with --resume, or replace it with --overwrite"
            )
        if not (folder / CONFIG).is_file():
            raise RunError(f"{folder} is not empty and not a run, so it is not overwritten: choose another --out")
        for name, used in runs_used(settings):
            if Path(used).resolve().is_relative_to(folder.resolve()):
                raise RunError(f"{name}={used} would be lost with --overwrite of {folder}: choose another --out")
    above = next(each for each in (folder, *folder.parents) if each.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        reason = os.strerror(errno.EACCES if above.is_dir() else errno.ENOTDIR)
        raise RunError(f"{folder} cannot be made: {reason}; choose another --out")


def runs_used(settings: Settings) -> Iterator[tuple[str, str]]:
    """The other runs that a training needs, each with the setting that names it."""
    for name in ("start_from", "teacher"):
        if used := getattr(settings.train, name):
            yield f"train.{name}", used
    for used in settings.data.translated_by:
        yield "data.translated_by", used


def make_room(folder: Path, overwrite: bool, settings: Settings) -> None:
    """An empty folder to train into."""
    check_room(folder, overwrite, settings)
    try:
        if folder.exists() and any(folder.iterdir()):
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder} cannot be made: {error.strerror}; choose another --out") from None


def as_it_was(settings: Settings, folder: Path) -> Settings:
    """The settings of the run in a folder, to be trained on; of those given only the length of training may differ."""
    saved = read_settings(folder)
    if not checkpoint.steps(folder):
        raise RunError(f"{folder} has no checkpoint to resume from: train it anew with --overwrite")
    task, longer = tasks.choose(saved), {}
    for part in ("data", "tokenizer", "model", "train"):
        before, after = getattr(saved, part), getattr(settings, part)
        for key in sorted(after.model_fields_set):
            was, wanted = getattr(before, key, None), getattr(after, key)
            if was == wanted or wanted == "auto" or (key.endswith(VOCABULARY) and not wanted):
                continue
            if task.settles(key, wanted, was):
                continue
            if (part, key) not in {("train", "steps"), ("train", "patience")}:
                raise ConfigError(
                    f"{folder} was trained with {part}.{key}={was} and cannot be resumed with {wanted}: "
                    "leave it as it was, or train anew into another --out"
                )
            longer[key] = wanted
    return saved.model_copy(update={"train": saved.train.model_copy(update=longer)})


def resolved(settings: Settings, tokenizers: Mapping[str, Any], how: Precision) -> Settings:
    """The settings with what only the data and the machine could tell."""
    sizes = {name: len(tokenizers[role]) for role, name in vocabularies(settings.model).items()}
    model = settings.model.model_copy(update=sizes)
    train = settings.train.model_copy(update={"precision": how.name})
    return settings.model_copy(update={"version": __version__, "model": model, "train": train})
