"""The verb translate: lines in, lines out, in order, whatever the batches in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from regard.config import DecodeConfig, validate
from regard.decoding.confidence import calibration_of
from regard.decoding.constraints.keep import Keeper
from regard.decoding.constraints.terms import Glossary
from regard.decoding.engine import Choice, Engine
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.risk import least_risk as by_risk
from regard.decoding.torch_engine import BATCH, TorchEngine
from regard.decoding.trust import Signals, Written, nothing, withheld
from regard.decoding.trust import signals as signals_of
from regard.decoding.windows import AsTheyCome, in_windows
from regard.errors import ConfigError
from regard.run import Run


@dataclass(frozen=True)
class Candidate:
    """One way to translate a sentence; the score is the log-probability over the length penalty."""

    text: str
    score: float
    ids: tuple[int, ...]
    finished: bool = True  # False where the length limit cut it off
    unmet: tuple[str, ...] = ()  # what was demanded of it and is not there
    reads: str | None = None  # what the model read, where that was made for it
    signals: Signals | None = None  # how far it can be trusted, if that was asked for


@dataclass(frozen=True)
class Translation:
    """A sentence and its translations, the best first."""

    source: str
    candidates: tuple[Candidate, ...]
    withheld: bool = False  # the best is less sure than was asked for

    @property
    def text(self) -> str:
        """The best translation; the source itself, where that is withheld."""
        return self.source if self.withheld else self.candidates[0].text

    @property
    def score(self) -> float:
        return self.candidates[0].score

    @property
    def doubts(self) -> list[str]:
        """What is not as it should be, in words."""
        best = self.candidates[0]
        known = best.signals
        left = [f"left as it is, at a confidence of {known.confidence:.2f}"] if known and self.withheld else []
        return left + [f"no {each} in it" for each in best.unmet] + list(known.flags if known else ())

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Wanted:
    """What is wanted of a translation beside the settings of its search."""

    n_best: int = 1
    least_risk: bool = False  # rank by what the others agree with, in place of the score
    signals: bool = False
    min_confidence: float | None = None
    keeper: Keeper | None = None  # of terms, tags and placeholders

    def __post_init__(self) -> None:
        if self.min_confidence is not None and not 0 <= self.min_confidence <= 1:
            raise ConfigError(f"min_confidence={self.min_confidence} is not between 0 and 1, as a confidence is")


def translate(
    run: Run,
    lines: Iterable[str] | AsTheyCome,
    to: str | None = None,
    *,
    n_best: int = 1,
    least_risk: bool = False,
    signals: bool = False,
    min_confidence: float | None = None,
    keep: bool = False,
    keep_also: Sequence[str] = (),
    glossary: str | Path | None = None,
    engine: str = "auto",
    precision: str = "float32",
    batch: int = BATCH,
    **decode: Any,
) -> Iterator[Translation]:
    """Translate lines as they come, a window of them at a time; keywords override the run's decode settings."""
    config = decode_settings(run, n_best, decode)
    run.tag(to)  # a language that the run does not have is refused before the first line is read
    terms = Glossary.read(Path(glossary)) if glossary else None
    keeper = Keeper(run, terms, keep_also, batch) if keep or keep_also or terms else None
    wanted = Wanted(n_best, least_risk, signals, min_confidence, keeper)
    choice = Choice(run, config, engine, precision, batch)
    windows = lines if isinstance(lines, AsTheyCome) else in_windows(lines)
    together = ([(line, to) for line in window] for window in windows)
    return chain.from_iterable(translate_together(run, each, config, wanted, choice) for each in together)


def decode_settings(run: Run, n_best: int, decode: dict[str, Any]) -> DecodeConfig:
    config = validate(DecodeConfig, {**run.settings.decode.model_dump(), **decode}, "decoding")
    if not 1 <= n_best <= config.hypotheses:
        name = "samples" if config.samples else "beam"
        raise ConfigError(
            f"n_best={n_best} is not between 1 and {name}={config.hypotheses}: there are no more to choose from"
        )
    return config


def translate_together(
    run: Run,
    lines: Sequence[tuple[str, str | None]],
    config: DecodeConfig,
    wanted: Wanted = Wanted(),  # noqa: B008  # it cannot change
    choice: Callable[[int], Engine] | None = None,
) -> list[Translation]:
    """Translate (text, language) pairs, with the engine of a choice, or with our own."""
    full = [index for index, (text, _) in enumerate(lines) if text.strip()]  # nothing in, nothing out
    engine = choice(len(full)) if choice else TorchEngine(run)
    given = [lines[index] for index in full]
    found = [best[: wanted.n_best] for best in candidates(run, given, config, wanted, engine)]
    blank = Candidate("", 0.0, ())
    if wanted.signals or wanted.min_confidence is not None:
        found = with_signals(run, given, found, wanted.min_confidence)
        blank = replace(blank, signals=nothing(calibration_of(run)))
    translated = [Translation(text, (blank,)) for text, _ in lines]
    for index, best in zip(full, found, strict=True):
        least, known = wanted.min_confidence, best[0].signals
        unsure = known is not None and least is not None and withheld(known, least)
        translated[index] = Translation(lines[index][0], tuple(best), unsure)
    return translated


def candidates(
    run: Run, lines: Sequence[tuple[str, str | None]], config: DecodeConfig, wanted: Wanted, engine: Engine
) -> list[list[Candidate]]:
    """The best ways to translate each line, ranked as is wanted."""
    best = config.hypotheses if wanted.least_risk else wanted.n_best
    if wanted.keeper:
        kept = wanted.keeper.translate(lines, config, best, engine)
        found = [[candidate(way.text, way.hypothesis, way.unmet, way.reads) for way in ways] for ways in kept]
    else:
        decode, sources = run.target_tokenizer.decode, [run.encode_source(*line) for line in lines]
        found = [
            [candidate(decode(way.ids), way) for way in each.hypotheses[:best]]
            for each in engine.search(sources, config, best)
        ]
    if wanted.least_risk:
        return [[ways[place] for place in by_risk([way.text for way in ways])] for ways in found]
    return found


def with_signals(
    run: Run, lines: Sequence[tuple[str, str | None]], found: list[list[Candidate]], least: float | None
) -> list[list[Candidate]]:
    """The same with how far each can be trusted, judged by what the model read and wrote."""
    written = [
        Written(text if each.reads is None else each.reads, each.ids, to, each.finished)
        for (text, to), best in zip(lines, found, strict=True)
        for each in best
    ]
    known = iter(signals_of(run, written, least))
    return [[replace(each, signals=next(known)) for each in best] for best in found]


def candidate(text: str, hypothesis: Hypothesis, unmet: tuple[str, ...] = (), reads: str | None = None) -> Candidate:
    return Candidate(text, hypothesis.score, hypothesis.ids, hypothesis.finished, unmet, reads)
