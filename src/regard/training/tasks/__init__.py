"""What networks are trained for, a module each; a family says which of these it can learn."""

from __future__ import annotations

from typing import Any

from regard.config import Settings
from regard.errors import ConfigError
from regard.run import task_of
from regard.training.tasks.classifying import Classifying
from regard.training.tasks.denoising import Denoising
from regard.training.tasks.filling import Filling
from regard.training.tasks.matching import Matching
from regard.training.tasks.painting import Painting
from regard.training.tasks.tagging import Tagging
from regard.training.tasks.task import Account, Task, Validation
from regard.training.tasks.translation import Translation
from regard.training.tasks.writing import Writing

__all__ = ["TASKS", "Account", "Task", "Validation", "choose"]

TASKS: dict[str, type[Task[Any, Any]]] = {
    "translate": Translation,
    "write": Writing,
    "denoise": Denoising,
    "fill": Filling,
    "tag": Tagging,
    "classify": Classifying,
    "paint": Painting,
    "match": Matching,
}


def choose(settings: Settings) -> type[Task[Any, Any]]:
    """The task that these settings ask for, if they can be asked of it."""
    task = TASKS[task_of(settings)].version(settings)
    if settings.train.choose_by not in task.choices:
        raise ConfigError(
            f"train.choose_by={settings.train.choose_by} is no figure of the task {task_of(settings)}: "
            f"choose {' or '.join(task.choices)}"
        )
    inherited = settings.train.start_from or settings.train.teacher  # and with it the tokenizer, as it was there
    for name in task.foreign:
        section, key = name.split(".")
        part = getattr(settings, section)
        if (given := getattr(part, key)) == type(part).model_fields[key].default:
            continue
        if not (section == "tokenizer" and inherited):
            raise ConfigError(f"{name}={given} means nothing to the task {task_of(settings)}: leave it out")
    return task
