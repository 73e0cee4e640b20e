"""The training loop, top to bottom."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter

from regard.data.batch import Epochs, Example, endless
from regard.data.direction import Directed
from regard.decoding.translate import decode_settings, translate_together
from regard.precision import Precision
from regard.run import Run
from regard.training import checkpoint
from regard.training.checkpoint import Progress
from regard.training.deadline import Deadline
from regard.training.evaluate import perplexity, surprise
from regard.training.learner import Learner
from regard.training.report import Report
from regard.training.schedule import learning_rate
from regard.training.score import score

VALIDATED = 200  # sentences translated at a validation, at most; the loss is over all
SEARCH = 20  # times as long as a validation take the last score, with five times the sentences and a beam, and trust


def fit(
    run: Run,
    folder: Path,
    corpus: Epochs,
    valid: Sequence[Directed],
    resume: bool = False,
    *,
    precision: Precision,
    deadline: Deadline | None = None,
) -> Progress:
    """Train the run's model on a corpus, with a checkpoint at every validation; leaves the chosen mean in the model.

    Under a deadline the number of steps is fixed on the way, and the run's settings tell it afterwards.
    """
    settings, model = run.settings.train, run.model
    learner = Learner(model, settings, precision)
    progress = Progress()
    if resume and (steps := checkpoint.steps(folder)):
        progress = checkpoint.load(folder, steps[-1], learner)
    valid_examples = [Example(run.encode_source(p.source, p.to), run.encode_target(p.target)) for p in valid]
    batches = endless(corpus, settings.batch_tokens, settings.seed, progress.place)

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
                    if valid:
                        seconds = validate(run, valid, valid_examples, progress, report)
                        if deadline:
                            deadline.scoring = SEARCH * seconds
                    checkpoint.save(folder, progress, learner)
                checkpoint.prune(folder, progress, settings)
                if settings.patience and progress.since_best >= settings.patience:
                    report.say(f"no better {settings.choose_by} for {settings.patience} validations: training stops")
                    break

    checkpoint.mean(folder, checkpoint.chosen(folder, progress, settings), model)
    model.eval()
    return progress


def validate(
    run: Run, valid: Sequence[Directed], examples: Sequence[Example], progress: Progress, report: Report
) -> float:
    """Score the model as it stands, and enter the figure that checkpoints are chosen by; gives the seconds it took."""
    began = perf_counter()
    loss = surprise(run.model, examples, run.settings.train.batch_tokens)
    shown = valid[:VALIDATED]
    greedy = decode_settings(run, 1, {"beam": 1})
    outputs = [each.text for each in translate_together(run, [(pair.source, pair.to) for pair in shown], greedy)]
    scores = score(outputs, [pair.target for pair in shown])
    figures = {"loss": loss, "perplexity": perplexity(loss), "bleu": scores.bleu, "chrf": scores.chrf}
    figure = {"loss": loss, "bleu": -scores.bleu, "chrf": -scores.chrf}[run.settings.train.choose_by]
    progress.history.append((progress.step, figure))
    report.validation(progress.step, figures, [(p.source, t) for p, t in zip(shown[:2], outputs, strict=False)])
    return perf_counter() - began
