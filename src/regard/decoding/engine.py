"""Which runtime decodes: the fastest that is there and gives the tokens of our own search.

    auto ──▶ can it be? the CPU, CTranslate2 installed, a beam with nothing to steer it
         ──▶ is there work enough, or has it been tried here before?
         ──▶ does it give our tokens? if not known yet: convert, compare, measure, remember
         ──▶ CTranslate2, or else torch

What is found out stands in RUN/engines/ctranslate2-float32/notes.json, by machine, and is found out once.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Protocol

import torch

from regard.config import DecodeConfig
from regard.console import say
from regard.data import phrasebook
from regard.data.corpus import read_lines
from regard.decoding.ctranslate2_engine import (
    CTranslate2Engine,
    Split,
    changed,
    converted,
    folder_of,
    remember_here,
    remembered_here,
)
from regard.decoding.search import Found
from regard.decoding.torch_engine import BATCH, TorchEngine
from regard.errors import ConfigError, RegardError
from regard.exchange import positions
from regard.languages import Source, lead_of
from regard.run import PARAMETERS, Run
from regard.tokens.text import EOS

ENGINES = ("auto", "torch", "ctranslate2")
WORTH = 100  # sentences at once, from which on an engine is worth making
COMPARED = 64  # sentences that both engines translate
LONG = 60  # tokens that a translation may have there: a text that the run does not know would have no end
BATCHES = (32, 16, 64)  # sentences that a worker may decode at once; the first is the one that is taken untried
TURNS = 2  # that each worker has at the largest batch while they are measured: in fewer, one waits for the other
PATIENCE = 5.0  # seconds, after which no further batch is measured


class Engine(Protocol):
    """Sources to what is found for each, in order, the same whatever is decoded beside it."""

    name: str

    def search(self, sources: Sequence[list[int]], config: DecodeConfig, best: int | None = None) -> list[Found]: ...


class Choice:
    """The engine for each handful of sources as they come: what is not worth converting at first may be so later."""

    def __init__(
        self, run: Run, config: DecodeConfig, wanted: str = "auto", precision: str = "float32", batch: int = BATCH
    ):
        if wanted not in ENGINES:
            raise ConfigError(f"engine {wanted!r} is unknown: choose from {', '.join(ENGINES)}")
        if wanted == "torch" and precision != "float32":
            raise ConfigError(f"torch decodes in float32, not in {precision}: use --engine ctranslate2 for that")
        self.run, self.config, self.precision = run, config, precision
        self.demanded = wanted == "ctranslate2" or precision != "float32"
        self.own = TorchEngine(run, batch)
        reason = "" if wanted == "torch" else hindrance(run, config)
        if self.demanded and reason:
            raise ConfigError(f"CTranslate2 cannot decode this: {reason}; use --engine torch")
        self.open = wanted != "torch" and not reason

    def __call__(self, waiting: int) -> Engine:
        """The engine for so many sources."""
        return (self.open and self.fast(waiting)) or self.own

    def fast(self, waiting: int) -> Engine | None:
        """The faster engine, split as suits so many, or None: for now, or, where it is not fit, for good."""
        kind = (self.precision, self.config.beam, waiting == 1, *changed(self.run))
        if kind not in self.run.engines:
            if not self.demanded and waiting < WORTH and not is_known(self.run):
                return None
            try:
                if self.demanded or agrees(self.run, self.config):
                    self.run.engines[kind] = fastest(self.run, self.config, self.precision, alone=waiting == 1)
            except RegardError as error:
                if self.demanded:
                    raise
                say(f"decoding with torch: {error}")
            self.open = kind in self.run.engines
        return self.run.engines.get(kind)


def hindrance(run: Run, config: DecodeConfig) -> str:
    """Why CTranslate2 cannot search for this run as these settings say, or nothing."""
    if run.device.type != "cpu":
        return f"it is used on the CPU, and the run is on {run.device.type}"
    if run.folder is None or not (run.folder / PARAMETERS).is_file():
        return "it is kept in the run's folder, and there is none"
    if find_spec("ctranslate2") is None:
        return "it is not installed: pip install 'regard[export]'"
    if not run.is_as_kept:
        return "it reads the run's folder, and the network here has been changed"
    return "" if CTranslate2Engine.follows(config) else "it follows a plain beam alone"


def is_known(run: Run) -> bool:
    """Whether it has been found out, on this machine, if CTranslate2 gives our tokens."""
    return "differs" in remembered_here(folder_of(run, "float32"))


def agrees(run: Run, config: DecodeConfig) -> bool:
    """Whether CTranslate2 gives the tokens of our own search, alone and in batches; found out once on each machine."""
    folder = converted(run, "float32")
    differs = remembered_here(folder).get("differs")
    if differs is None:
        sources = some_sources(run)
        differs = len(differing(run, sources, config))
        remember_here(folder, differs=differs, compared=len(sources))
        verdict = "the same tokens as torch" if not differs else f"{differs} translated otherwise than by torch"
        say(f"CTranslate2 tried on {len(sources)} sentences, alone and together: {verdict}")
    return not differs


def differing(run: Run, sources: Sequence[list[int]], config: DecodeConfig) -> list[int]:
    """Which of the sources CTranslate2 translates otherwise than our own search, one at a time or 64."""
    config = config.model_copy(update={"max_length": min(LONG, config.max_length)})
    expected = TorchEngine(run).search(sources, config)
    found = [CTranslate2Engine(run, split=Split(1, 1, batch)).search(sources, config, best=1) for batch in (1, 64)]
    return [
        index
        for index, each in enumerate(expected)
        if any(each.hypotheses[0].ids != other[index].hypotheses[0].ids for other in found)
    ]


def fastest(run: Run, config: DecodeConfig, precision: str, alone: bool) -> CTranslate2Engine:
    """The engine with the cores split as suits one sentence, or many; measured once on each machine for each beam."""
    folder, beam = converted(run, precision), f"beam {config.beam}"
    splits = remembered_here(folder).get(beam)
    if splits is None:
        splits = measured(run, config, precision)
        remember_here(folder, **{beam: splits})
    return CTranslate2Engine(run, precision, Split(*splits["alone" if alone else "together"]))


def measured(run: Run, config: DecodeConfig, precision: str) -> dict[str, Split]:
    """The quickest way to translate sentences one by one, and the quickest for many."""
    cores = torch.get_num_threads()
    sources = some_sources(run, TURNS * cores * max(BATCHES))
    config = config.model_copy(update={"max_length": min(LONG, config.max_length)})
    splits = {Split(cores, 1), Split(1, cores)}
    alone = min(splits, key=lambda split: seconds_alone(CTranslate2Engine(run, precision, split), sources, config))
    engine, times = CTranslate2Engine(run, precision, Split(cores, 1)), {}
    for batch in BATCHES:
        if sum(times.values()) < PATIENCE:
            engine.split = Split(cores, 1, batch)
            began = perf_counter()
            engine.search(sources, config, best=1)
            times[engine.split] = perf_counter() - began
    return {"alone": alone, "together": min(times, key=lambda split: times[split])}


def seconds_alone(engine: Engine, sources: Sequence[list[int]], config: DecodeConfig) -> float:
    times: list[float] = []
    for ids in sources[:12]:
        began = perf_counter()
        engine.search([ids], config, best=1)
        times.append(perf_counter() - began)
    return median(times)


def some_sources(run: Run, count: int = COMPARED) -> list[list[int]]:
    """Sentences of the run's validation file, if that is still there, or of the phrasebook: any will do, cut short."""
    data = run.settings.data
    held_out = Path(data.valid_source)
    lines = read_lines(held_out) if data.valid_source and held_out.is_file() else []
    lines = [line.partition("\t")[0] for line in lines if line.strip()][:count]
    lines = lines or [each.english for each in phrasebook.phrases("test", count)]
    to = data.languages[1] if data.asks_language else None
    sources = [run.encode_source(line, to) for line in lines]
    most = positions.count(run.translator, run.settings.decode)
    return [ids if len(ids) <= most else Source([*ids[: most - 1], EOS], lead_of(ids)) for ids in sources]
