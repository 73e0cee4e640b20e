"""The same search on another runtime: CTranslate2, the fastest there is on a CPU.

engine = CTranslate2Engine(run)                converts once, into RUN/engines/ctranslate2-float32/
found = engine.search(sources, config)

Its beam search follows our rule: K candidates are looked at, those that end are finished, the next best take their
places, and K finished hypotheses end the search. Four things are its own. It has one length limit for a batch, so a
sentence that reaches its own is searched again under that. It reports no margins: `Found.margin` tells only how far the
finished hypotheses lie apart; where that is next to nothing, torch weighs them, and where that leaves it open, our own
search decides. Right behind what leads a translation it lets none end but the likeliest; where another could, our own
search decides as well. And its positions have an end: what is longer is left to our own search, too.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

from regard import __version__
from regard.config import DecodeConfig
from regard.data.batch import Example
from regard.decoding.hypothesis import Found, Hypothesis, closest, penalty
from regard.decoding.reading import read
from regard.decoding.torch_engine import TorchEngine, limits_of
from regard.errors import DeviceError, RunError
from regard.exchange import ctranslate2, positions
from regard.extras import needed
from regard.languages import lead_of
from regard.precision import PATIENCE
from regard.run import PARAMETERS, Run
from regard.tokens.text import EOS
from regard.trial import FailedTrialError
from regard.trial import trial as run_trial

ENGINES, NOTES = "engines", "notes.json"
PLAIN = {"beam", "length_penalty", "max_length", "max_ratio"}  # the settings of a search that it follows
NEAR = 1e-3  # a difference in log-probability that is weighed again in torch,
LEVEL = 1e-4  # and one that is no more than the order in which floats are added
SMALLEST = 1e-6  # of length penalties that are not 0: at 0 it would stop at the first finished hypothesis

# Run by a Python of its own, given a converted folder: load it and translate one token.
TRIAL = """
import sys, ctranslate2
translator = ctranslate2.Translator(sys.argv[1], device="cpu", inter_threads=1, intra_threads=1)
assert translator.translate_batch([["<unk>"]], beam_size=2, max_decoding_length=4)[0].hypotheses
"""


class Split(NamedTuple):
    """How the cores are used: so many workers, each with so many threads, which decodes so many sentences at once."""

    workers: int
    threads: int
    batch: int = 32


class CTranslate2Engine:
    """A run's network in CTranslate2, on the CPU."""

    name = "ctranslate2"

    def __init__(self, run: Run, precision: str = "float32", split: Split | None = None):
        threads = torch.get_num_threads()
        self.run, self.split = run, split or Split(threads, 1)
        self.translator = needed("ctranslate2").Translator(
            str(converted(run, precision)),
            device="cpu",
            inter_threads=self.split.workers,
            intra_threads=self.split.threads,
        )
        torch.set_num_threads(threads)  # which is OpenMP's, and was set to its own by making that
        self.sources = run.source_tokenizer.names
        self.targets = run.target_tokenizer.names
        self.ids = {piece: id for id, piece in enumerate(self.targets)}
        self.forbidden = [[self.targets[id]] for id in run.target_tokenizer.unwritten]
        self.longest = positions.count(run.translator, run.settings.decode)  # tokens that a source may have

    @staticmethod
    def follows(config: DecodeConfig) -> bool:
        """Whether it searches as these settings say: a beam, with nothing to steer it."""
        plain = DecodeConfig(**config.model_dump(include=PLAIN))
        return config == plain

    def search(self, sources: Sequence[list[int]], config: DecodeConfig, best: int | None = None) -> list[Found]:
        """What is found for each source, which ends in EOS: so many hypotheses and the next, or all of the beam."""
        best, limits = best or config.beam, limits_of(sources, config)
        short = {i: ids for i, ids in enumerate(sources) if max(len(ids), limits[i]) <= self.longest}
        found = {i: self.found(each, config, best) for i, each in self.within_limits(short, limits, config).items()}
        near = {i: self.weighed(short[i], each, config) for i, each in found.items() if each.margin < NEAR}
        long, level = set(range(len(sources))) - found.keys(), {i for i, each in near.items() if each.margin < LEVEL}
        left = sorted(long | level | self.empty(sources, config))
        own = TorchEngine(self.run).search([sources[i] for i in left], config)
        known = found | near | dict(zip(left, own, strict=True))
        return [known[i] for i in range(len(sources))]

    def within_limits(
        self, sources: dict[int, list[int]], limits: Sequence[int], config: DecodeConfig
    ) -> dict[int, Any]:
        """What it gives back for each source, no longer than that one's own limit."""
        highest = max((limits[i] for i in sources), default=0)
        results = self.within(sources, config, highest)
        again: dict[int, list[int]] = defaultdict(list)  # by their own limit, those that might have met it
        for i, each in results.items():
            if limits[i] < highest and max(map(len, each.hypotheses)) >= limits[i]:
                again[limits[i]].append(i)
        for limit, those in again.items():
            results |= self.within({i: sources[i] for i in those}, config, limit)
        return results

    def within(self, sources: dict[int, list[int]], config: DecodeConfig, limit: int) -> dict[int, Any]:
        leads = [[self.targets[id] for id in lead_of(ids)] for ids in sources.values()]
        results = self.translator.translate_batch(
            [[self.sources[id] for id in without_end(ids)] for ids in sources.values()],
            target_prefix=leads if any(leads) else None,
            max_batch_size=self.split.batch,
            beam_size=config.beam,
            num_hypotheses=config.beam,
            length_penalty=config.length_penalty or SMALLEST,
            max_decoding_length=limit,
            min_decoding_length=0,
            max_input_length=0,
            suppress_sequences=self.forbidden,
            return_scores=True,
            return_end_token=True,
        )
        return dict(zip(sources, results, strict=True))

    def found(self, result: Any, config: DecodeConfig, best: int) -> Found:
        """The best hypotheses and the next, ranked as ours are: log-probability / length^α, EOS counted."""
        hypotheses: list[Hypothesis] = []
        for pieces, score in zip(result.hypotheses[: best + 1], result.scores, strict=False):
            ids = tuple(self.ids[piece] for piece in pieces)
            finished = ids[-1:] == (EOS,)
            written = ids[:-1] if finished else ids
            total = score * len(ids) ** (config.length_penalty or SMALLEST)
            hypotheses.append(Hypothesis(written, total / penalty(len(ids), config), total, finished))
        return Found(hypotheses, closest(hypotheses, config))

    def weighed(self, source: list[int], found: Found, config: DecodeConfig) -> Found:
        """The same hypotheses, as likely as torch finds them in one pass over each, where a search takes many."""
        anew = Found()
        readings = read(self.run, [Example(source, [*each.ids, EOS]) for each in found.hypotheses])
        for each, reading in zip(found.hypotheses, readings, strict=True):
            costs = reading.log_probabilities[: len(reading.log_probabilities) - (not each.finished)]
            anew.add(list(each.ids), each.length, float(costs.sum()), each.finished, config)
        anew.rank(config)
        return anew

    def empty(self, sources: Sequence[list[int]], config: DecodeConfig) -> set[int]:
        """Which sources have an empty translation among the first that the beam looks at behind a lead."""
        led = [index for index, ids in enumerate(sources) if lead_of(ids)]
        if not led:
            return set()
        briefly = config.model_copy(update={"max_length": 1 + len(lead_of(sources[led[0]]))})
        first = TorchEngine(self.run).search([sources[index] for index in led], briefly)
        return {index for index, each in zip(led, first, strict=True) if any(one.finished for one in each.hypotheses)}


def without_end(ids: list[int]) -> list[int]:
    """CTranslate2 adds EOS to a source itself."""
    if ids[-1:] != [EOS]:
        raise ValueError("a source should end in EOS")
    return ids[:-1]


def folder_of(run: Run, precision: str) -> Path:
    if run.folder is None:
        raise RunError("an engine is kept in the run's folder, and this run has none: save it first")
    return run.folder / ENGINES / f"ctranslate2-{precision}"


def changed(run: Run) -> list[int]:
    """The size of the run's parameters, and when they were last written."""
    parameters = (folder_of(run, "float32").parents[1] / PARAMETERS).stat()
    return [parameters.st_size, parameters.st_mtime_ns]


def converted(run: Run, precision: str) -> Path:
    """The folder with the run's network, made anew when its parameters have changed, and tried on each machine once."""
    folder, stamp = folder_of(run, precision), {"regard": __version__, "changed": changed(run)}
    if remembered(folder).get("made_from") != stamp:
        try:
            make(run, precision, folder, stamp)
        except OSError as error:
            raise RunError(f"{folder} cannot be written, where an engine is kept: {error.strerror}") from None
    prove(folder, precision)
    return folder


def make(run: Run, precision: str, folder: Path, stamp: dict[str, Any]) -> None:
    """Convert beside the folder, and put what is whole in its place, unless somebody else has done so meanwhile."""
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".engine-", dir=folder.parent) as place:
        fresh = Path(place) / folder.name
        ctranslate2.export(run, fresh, precision)
        remember(fresh, made_from=stamp)
        if remembered(folder).get("made_from") != stamp:
            shutil.rmtree(folder, ignore_errors=True)
            try:
                fresh.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise


def prove(folder: Path, precision: str) -> None:
    """Let a child process load the folder and translate: some machines die of an illegal instruction."""
    supported = needed("ctranslate2").get_supported_compute_types("cpu")
    if precision not in supported:  # it would convert to float32
        raise DeviceError(
            f"CTranslate2 does not compute in {precision} on this machine: choose from {', '.join(sorted(supported))}"
        )
    reason = remembered_here(folder).get("fails")
    if reason is None:
        reason = failure(folder)
        remember_here(folder, fails=reason)
    if reason:
        raise DeviceError(
            f"CTranslate2 does not compute in {precision} on this machine, {reason}: try float32, or torch"
        )


def failure(folder: Path, trial: str = TRIAL, patience: float = PATIENCE) -> str:
    """How a trial of the folder failed, in a clause, or nothing."""
    try:
        run_trial(trial, folder, patience=patience)
    except FailedTrialError as failed:
        return f"where a trial {failed}"
    return ""


def remembered(folder: Path) -> dict[str, Any]:
    """What an engine's folder tells of itself: what it was made from and, by machine, how it does there."""
    try:
        known = json.loads((folder / NOTES).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}


def remember(folder: Path, **notes: Any) -> None:
    """Add notes; whoever reads meanwhile finds the old ones or the new. What may not be written is not remembered."""
    with suppress(OSError), tempfile.NamedTemporaryFile("w", dir=folder, suffix=".json", delete=False) as file:
        json.dump(remembered(folder) | notes, file, indent=2)
        file.close()
        Path(file.name).replace(folder / NOTES)


def remembered_here(folder: Path) -> dict[str, Any]:
    """What is known of the folder on this machine."""
    known = remembered(folder).get(this_machine())
    return known if isinstance(known, dict) else {}


def remember_here(folder: Path, **notes: Any) -> None:
    remember(folder, **{this_machine(): remembered_here(folder) | notes})


def this_machine() -> str:
    """A name for what decides how an engine does: the processor, the threads given, and the version of the runtime."""
    known = [processor(), torch.get_num_threads(), needed("ctranslate2").__version__]
    return "machine " + hashlib.sha256(repr(known).encode()).hexdigest()[:16]


@cache
def processor() -> str:
    """Its name and what it can do, as Linux tells them, or else as Python does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return "\n".join(
        sorted({line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))})
    )
