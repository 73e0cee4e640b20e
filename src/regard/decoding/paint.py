"""The verb generate for runs that paint: a caption in, pictures of it out, drawn code by code.

    <s> a red circle </s> <pad> …   code code code …          the text at its full length, then the picture row by row

The codes are drawn as the words of a text are (`decoding.sample`), under the same rules, by turns a pattern and the
colours of it. With guidance γ, what the caption makes likelier becomes more so, and what it does not, less:

    log p = log p(code) + γ (log p(code | caption) − log p(code))          Ho and Salimans 2021, for codes

where p(code) is what the network says after no caption. **Any batch gives the same picture**: one that hung on a hair
is drawn again alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.config import DecodeConfig, validate
from regard.decoding.match import ranked
from regard.decoding.rules import Rules
from regard.decoding.sample import draw, exponential, generator
from regard.decoding.torch_engine import MARGIN
from regard.errors import ConfigError, DataError
from regard.model.cache import Cache
from regard.run import IMAGE, TEXT, Run
from regard.tokens.text import BOS, EOS, PAD

TOGETHER = 64  # pictures that are drawn side by side
FOR_EACH = 8  # that is kept, so many are painted where a judge chooses


@dataclass(frozen=True)
class Painted:
    """A picture of a caption."""

    caption: str
    pixels: np.ndarray  # (H, W, C), 0 … 255
    codes: tuple[int, ...]  # row by row
    log_probability: float  # the network's own, of the codes


def paint(
    run: Run,
    caption: str,
    *,
    n: int = 1,
    judge: Run | None = None,
    of: int | None = None,
    cached: bool = True,
    **decode: Any,
) -> list[Painted]:
    """So many pictures of a caption; keywords override the run's decode settings. Each is the same however many.

    With a judge, a run that compares pictures with captions, they are the best `of` more, eight for each unless said.
    """
    if n < 1:
        raise ConfigError(f"n={n} should be at least 1")
    if judge is None and of is not None:
        raise ConfigError(f"of={of} says how many a judge chooses from: give judge, too, or n alone")
    if judge is None:
        return paint_each(run, [caption] * n, range(n), cached=cached, **decode)
    of = FOR_EACH * n if of is None else of
    if of < n:
        raise ConfigError(f"of={of} are too few to choose n={n} from: paint more, or keep fewer")
    judge.require("match")
    painted = paint_each(run, [caption] * of, range(of), cached=cached, **decode)
    return [painted[place] for place in ranked(judge, np.stack([each.pixels for each in painted]), caption)[:n]]


def paint_each(
    run: Run, captions: Sequence[str], numbers: Sequence[int] | None = None, *, cached: bool = True, **decode: Any
) -> list[Painted]:
    """A picture of each caption: of those that the seed has for it, the one of that number, or one after the other."""
    run.require("paint")
    config = validate(DecodeConfig, {**run.settings.decode.model_dump(), **decode}, "decoding")
    if config.guidance != 1 and not run.settings.train.unsaid:
        raise ConfigError(
            f"guidance={config.guidance:g} compares with pictures of no caption, and this run was shown none: "
            "train it with train.unsaid=0.1, or leave guidance at 1"
        )
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
    model, words, length = run.model.eval(), run.model.config.text_vocabulary, run.model.config.text_length
    generators = [generator(config.seed, text, number) for text, number in wanted]
    rules = [Rules(config, torch.tensor(other_ids(run, place), device=run.device)) for place in range(2)]
    text = torch.tensor([text for text, _ in wanted], device=run.device)  # (R, T)
    before, cache = text.size(1) - 1, model.cache() if cached else None
    total, margin = torch.zeros(len(wanted)), torch.full((len(wanted),), torch.inf)
    for place in range(text.size(1) - length, model.config.max_positions - length):  # what is painted already stays
        rule, written = rules[place % 2], text[:, before:]
        own, guided = (rule.log_probabilities(written, each)[0] for each in follows(run, text, config.guidance, cache))
        codes, hung_on = draw(guided, exponential(list(generators), own.size(-1)).to(run.device), config)
        total += own.gather(1, codes.unsqueeze(1)).squeeze(1).cpu()
        margin = margin.minimum(hung_on.cpu())
        text = torch.cat([text, codes.unsqueeze(1)], dim=1)
    found = list(zip((text[:, before + 1 :] - words).tolist(), total.tolist(), strict=True))
    if len(wanted) == 1:
        return found
    return [
        draw_codes(run, [each], config, cached)[0] if hung < MARGIN else drawn
        for each, hung, drawn in zip(wanted, margin.tolist(), found, strict=True)
    ]


def follows(run: Run, text: Tensor, guidance: float, cache: Cache | None) -> tuple[Tensor, Tensor]:
    """Logits (R, V) of the code that follows each text (R, T), and the same with guidance."""
    model, length = run.model, run.model.config.text_length
    if guidance != 1:
        nothing = torch.tensor(framed([], length), device=run.device).expand(len(text), -1)
        text = torch.cat([text, torch.cat([nothing, text[:, length:]], dim=1)])  # (2 R, T)
    logits = model.logits(model.decode(text[:, cache.length if cache else 0 :], cache)[:, -1]).float()
    if guidance == 1:
        return logits, logits.clone()
    said, unsaid = logits.chunk(2)
    return said, torch.lerp(unsaid, said, guidance)


def other_ids(run: Run, place: int) -> list[int]:
    """What may not stand in a place of a picture: text, and codes of the other kind."""
    words, kind = run.model.config.text_vocabulary, run.tokenizers[IMAGE].kind(place)
    return [id for id in range(run.model.config.vocabulary) if id - words not in kind]
