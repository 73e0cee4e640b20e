"""The verb generate for runs that paint: a caption in, pictures of it out, drawn code by code.

    <s> a red circle </s> <pad> …   code code code …          the text at its full length, then the picture row by row

The codes are drawn as the words of a text are (`decoding.sample`), under the same rules; ids of text are not drawn.
**Any batch gives the same picture**: one that hung on a hair is drawn again alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from regard.config import DecodeConfig, validate
from regard.decoding.rules import Rules
from regard.decoding.sample import draw, exponential, generator
from regard.decoding.torch_engine import MARGIN
from regard.errors import ConfigError, DataError
from regard.run import IMAGE, TEXT, Run
from regard.tokens.text import BOS, EOS, PAD

TOGETHER = 64  # pictures that are drawn side by side


@dataclass(frozen=True)
class Painted:
    """A picture of a caption."""

    caption: str
    pixels: np.ndarray  # (H, W, C), 0 … 255
    codes: tuple[int, ...]  # row by row
    log_probability: float  # the network's own, of the codes


def paint(run: Run, caption: str, *, n: int = 1, cached: bool = True, **decode: Any) -> list[Painted]:
    """So many pictures of a caption; keywords override the run's decode settings. Each is the same however many."""
    if n < 1:
        raise ConfigError(f"n={n} should be at least 1")
    return paint_each(run, [caption] * n, range(n), cached=cached, **decode)


def paint_each(
    run: Run, captions: Sequence[str], numbers: Sequence[int] | None = None, *, cached: bool = True, **decode: Any
) -> list[Painted]:
    """A picture of each caption: of those that the seed has for it, the one of that number, or one after the other."""
    run.require("paint")
    config = validate(DecodeConfig, {**run.settings.decode.model_dump(), **decode}, "decoding")
    texts = [text_ids(run, caption) for caption in captions]
    if not texts:
        return []
    if numbers is None:
        numbers = [captions[:place].count(caption) for place, caption in enumerate(captions)]
    wanted = list(zip(texts, numbers, strict=True))
    found: list[tuple[list[int], float]] = []
    for start in range(0, len(wanted), TOGETHER):
        found += draw_codes(run, wanted[start : start + TOGETHER], config, cached)
    tokenizer = run.tokenizers[IMAGE]
    pixels = tokenizer.decode(torch.tensor([codes for codes, _ in found]))
    return [
        Painted(caption, each, tuple(codes), p)
        for caption, each, (codes, p) in zip(captions, pixels, found, strict=True)
    ]


def text_ids(run: Run, caption: str) -> list[int]:
    """What the network reads of a caption, at its full length; one that does not fit is refused."""
    ids, room = run.tokenizers[TEXT].encode(caption), run.model.config.text_length - 2
    if not ids:
        raise DataError("the caption is empty: say what to paint")
    if len(ids) > room:
        raise DataError(f"the caption {caption!r} has {len(ids)} tokens and this run reads at most {room}: shorten it")
    return framed(ids, room + 2)


def fitting(run: Run, captions: Sequence[str]) -> list[str]:
    """Those of the captions that the run can read whole."""
    return [each for each in captions if 0 < len(run.tokenizers[TEXT].encode(each)) <= run.model.config.text_length - 2]


def framed(ids: Sequence[int], length: int) -> list[int]:
    """<s> the ids </s> and padding, cut where they are too long."""
    whole = [BOS, *ids[: length - 2], EOS]
    return whole + [PAD] * (length - len(whole))


@torch.inference_mode()
def draw_codes(
    run: Run, wanted: Sequence[tuple[list[int], int]], config: DecodeConfig, cached: bool
) -> list[tuple[list[int], float]]:
    """The codes of pictures drawn side by side, and their log-probability. R pictures, T tokens so far.

    What is wanted may go on from codes already there, and those that follow are drawn.
    """
    model, words = run.model.eval(), run.model.config.text_vocabulary
    generators = [generator(config.seed, text, number) for text, number in wanted]
    rules = Rules(config, torch.arange(words, device=run.device))
    text = torch.tensor([text for text, _ in wanted], device=run.device)  # (R, T)
    before, cache = text.size(1) - 1, model.cache() if cached else None
    total, margin = torch.zeros(len(wanted)), torch.full((len(wanted),), torch.inf)
    for _ in range(model.config.max_positions - text.size(1)):  # what is painted already stays
        seen = text[:, cache.length if cache else 0 :]
        logits = model.logits(model.decode(seen, cache)[:, -1]).float()  # (R, V)
        log_probabilities, _ = rules.log_probabilities(text[:, before:], logits)
        noise = exponential(list(generators), logits.size(-1)).to(run.device)
        codes, hung_on = draw(log_probabilities, noise, config)
        total += log_probabilities.gather(1, codes.unsqueeze(1)).squeeze(1).cpu()
        margin = margin.minimum(hung_on.cpu())
        text = torch.cat([text, codes.unsqueeze(1)], dim=1)
    found = list(zip((text[:, before + 1 :] - words).tolist(), total.tolist(), strict=True))
    if len(wanted) == 1:
        return found
    return [
        draw_codes(run, [each], config, cached)[0] if hung < MARGIN else drawn
        for each, hung, drawn in zip(wanted, margin.tolist(), found, strict=True)
    ]
