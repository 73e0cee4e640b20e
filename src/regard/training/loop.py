"""The training loop, top to bottom."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import torch
from torch import nn

from regard.data.batch import Example, endless
from regard.data.direction import Directed
from regard.decoding.translate import decode_settings, translate_together
from regard.run import Run
from regard.training import checkpoint
from regard.training.checkpoint import Progress
from regard.training.evaluate import perplexity, score, surprise
from regard.training.objective import translation
from regard.training.report import Report
from regard.training.schedule import learning_rate

VALIDATED = 500  # sentences translated at a validation, at most; the loss is over all


def fit(run: Run, folder: Path, train: Sequence[Example], valid: Sequence[Directed], resume: bool = False) -> Progress:
    """Train the run's model on examples, with a checkpoint at every validation; leaves the chosen mean in the model."""
    settings, model = run.settings.train, run.model
    optimizer = adamw(model, settings)
    progress = Progress()
    if resume and (steps := checkpoint.steps(folder)):
        progress = checkpoint.load(folder, steps[-1], model, optimizer)
    valid_examples = [Example(run.encode_source(p.source, p.to), run.encode_target(p.target)) for p in valid]
    batches = endless(train, settings.batch_tokens, settings.seed, progress.place)

    with Report(folder / "metrics.jsonl", settings.steps, progress.step) as report:
        while progress.step < settings.steps:
            progress.step += 1
            rate = learning_rate(progress.step, settings, run.settings.model.width)
            for group in optimizer.param_groups:
                group["lr"] = rate

            model.train()
            step_batches = [batch.to(run.device) for batch in islice(batches, settings.accumulate)]
            tokens = sum(batch.tokens for batch in step_batches)
            told = 0.0
            for batch in step_batches:
                loss = translation(model, batch, settings.label_smoothing)
                (loss.total / tokens).backward()
                told += loss.surprise.item()
            gradient = nn.utils.clip_grad_norm_(model.parameters(), settings.clip or torch.inf).item()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

            report.learned(progress.step, told, tokens)
            if progress.step % settings.log_every == 0 or progress.step == settings.steps:
                report.line(progress.step, rate, gradient)
            if progress.step % settings.validate_every == 0 or progress.step == settings.steps:
                if valid:
                    validate(run, valid, valid_examples, progress, report)
                checkpoint.save(folder, progress, model, optimizer)
                checkpoint.prune(folder, progress, settings.average)
                if settings.patience and progress.since_best >= settings.patience:
                    report.say(f"no better {settings.choose_by} for {settings.patience} validations: training stops")
                    break

    checkpoint.mean(folder, checkpoint.chosen(folder, progress, settings.average), model)
    model.eval()
    return progress


def adamw(model: nn.Module, settings) -> torch.optim.AdamW:
    """AdamW; biases and norms, which have one dimension, do not decay."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": settings.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=settings.betas, eps=settings.epsilon, fused=True)


def validate(
    run: Run, valid: Sequence[Directed], examples: Sequence[Example], progress: Progress, report: Report
) -> None:
    """Score the model as it stands, and enter the figure that checkpoints are chosen by."""
    loss = surprise(run.model, examples, run.settings.train.batch_tokens)
    shown = valid[:VALIDATED]
    greedy = decode_settings(run, 1, {"beam": 1})
    outputs = [each.text for each in translate_together(run, [(pair.source, pair.to) for pair in shown], greedy)]
    scores = score(outputs, [pair.target for pair in shown])
    figures = {"loss": loss, "perplexity": perplexity(loss), "bleu": scores.bleu, "chrf": scores.chrf}
    figure = {"loss": loss, "bleu": -scores.bleu, "chrf": -scores.chrf}[run.settings.train.choose_by]
    progress.history.append((progress.step, figure))
    report.validation(progress.step, figures, [(p.source, t) for p, t in zip(shown[:2], outputs, strict=False)])
