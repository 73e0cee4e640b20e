"""The training loop, top to bottom."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from regard.data.batch import endless
from regard.precision import Precision
from regard.training import checkpoint
from regard.training.checkpoint import Progress
from regard.training.deadline import Deadline
from regard.training.learner import Learner
from regard.training.report import Report
from regard.training.schedule import learning_rate
from regard.training.tasks import Task


def fit(
    task: Task[Any, Any],
    folder: Path,
    resume: bool = False,
    *,
    precision: Precision,
    deadline: Deadline | None = None,
) -> Progress:
    """Train a run's model on its task, with a checkpoint at every validation; leaves the chosen mean in the model.

    Under a deadline the number of steps is fixed on the way, and the run's settings tell it afterwards.
    """
    run, settings = task.run, task.run.settings.train
    learner = Learner(run.model, settings, precision, task.objective)
    progress = Progress()
    if resume and (steps := checkpoint.steps(folder)):
        progress = checkpoint.load(folder, steps[-1], learner)
    batches = endless(task.examples, task.collate, settings.batch_tokens, settings.seed, progress.place)

    with Report(folder / "metrics.jsonl", settings.steps, progress.step, tensorboard=settings.tensorboard) as report:
        while progress.step < (settings.until or settings.steps):
            progress.step += 1
            rate = learning_rate(progress.step, settings, run.settings.model.width)
            step = learner.step([batch.to(run.device) for batch in islice(batches, settings.accumulate)], rate)
            progress.tokens += step.tokens
            if deadline:
                settings = deadline.keep(settings, progress.step)
                run.settings = run.settings.model_copy(update={"train": settings})
                report.steps = settings.steps

            last = progress.step == (settings.until or settings.steps)
            report.learned(progress.step, step)
            if progress.step % settings.log_every == 0 or last:
                report.line(progress.step, rate, step.gradient)
            if progress.step % settings.validate_every == 0 or last:
                with learner.smoothed():
                    began = deadline.clock() if deadline else 0.0
                    if validate(task, progress, report) and deadline:
                        deadline.scored(task.ending * (deadline.clock() - began))
                    checkpoint.save(folder, progress, learner)
                checkpoint.prune(folder, progress, settings)
                if settings.patience and progress.since_best >= settings.patience:
                    report.say(f"no better {settings.choose_by} for {settings.patience} validations: training stops")
                    break

    checkpoint.mean(folder, checkpoint.chosen(folder, progress, settings), run.model)
    run.model.eval()
    return progress


def validate(task: Task[Any, Any], progress: Progress, report: Report) -> bool:
    """Judge the model as it stands, and enter the figure that checkpoints are chosen by; False if nothing judges it."""
    found = task.validate()
    if found is None:
        return False
    name = task.run.settings.train.choose_by
    progress.history.append((progress.step, task.choices[name] * found.figures[name]))
    report.validation(progress.step, found.figures, found.samples)
    return True
