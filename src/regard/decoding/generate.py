"""The verb generate: a prompt in, text that goes on from it out; drawn, or searched for with a beam."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from regard.config import DecodeConfig, validate
from regard.decoding.continuing import Continuing
from regard.decoding.rules import Rules
from regard.decoding.sample import draw, exponential, generator
from regard.decoding.search import beam_search
from regard.decoding.torch_engine import MARGIN
from regard.errors import ConfigError
from regard.run import TEXT, Run
from regard.tokens.text import EOS

TOKENS = 200  # written, where nobody says how many
DRAWING = ("temperature", "top_k", "top_p", "min_p", "seed")  # settings of draws, which a beam has no use for
UNFINISHED = "\ufffd"  # what a character looks like that not all bytes of are there yet


@dataclass(frozen=True)
class Generated:
    """A text that goes on from a prompt."""

    prompt: str
    text: str  # what was written after it
    ids: tuple[int, ...]
    log_probability: float  # the network's own, of the tokens written
    finished: bool  # False where only the number of tokens ended it

    def __str__(self) -> str:
        return self.prompt + self.text


def generate(
    run: Run,
    prompt: str = "",
    *,
    tokens: int = TOKENS,
    n: int = 1,
    beam: int | None = None,
    cached: bool = True,
    **decode: Any,
) -> list[Generated]:
    """So many texts that go on from a prompt; keywords override the run's decode settings.

    They are drawn, by a seed, or with a beam the likeliest that it finds. Each is the same however many there are.
    """
    run.require("write")
    config = settings_for(run, tokens, n, beam, decode)
    ids = run.writer.encode(prompt)
    if beam is not None:
        return [told(run, prompt, ids, *found) for found in search(run, ids, config, tokens, cached)[:n]]
    drawn = draw_texts(run, ids, range(n), config, tokens, cached)
    return [told(run, prompt, ids, each.ids, each.log_probability, each.finished) for each in drawn]


def stream(run: Run, prompt: str = "", *, tokens: int = TOKENS, **decode: Any) -> Iterator[str]:
    """One text that is drawn to go on from a prompt, piece by piece as it is written: their join is generate's text."""
    run.require("write")
    config = settings_for(run, tokens, 1, None, decode)
    ids, written, shown = run.writer.encode(prompt), list[int](), ""
    for step in drawing(run, ids, [0], config, tokens):
        written += [id for id in step.tokens if id != EOS]
        text = after(run, ids, written)
        if not text.endswith(UNFINISHED):
            yield text.removeprefix(shown)
            shown = text
    yield after(run, ids, written).removeprefix(shown)


def settings_for(run: Run, tokens: int, n: int, beam: int | None, decode: dict[str, Any]) -> DecodeConfig:
    if tokens < 1 or n < 1:
        raise ConfigError(f"tokens={tokens} and n={n} should both be at least 1")
    for name, here in {"max_length": "tokens", "samples": "n"}.items():
        if name in decode:
            raise ConfigError(f"{name}={decode[name]} is what a translator is told: say {here}={decode[name]} here")
    if beam is not None and (idle := [name for name in DRAWING if name in decode]):
        raise ConfigError(f"beam={beam} searches and draws nothing: leave out {', '.join(idle)}, or the beam")
    how = {"samples": n} if beam is None else {"beam": beam, "samples": 0}
    given = {**run.settings.decode.model_dump(), "max_length": tokens, **how, **decode}
    config = validate(DecodeConfig, given, "decoding")
    if beam is not None and n > config.beam:
        raise ConfigError(f"n={n} is more than beam={config.beam} finds: widen the beam")
    return config


def told(
    run: Run, prompt: str, ids: Sequence[int], written: Sequence[int], log_probability: float, finished: bool
) -> Generated:
    return Generated(prompt, after(run, ids, written), tuple(written), log_probability, finished)


def after(run: Run, ids: Sequence[int], written: Sequence[int]) -> str:
    """What ids say that are written after others: between two words there is a space."""
    return run.writer.decode([*ids, *written])[len(run.writer.decode(ids)) :]


def rules_of(run: Run, config: DecodeConfig) -> Rules:
    return Rules(config, torch.tensor(run.tokenizers[TEXT].unwritten, device=run.device))


@torch.inference_mode()
def search(
    run: Run, ids: list[int], config: DecodeConfig, limit: int, cached: bool
) -> list[tuple[tuple[int, ...], float, bool]]:
    """The texts that a beam finds, the best first."""
    writing = Continuing(run.model, ids, config.beam, run.window, run.device, cached, run.parted)
    [found] = beam_search(writing, config, [limit], rules_of(run, config))
    found.rank(config)
    return [(each.ids, each.log_probability, each.finished) for each in found.hypotheses]


class Step(NamedTuple):
    """A token of each text that is still being written."""

    texts: list[int]  # which these are
    tokens: list[int]
    log_probabilities: list[float]
    margins: list[float]  # what each draw hung on


def drawing(
    run: Run, ids: list[int], numbers: Sequence[int], config: DecodeConfig, limit: int, cached: bool = True
) -> Iterator[Step]:
    """Draw some of the texts that the seed has for a prompt, each by its number, side by side."""
    generators = [generator(config.seed, ids, number) for number in numbers]
    rules, alive = rules_of(run, config), torch.arange(len(numbers), device=run.device)
    writing = Continuing(run.model, ids, len(numbers), run.window, run.device, cached, run.parted)
    for _ in range(limit):
        with torch.inference_mode():
            log_probabilities, _ = rules.log_probabilities(writing.written, writing.logits())  # (R, V)
            noise = exponential([generators[row] for row in alive.tolist()], log_probabilities.size(-1))
            tokens, hung_on = draw(log_probabilities, noise.to(run.device), config)
            chosen = log_probabilities.gather(1, tokens.unsqueeze(1)).squeeze(1)
            step = Step(*(each.tolist() for each in (alive, tokens, chosen, hung_on)))
            rows = (tokens != EOS).nonzero().squeeze(1)
            writing.go_on(rows, tokens[rows])
            alive = alive[rows]
        yield step
        if not len(rows):
            return


@dataclass
class Drawn:
    """A text as it is drawn."""

    ids: list[int]
    log_probability: float = 0.0
    finished: bool = False
    margin: float = float("inf")


def draw_texts(
    run: Run, ids: list[int], numbers: Sequence[int], config: DecodeConfig, limit: int, cached: bool
) -> list[Drawn]:
    """Texts drawn side by side; one that hung on a hair, which may fall otherwise in other company, again alone."""
    found = [Drawn([]) for _ in numbers]
    for step in drawing(run, ids, numbers, config, limit, cached):
        for text, token, log_probability, margin in zip(*step, strict=True):
            each = found[text]
            each.log_probability += log_probability
            each.margin = min(each.margin, margin)
            each.finished = token == EOS
            each.ids += [] if each.finished else [token]
    if len(numbers) == 1:
        return found
    return [
        draw_texts(run, ids, [number], config, limit, cached)[0] if each.margin < MARGIN else each
        for number, each in zip(numbers, found, strict=True)
    ]
