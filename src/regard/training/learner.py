"""What learns: a model, its optimizers, and a running mean of its parameters where one is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.config import TrainConfig
from regard.data.batch import Batch
from regard.model import parameters
from regard.precision import Precision
from regard.training.crew import Crew
from regard.training.objective import Objective
from regard.training.optimizer import optimizers_of
from regard.workers import threads


class Step(NamedTuple):
    """What one step of training was like."""

    surprise: float  # −log p of the labels, summed
    tokens: int
    gradient: float  # its norm, before clipping


def add_gradients(parameters: Sequence[nn.Parameter], gradients: Sequence[Tensor | None]) -> None:
    for parameter, gradient in zip(parameters, gradients, strict=True):
        if gradient is not None:
            parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)


class Learner:
    def __init__(self, model: nn.Module, settings: TrainConfig, precision: Precision, objective: Objective[Any, Any]):
        self.model, self.settings, self.precision, self.objective = model, settings, precision, objective
        self.crew = Crew(precision.device)
        self.optimizers = optimizers_of(model, settings, self.crew.threads)
        self.scaler = precision.scaler()
        self.mean = {name: p.detach().clone() for name, p in model.named_parameters()} if settings.ema else {}
        self.steps = 0

    def step(self, batches: Sequence[Batch], rate: float) -> Step:
        """One step by the gradient over all tokens of the batches.

        What is left beside the crew's work is little, and one thread does it: torch's others, once they have had a
        share in something, wait for more in a loop that takes several milliseconds from a worker.
        """
        with threads(1):
            return self.stepped(batches, rate)

    def stepped(self, batches: Sequence[Batch], rate: float) -> Step:
        self.model.train()
        learned = [p for p in self.model.parameters() if p.requires_grad]
        tokens = sum(batch.tokens for batch in batches)
        surprise = 0.0

        def differentiate(part: Batch) -> tuple[float, Sequence[Tensor | None]]:
            with self.precision.autocast():
                loss = self.objective.loss(self.model, part)
            share = self.scaler.scale(loss.total / tokens)
            return loss.surprise.item(), torch.autograd.grad(share, learned, allow_unused=True)

        with self.objective.watching(self.model):
            for batch in batches:
                for missed, gradients in self.crew.each(differentiate, self.crew.cut(batch)):
                    surprise += missed
                    add_gradients(learned, gradients)
        for optimizer in self.optimizers:
            self.scaler.unscale_(optimizer)
        gradient = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip or torch.inf).item()
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
            self.scaler.step(optimizer)
            optimizer.zero_grad(set_to_none=True)
        self.scaler.update()
        self.steps += 1
        self.follow()
        return Step(surprise, tokens, gradient)

    @torch.no_grad()
    def follow(self) -> None:
        """Move the running mean towards the parameters; at first fast, so that it forgets where they started."""
        if self.mean:
            decay = min(self.settings.ema, self.steps / (self.steps + 10))
            for mean, parameter in zip(self.mean.values(), self.model.parameters(), strict=True):
                mean.lerp_(parameter, 1 - decay)

    @contextmanager
    def smoothed(self) -> Iterator[None]:
        """Within, the model has the running mean for its parameters, if one is kept."""
        if not self.mean:
            yield
            return
        self.raw = {name: p.detach().clone() for name, p in self.model.named_parameters()}
        parameters.put(self.model, self.mean)
        try:
            yield
        finally:
            parameters.put(self.model, self.raw)

    def state(self) -> dict[str, Tensor]:
        """All that the next step depends on, besides the model as it is `smoothed`."""
        moments = {
            f"{number}.{index}.{name}": value
            for number, optimizer in enumerate(self.optimizers)
            for index, state in optimizer.state_dict()["state"].items()
            for name, value in state.items()
        }
        raw = {f"raw.{name}": value for name, value in self.raw.items()} if self.mean else {}
        return {**moments, **raw, "steps": torch.tensor(self.steps)}

    def restore(self, state: dict[str, Tensor]) -> None:
        """The way back, when the model has been given its smoothed parameters."""
        self.steps = int(state["steps"])
        if self.mean:
            self.mean = {name: p.detach().clone() for name, p in self.model.named_parameters()}
            parameters.put(self.model, {name: state[f"raw.{name}"] for name in self.mean})
        for number, optimizer in enumerate(self.optimizers):
            own: dict[int, dict[str, Tensor]] = {}
            for key, value in state.items():
                if key.startswith(f"{number}."):
                    _, index, name = key.split(".")
                    own.setdefault(int(index), {})[name] = value
            optimizer.load_state_dict({**optimizer.state_dict(), "state": own})
