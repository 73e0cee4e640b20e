"""The same search on another runtime: CTranslate2, the fastest there is on a CPU.

engine = Engine(run)                                      converts once, into RUN/engines/ctranslate2-float32/
found = engine.search(sources, config, limits_of(sources, config), run.target_tokenizer.unwritten)
differing(run, engine, sources, config)                   which of these it decodes otherwise than torch

Its beam search follows our rule: K candidates are looked at, those that end are finished, the next best take their
places, and K finished hypotheses end the search. Three things are its own. Forbidden ids leave its softmax before it is
taken, and ours after, so scores differ by the little that a trained model gives them. It has one length limit for a
batch, so a sentence that reaches its own is searched again under that. And it reports no margins: `Found.margin` tells
only how far the finished hypotheses lie apart.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from regard import __version__
from regard.config import DecodeConfig
from regard.decoding.search import Found, Hypothesis, penalty
from regard.decoding.translate import MARGIN, decode_batch, limits_of
from regard.errors import DeviceError, RunError
from regard.exchange import ctranslate2, positions
from regard.exchange.folder import needed
from regard.precision import PATIENCE
from regard.run import PARAMETERS, Run
from regard.tokens.text import EOS
from regard.trial import FailedTrialError
from regard.trial import trial as run_trial

ENGINES, STAMP = "engines", "made_from.json"
BATCH = 32  # sentences that one worker decodes together
SMALLEST = 1e-6  # of length penalties that are not 0: at 0 it would stop at the first finished hypothesis

# Run by a Python of its own, given a converted folder: load it and translate one token.
TRIAL = """
import sys, ctranslate2
translator = ctranslate2.Translator(sys.argv[1], device="cpu", inter_threads=1, intra_threads=1)
assert translator.translate_batch([["<unk>"]], beam_size=2, max_decoding_length=4)[0].hypotheses
"""


class Engine:
    """A run's network in CTranslate2, on the CPU; as many workers as there are cores, each on one thread."""

    def __init__(self, run: Run, precision: str = "float32", workers: int | None = None):
        folder = prepared(run, precision)
        prove(folder, precision)
        self.translator = needed("ctranslate2").Translator(
            str(folder), device="cpu", inter_threads=workers or os.cpu_count() or 1, intra_threads=1
        )
        self.sources = ctranslate2.pieces(run.source_tokenizer)
        self.targets = ctranslate2.pieces(run.target_tokenizer)
        self.ids = {piece: id for id, piece in enumerate(self.targets)}
        self.longest = positions.count(run.settings.model, run.settings.decode)  # tokens that a source may have

    def search(
        self,
        sources: Sequence[list[int]],
        config: DecodeConfig,
        limits: Sequence[int],
        forbidden: Sequence[int] = (),
        batch: int = BATCH,
    ) -> list[Found]:
        """The best hypotheses for each source, which ends in EOS, at most `limits[i]` tokens long."""
        if too_long := next((ids for ids in sources if len(ids) > self.longest), None):
            raise RunError(f"a source of {len(too_long)} tokens is too long for the engine, which takes {self.longest}")
        highest = max(limits, default=0)
        found = self.within(sources, config, highest, forbidden, batch)
        again: dict[int, list[int]] = defaultdict(list)  # by their own limit, those that might have met it
        for index, (each, limit) in enumerate(zip(found, limits, strict=True)):
            if limit < highest and any(len(one.ids) + one.finished >= limit for one in each.hypotheses):
                again[limit].append(index)
        for limit, indices in again.items():
            anew = self.within([sources[index] for index in indices], config, limit, forbidden, batch)
            for index, each in zip(indices, anew, strict=True):
                found[index] = each
        return found

    def within(
        self, sources: Sequence[list[int]], config: DecodeConfig, limit: int, forbidden: Sequence[int], batch: int
    ) -> list[Found]:
        alpha = config.length_penalty or SMALLEST
        results = self.translator.translate_batch(
            [[self.sources[id] for id in without_end(ids)] for ids in sources],
            max_batch_size=batch,
            beam_size=config.beam,
            num_hypotheses=config.beam,
            length_penalty=alpha,
            max_decoding_length=limit,
            min_decoding_length=0,
            max_input_length=0,
            suppress_sequences=[[self.targets[id]] for id in forbidden] or None,
            return_scores=True,
            return_end_token=True,
        )
        return [self.found(result, config, alpha) for result in results]

    def found(self, result: Any, config: DecodeConfig, alpha: float) -> Found:
        hypotheses: list[Hypothesis] = []
        for pieces, score in zip(result.hypotheses, result.scores, strict=True):
            ids = [self.ids[piece] for piece in pieces]
            finished = ids[-1:] == [EOS]
            total = score * len(ids) ** alpha
            written = tuple(ids[:-1] if finished else ids)
            hypotheses.append(Hypothesis(written, total / penalty(len(ids), config), total, finished))
        hypotheses.sort(key=lambda hypothesis: -hypothesis.score)
        scores = [hypothesis.score for hypothesis in hypotheses]
        return Found(hypotheses, min((a - b for a, b in pairwise(scores)), default=float("inf")))


def without_end(ids: list[int]) -> list[int]:
    """CTranslate2 adds EOS to a source itself."""
    if ids[-1:] != [EOS]:
        raise ValueError("a source should end in EOS")
    return ids[:-1]


def differing(run: Run, engine: Engine, sources: Sequence[list[int]], config: DecodeConfig) -> list[int]:
    """Which of the sources the engine translates otherwise than our own search, alone or 64 at a time."""
    forbidden, limits = run.target_tokenizer.unwritten, limits_of(sources, config)
    expected: list[Found] = []
    for start in range(0, len(sources), 64):
        expected += decode_batch(run, sources[start : start + 64], config)
    expected = [
        decode_batch(run, [ids], config)[0] if each.margin < MARGIN else each
        for ids, each in zip(sources, expected, strict=True)
    ]
    found = [engine.search(sources, config, limits, forbidden, batch) for batch in (1, 64)]
    return [
        index
        for index, each in enumerate(expected)
        if any(each.hypotheses[0].ids != other[index].hypotheses[0].ids for other in found)
    ]


def prepared(run: Run, precision: str) -> Path:
    """The folder with the converted run, made anew when the run's parameters have changed."""
    if run.folder is None:
        raise RunError("an engine is kept in the run's folder, and this run has none: save it first")
    folder, parameters = run.folder / ENGINES / f"ctranslate2-{precision}", (run.folder / PARAMETERS).stat()
    stamp = {"regard": __version__, "size": parameters.st_size, "changed": parameters.st_mtime_ns}
    known = remembered(folder)
    if any(known.get(key) != value for key, value in stamp.items()):
        shutil.rmtree(folder, ignore_errors=True)
        ctranslate2.export(run, folder, precision)
        (folder / STAMP).write_text(json.dumps(stamp))
    return folder


def prove(folder: Path, precision: str) -> None:
    """Let a child process load the folder and translate, once on each machine: some die of an illegal instruction."""
    runtime = needed("ctranslate2")
    if precision not in (supported := runtime.get_supported_compute_types("cpu")):  # it would convert to float32
        known = ", ".join(sorted(supported))
        raise DeviceError(f"CTranslate2 does not compute in {precision} on this machine: choose from {known}")
    machine = [platform.node(), platform.machine(), platform.processor(), runtime.__version__]
    here, known = hashlib.sha256(repr(machine).encode()).hexdigest()[:16], remembered(folder)
    if here in known.get("proven", []):
        return
    if reason := failure(folder):
        raise DeviceError(
            f"CTranslate2 does not compute in {precision} on this machine, {reason}: try float32, or torch"
        )
    (folder / STAMP).write_text(json.dumps({**known, "proven": [*known.get("proven", []), here]}))


def failure(folder: Path, trial: str = TRIAL, patience: float = PATIENCE) -> str:
    """How a trial of the folder failed, in a clause, or nothing."""
    try:
        run_trial(trial, folder, patience=patience)
    except FailedTrialError as failed:
        return f"where a trial {failed}"
    return ""


def remembered(folder: Path) -> dict[str, Any]:
    try:
        known = json.loads((folder / STAMP).read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}
