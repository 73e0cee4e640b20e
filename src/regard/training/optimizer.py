"""From gradients to a step: AdamW for every parameter, or Muon for the matrices and AdamW for the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn

from regard.config import TrainConfig
from regard.model.attention import Attention
from regard.model.embedding import Embedding
from regard.model.matmul import orthogonal
from regard.workers import workers

# a, b, c of each round: the best polynomial for singular values from 0.01 to 1, the best for where those are then, and
# once more (Amsel et al. 2025). Three such rounds do what five with one polynomial do in Jordan et al. 2024.
ROUNDS = ((8.0934, -23.6204, 17.4462), (3.6366, -2.7219, 0.5365), (2.6613, -1.9772, 0.4526))


def optimizers_of(model: nn.Module, settings: TrainConfig, cores: int = 1) -> list[torch.optim.Optimizer]:
    """What the settings ask for, each parameter in one of them. Biases and norms, of one dimension, never decay.

    Where a step takes several milliseconds, workers on so many cores share it.
    """
    parameters = list(model.parameters())
    if settings.optimizer == "adamw":
        return [adamw(parameters, settings)]
    tables = {id(p) for part in model.modules() if isinstance(part, Embedding) for p in part.parameters()}
    thirds = {id(part.qkv.weight) for part in model.modules() if isinstance(part, Attention)}
    matrices = {id(p) for p in parameters if p.dim() == 2} - tables
    groups = [
        {"params": [p for p in parameters if id(p) in thirds], "parts": 3},  # of queries, keys and values, one each
        {"params": [p for p in parameters if id(p) in matrices - thirds], "parts": 1},
    ]
    return [Muon(groups, settings, cores), adamw([p for p in parameters if id(p) not in matrices], settings)]


def adamw(parameters: Iterable[nn.Parameter], settings: TrainConfig) -> torch.optim.AdamW:
    parameters = list(parameters)
    groups: list[dict[str, Any]] = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=settings.betas, eps=settings.epsilon, fused=True)


class Muon(torch.optim.Optimizer):
    """Momentum whose every matrix is turned into the nearest one that only rotates       Jordan et al. 2024

        m ← μ m + (1 − μ) g,   W ← (1 − η λ) W − η · 0.2 √max(rows, columns) · orthogonal((1 − μ) g + μ m)

    The factor gives a step the size that AdamW's has, so that one learning rate serves both (Liu et al. 2025). torch
    has a Muon, too; it multiplies in bfloat16, which is slow on most CPUs and ends the process on some, and it takes a
    matrix that holds three for one.
    """

    def __init__(self, groups: Iterable[dict[str, Any]], settings: TrainConfig, cores: int = 1):
        super().__init__(
            groups,
            {"lr": settings.learning_rate, "momentum": 0.95, "weight_decay": settings.weight_decay, "parts": 1},
        )
        self.cores = cores

    def step(self, closure: Callable[[], float] | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Matrices of a shape are turned by one batched product; where there are workers, each takes some of them."""
        shares: list[tuple[list[nn.Parameter], dict[str, Any]]] = []
        for group in self.param_groups:
            moved = sorted((p for p in group["params"] if p.grad is not None), key=lambda p: p.shape)
            for p in moved:
                if not self.state[p]:
                    self.state[p]["momentum"] = torch.zeros_like(p)
            for _, of_a_shape in groupby(moved, key=lambda p: p.shape):
                alike = list(of_a_shape)
                shares += [(alike[at :: self.cores], group) for at in range(min(self.cores, len(alike)))]
        side_by_side = workers(self.cores, self.cores).map if self.cores > 1 else map
        for _ in side_by_side(lambda share: self.turn(*share), shares):
            pass  # but wait, and raise what a worker raised

    @torch.no_grad()
    def turn(self, alike: list[nn.Parameter], group: dict[str, Any]) -> None:
        gradients = [p.grad for p in alike if p.grad is not None]
        momenta = [self.state[p]["momentum"] for p in alike]
        for momentum, gradient in zip(momenta, gradients, strict=True):
            momentum.lerp_(gradient, 1 - group["momentum"])
        directions = torch.stack(gradients).lerp_(torch.stack(momenta), group["momentum"])  # (K, rows, columns)
        single = directions.unflatten(1, (group["parts"], -1)).flatten(0, 1)  # (K · parts, rows / parts, columns)
        size = 0.2 * math.sqrt(max(single.shape[1:]))
        for p, update in zip(alike, turned(single).reshape(directions.shape), strict=True):
            p.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-group["lr"] * size)


def turned(matrices: Tensor) -> Tensor:
    """Each of (K, rows, columns) with its singular values brought near 1, by Newton–Schulz iteration in float32."""
    wide = matrices if matrices.size(1) <= matrices.size(2) else matrices.mT
    x = orthogonal(wide / wide.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7), ROUNDS)
    return x if wide is matrices else x.mT
