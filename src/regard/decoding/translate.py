"""The verb translate: lines in, lines out, in order, whatever the batches in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from queue import Empty, Queue
from threading import Thread
from typing import Any

import torch

from regard.config import DecodeConfig, validate
from regard.data.batch import pad
from regard.decoding.search import Found, Watch, search
from regard.errors import ConfigError
from regard.run import Run

BATCH = 64  # sentences decoded together
MARGIN = 1e-4  # a choice closer than this may fall otherwise in another batch: that sentence is decoded again, alone


@dataclass(frozen=True)
class Candidate:
    """One way to translate a sentence; the score is the log-probability over the length penalty."""

    text: str
    score: float
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Translation:
    """A sentence and its translations, the best first."""

    source: str
    candidates: tuple[Candidate, ...]

    @property
    def text(self) -> str:
        return self.candidates[0].text

    @property
    def score(self) -> float:
        return self.candidates[0].score

    def __str__(self) -> str:
        return self.text


def translate(
    run: Run, lines: Iterable[str], to: str | None = None, *, n_best: int = 1, batch: int = BATCH, **decode: Any
) -> Iterator[Translation]:
    """Translate lines as they come, up to `batch` at a time; keywords override the run's decode settings."""
    config = decode_settings(run, n_best, decode)
    run.tag(to)  # a language that the run does not have is refused before the first line is read

    def stream() -> Iterator[Translation]:
        waiting = iter(lines)
        while chunk := list(islice(waiting, batch)):
            yield from translate_together(run, [(line, to) for line in chunk], config, n_best, batch)

    return stream()


def decode_settings(run: Run, n_best: int, decode: dict[str, Any]) -> DecodeConfig:
    config = validate(DecodeConfig, {**run.settings.decode.model_dump(), **decode}, "decoding")
    if not 1 <= n_best <= config.beam:
        raise ConfigError(
            f"n_best={n_best} is not between 1 and beam={config.beam}: a beam holds as many as it is wide"
        )
    return config


def translate_together(
    run: Run, lines: Sequence[tuple[str, str | None]], config: DecodeConfig, n_best: int = 1, batch: int = BATCH
) -> list[Translation]:
    """Translate (text, language) pairs; the longest are decoded first, side by side with their likes."""
    sources = [run.encode_source(text, to) for text, to in lines]
    full = [index for index, (text, _) in enumerate(lines) if text.strip()]  # nothing in, nothing out
    full.sort(key=lambda index: -len(sources[index]))
    found: dict[int, Found] = {}
    for start in range(0, len(full), batch):
        chunk = full[start : start + batch]
        for index, result in zip(chunk, decode_batch(run, [sources[i] for i in chunk], config), strict=True):
            alone = len(chunk) > 1 and result.margin < MARGIN
            found[index] = decode_batch(run, [sources[index]], config)[0] if alone else result
    return [as_translation(run, text, found.get(index), n_best) for index, (text, _) in enumerate(lines)]


def decode_batch(
    run: Run,
    sources: Sequence[list[int]],
    config: DecodeConfig,
    cached: bool = True,
    prefix: Sequence[int] = (),
    watch: Watch | None = None,
) -> list[Found]:
    source = pad(sources)
    lengths = torch.tensor([len(ids) for ids in sources])
    readable = torch.arange(source.size(1)) < lengths.unsqueeze(1)
    limits = [max(len(prefix), limit) for limit in limits_of(sources, config)]
    never = torch.tensor(run.target_tokenizer.unwritten)
    source, readable = source.to(run.device), readable.to(run.device)
    return search(run.model, source, readable, config, limits, never, cached, prefix, watch)


def limits_of(sources: Sequence[list[int]], config: DecodeConfig) -> list[int]:
    """How many tokens the translation of each source may have."""
    return [min(config.max_length, int(config.max_ratio * len(ids)) + 10) for ids in sources]


def as_translation(run: Run, text: str, found: Found | None, n_best: int) -> Translation:
    if found is None:
        return Translation(text, (Candidate("", 0.0, ()),))
    best = found.hypotheses[:n_best]
    return Translation(text, tuple(Candidate(run.target_tokenizer.decode(h.ids), h.score, h.ids) for h in best))


def as_they_come(lines: Iterable[str], most: int) -> Iterator[list[str]]:
    """Lines in lists of what is waiting, at most so many: a pipe fills its batches, a person is answered at once."""
    queue: Queue[str | BaseException | None] = Queue(maxsize=4 * most)

    def read() -> None:
        try:
            for line in lines:
                queue.put(line)
            queue.put(None)
        except BaseException as error:  # a bad line is raised where the lines before it have been dealt with
            queue.put(error)

    Thread(target=read, daemon=True).start()
    while True:
        waiting: list[str] = []
        item = queue.get()
        while isinstance(item, str):
            waiting.append(item)
            if len(waiting) == most:
                break
            try:
                item = queue.get(timeout=0.02)
            except Empty:
                break
        if waiting:
            yield waiting
        if isinstance(item, BaseException):
            raise item
        if item is None:
            return
