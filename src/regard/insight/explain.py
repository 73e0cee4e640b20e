"""The verb explain: translate a sentence, then look at what the model looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from regard.config import DecodeConfig
from regard.decoding.search import Hypothesis, Watch
from regard.decoding.torch_engine import decode_batch
from regard.decoding.translate import decode_settings
from regard.errors import DataError
from regard.insight.trace import Trace, hooked, record
from regard.model.attention import Attention
from regard.model.block import Residual
from regard.model.position import Learned, Sinusoidal, Unordered
from regard.run import Run
from regard.tokens.text import BOS, EOS

LIMIT = 512  # source tokens: every layer and head keeps their square
STATIONS = (Sinusoidal, Learned, Unordered, Residual, nn.LayerNorm)  # where a token's vector is worth a look


@dataclass(frozen=True, eq=False)
class Pass:
    """A translation, and one pass over source and output in which everything was seen. T target tokens."""

    source: list[int]  # ids that the encoder reads
    read: list[int]  # that the decoder reads
    target: list[int]  # that it writes
    best: Hypothesis
    trace: Trace
    logits: Tensor  # (T, V)
    given: dict[str, tuple[Tensor, Tensor | None, Tensor | None]]  # attention → the x, memory and mask of its call
    states: dict[str, Tensor]  # station → what came out of it, (1, tokens, D)


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
    return replace(translate_and_record(run, source, config).trace, text=text)


def translate_and_record(
    run: Run,
    source: list[int],
    config: DecodeConfig,
    cached: bool = True,
    prefix: Sequence[int] = (),
    watch: Watch | None = None,
) -> Pass:
    """The body of all that looks inside: the search that translates, then one pass without a cache, recorded."""
    given: dict[str, tuple[Tensor, Tensor | None, Tensor | None]] = {}
    states: dict[str, Tensor] = {}

    def arguments(
        name: str,
        attention: nn.Module,
        output: Tensor,
        x: Tensor,
        memory: Tensor | None = None,
        mask: Tensor | None = None,
        kept: None = None,
    ) -> None:
        given[name] = x, memory, mask

    def state(name: str, station: nn.Module, output: Tensor, *arguments: Any) -> None:
        states[name] = output

    with evaluating(run.model), torch.no_grad():
        best = decode_batch(run, [source], config, cached, prefix, watch)[0].hypotheses[0]
        target = [*best.ids, EOS] if best.finished else [*best.ids]  # what each step writes
        read = [BOS, *target[:-1]]  # what it reads to do so
        ids, written = torch.tensor([source], device=run.device), torch.tensor([read], device=run.device)
        with (
            record(run.model) as trace,
            hooked(run.model, (Attention,), arguments),
            hooked(run.model, STATIONS, state),
        ):
            logits = run.model(ids, written, torch.ones_like(ids, dtype=torch.bool))[0].float().cpu()  # (T, V)
        log_probabilities = logits.log_softmax(-1).gather(1, torch.tensor(target)[:, None])[:, 0]  # (T,)
    trace = replace(
        trace,
        translation=run.target_tokenizer.decode(best.ids),
        source=tuple(run.source_tokenizer.pieces(source)),
        read=tuple(run.target_tokenizer.pieces(read)),
        target=tuple(run.target_tokenizer.pieces(target)),
        log_probabilities=log_probabilities.numpy(),
    )
    return Pass(source, read, target, best, trace, logits, given, states)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout for a while; a model in training goes on training after."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
