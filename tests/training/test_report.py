"""What is told while training goes on: a bar for people, lines for files."""

from __future__ import annotations

import io
import json
import sys

import pytest
from rich.console import Console

from regard.errors import ConfigError
from regard.training.learner import Step
from regard.training.report import Report


def told(tmp_path, terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=120, highlight=False)
    with Report(tmp_path / "metrics.jsonl", steps=40, console=console) as report:
        for step in (1, 2):
            report.learned(step, Step(surprise=12.0 * step, tokens=6, gradient=0.5))
        report.line(2, rate=0.001, gradient=0.5)
        report.validation(2, {"loss": 2.5, "bleu": 31.25}, ["a [red]cat[/red]  →  un chat"])
    return out.getvalue()


def test_a_terminal_has_a_bar_with_step_loss_perplexity_speed_and_time_left(tmp_path):
    text = told(tmp_path, terminal=True)
    assert "2/40" in text
    assert "loss 3.000  perplexity 20.09" in text
    assert "tokens/s" in text
    assert "left" in text
    assert "step 2/40  loss" not in text, "the bar says it"


def test_elsewhere_there_are_plain_lines_and_nothing_moves(tmp_path):
    text = told(tmp_path, terminal=False)
    lines = text.splitlines()
    assert lines[0].startswith("step 2/40  loss 3.000  perplexity 20.09  ")
    assert lines[0].endswith(" s left")
    assert lines[1] == "step 2/40  validation: loss 2.50  bleu 31.25"
    assert lines[2] == "    a [red]cat[/red]  →  un chat", "text is text, never markup"
    assert "\x1b" not in text
    assert "\r" not in text


def test_tensorboard_reads_the_same_figures(tmp_path):
    """With TensorBoard's own reader."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with Report(tmp_path / "metrics.jsonl", steps=40, tensorboard=True) as report:
        report.learned(2, Step(surprise=12.0, tokens=6, gradient=0.5))
        report.line(2, rate=0.001, gradient=0.5)
        report.validation(2, {"loss": 2.5}, [])
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert [(each.step, each.value) for each in events.Scalars("loss")] == [(2, 2.0)]
    assert [(each.step, each.value) for each in events.Scalars("valid_loss")] == [(2, 2.5)]


def test_without_tensorboard_asking_for_it_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard.writer", None)
    with pytest.raises(ConfigError) as error:
        Report(tmp_path / "metrics.jsonl", steps=40, tensorboard=True)
    assert str(error.value) == (
        "train.tensorboard=true needs the package tensorboard: pip install 'regard[tensorboard]'"
    )


def test_metrics_are_written_either_way(tmp_path):
    told(tmp_path, terminal=True)
    first, second = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert (first["step"], first["loss"], first["learning_rate"], first["gradient_norm"]) == (2, 3.0, 0.001, 0.5)
    assert (second["step"], second["valid_loss"], second["valid_bleu"]) == (2, 2.5, 31.25)
