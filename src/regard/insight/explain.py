"""The verb explain: translate a sentence, then look at what the model looked at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from regard.decoding.translate import decode_batch, decode_settings
from regard.errors import DataError
from regard.insight.trace import Trace, record
from regard.run import Run
from regard.tokens.text import BOS, EOS

LIMIT = 512  # source tokens: every layer and head keeps their square


def explain(run: Run, text: str, to: str | None = None, **decode: Any) -> Trace:
    """The translation of one sentence and the weights of every attention; keywords override the run's decode settings.

    The translation is found by the search that translates; then one pass over source and output, without a cache, is
    recorded.
    """
    source = run.encode_source(text, to)
    config = decode_settings(run, 1, decode)
    if not text.strip():
        raise DataError("there is nothing to explain in an empty sentence: give some text")
    if len(source) > LIMIT:
        raise DataError(f"a sentence of {len(source)} tokens is too long to look at: give one of at most {LIMIT}")
    with evaluating(run.model), torch.no_grad():
        best = decode_batch(run, [source], config)[0].hypotheses[0]
        target = torch.tensor([*best.ids, EOS] if best.finished else [*best.ids])  # (T,) what each step writes
        read = torch.cat([torch.tensor([BOS]), target[:-1]])  # (T,) what it reads to do so
        ids = torch.tensor([source])
        with record(run.model) as trace:
            logits = run.model(
                ids.to(run.device), read[None].to(run.device), torch.ones_like(ids, dtype=torch.bool).to(run.device)
            )
        log_probabilities = logits[0].float().log_softmax(-1).cpu().gather(1, target[:, None])[:, 0]  # (T,)
    return replace(
        trace,
        text=text,
        translation=run.target_tokenizer.decode(best.ids),
        source=tuple(run.source_tokenizer.pieces(source)),
        read=tuple(run.target_tokenizer.pieces(read.tolist())),
        target=tuple(run.target_tokenizer.pieces(target.tolist())),
        log_probabilities=log_probabilities.numpy(),
    )


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout for a while; a model in training goes on training after."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
