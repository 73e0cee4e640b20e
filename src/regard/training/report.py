"""What is told while training goes on: a bar on a terminal, plain lines elsewhere, and metrics.jsonl always."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from regard.errors import ConfigError
from regard.training.evaluate import perplexity
from regard.training.learner import Step

if TYPE_CHECKING:
    from torch.utils.tensorboard.writer import SummaryWriter


def board_writer() -> type[SummaryWriter]:
    """What writes the same figures for TensorBoard: events files beside metrics.jsonl."""
    try:
        from torch.utils.tensorboard.writer import SummaryWriter
    except ImportError:
        raise ConfigError(
            "train.tensorboard=true needs the package tensorboard: pip install 'regard[tensorboard]'"
        ) from None
    return SummaryWriter


class Report:
    """Counts tokens and time between two lines; a context, so that the bar is taken down and the file closed."""

    def __init__(
        self, metrics: Path, steps: int, done: int = 0, console: Console | None = None, tensorboard: bool = False
    ):
        self.console = console or Console(stderr=True, highlight=False)
        self.board = board_writer()(str(metrics.parent)) if tensorboard else None
        self.file = metrics.open("a", encoding="utf-8")
        self.steps = steps
        self.bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("training", total=steps, completed=done, figures="")
        self.surprise = self.tokens = 0.0
        self.since = self.began = time.perf_counter()
        self.first = done

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()
        self.file.close()
        if self.board:
            self.board.close()

    def learned(self, number: int, step: Step) -> None:
        """After every step."""
        self.surprise, self.tokens = self.surprise + step.surprise, self.tokens + step.tokens
        self.bar.update(self.task, completed=number, total=self.steps)

    def line(self, step: int, rate: float, gradient: float) -> None:
        """Every so often: the means since the last line."""
        now = time.perf_counter()
        mean, speed = self.surprise / self.tokens, self.tokens / (now - self.since)
        left = (now - self.began) / (step - self.first) * (self.steps - step)
        self.write(step=step, loss=mean, learning_rate=rate, gradient_norm=gradient, tokens_per_second=round(speed))
        figures = f"loss {mean:.3f}  perplexity {perplexity(mean):.2f}  {speed:,.0f} tokens/s"
        self.bar.update(self.task, figures=figures)
        if not self.console.is_terminal:
            self.say(f"step {step}/{self.steps}  {figures}  {left:.0f} s left")
        self.surprise = self.tokens = 0.0
        self.since = now

    def validation(self, step: int, figures: dict[str, float], samples: Sequence[str]) -> None:
        self.write(step=step, **{f"valid_{name}": value for name, value in figures.items()})
        shown = "  ".join(f"{name} {value:.2f}" for name, value in figures.items())
        self.say(f"step {step}/{self.steps}  validation: {shown}")
        for line in samples:
            self.say(f"    {line}")
        self.since = time.perf_counter()

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)

    def write(self, step: int, **figures: Any) -> None:
        line = {"step": step, **figures, "seconds": round(time.perf_counter() - self.began, 1)}
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        if self.board:
            for name, value in figures.items():
                self.board.add_scalar(name, value, step)
