"""Distillation: a small network learns from a large one what it finds likely, and not only what was right.

    5 · T² KL(softmax(z' / T) ‖ softmax(z / T)) + 2 · loss of the hidden tokens + 1 · (1 − cos(h', h))

z are the logits and h the last states, those of the teacher with a prime; T, the temperature, lets the unlikely be
seen, too (Hinton et al. 2015). The three weights are those of DistilBERT                   Sanh et al. 2019, section 2
The first two are over the hidden tokens; the third is over all, and weighs as much as if it were over those.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from regard import run as runs
from regard.config import TrainConfig
from regard.data.marked import MarkedBatch
from regard.errors import ConfigError
from regard.model.bert import Bert
from regard.run import Run
from regard.training.objective import Loss, Objective

SOFT, HARD, ALIKE = 5.0, 2.0, 1.0


class Distilling(Objective[Bert, MarkedBatch]):
    def __init__(self, run: Run, settings: TrainConfig):
        teacher = runs.load(settings.teacher, on=run.device.type)
        teacher.require("fill")
        width, its = run.settings.model.width, teacher.settings.model.width
        if width != its:
            raise ConfigError(
                f"a student of width {width} cannot be compared with its teacher's states of {its}: leave model.width "
                "out"
            )
        self.teacher: Bert = teacher.model
        self.temperature, self.share, self.smoothing = settings.temperature, settings.hide, settings.label_smoothing

    def loss(self, model: Bert, part: MarkedBatch) -> Loss:
        with torch.no_grad():
            ideal = self.teacher.states(part.ids, part.readable)
            taught = (self.teacher.fill(ideal[part.wanted]).float() / self.temperature).log_softmax(-1)  # (N, V)
        states, labels = model.states(part.ids, part.readable), part.labels[part.wanted]
        logits = model.fill(states[part.wanted]).float()
        soft = F.kl_div((logits / self.temperature).log_softmax(-1), taught, reduction="sum", log_target=True)
        hard = F.cross_entropy(logits, labels, reduction="sum", label_smoothing=self.smoothing)
        apart = (1 - F.cosine_similarity(states, ideal, dim=-1))[part.readable].sum() * self.share
        surprise = F.cross_entropy(logits.detach(), labels, reduction="sum")
        return Loss(SOFT * self.temperature**2 * soft + HARD * hard + ALIKE * apart, surprise, len(labels))
