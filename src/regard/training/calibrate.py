"""What validation teaches about trust: what scores are worth, what is usual in a translation, which heads align."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.chrf import CHRF

from regard import lessons
from regard.data.batch import Example
from regard.data.direction import Directed
from regard.decoding.confidence import CONFIDENCE, Calibration, rising
from regard.decoding.heads import ALIGNMENT, choice_of, choose
from regard.decoding.reading import read
from regard.decoding.translate import Translation, translate_together
from regard.decoding.trust import copied_share, least_seen, score, stretch
from regard.errors import DataError
from regard.run import Run
from regard.tokens.text import EOS

SELDOM = 0.01  # of the validation pairs lie beyond what is called usual
WIDER = 1.25  # times as far lies what is called wrong


def learn_trust(run: Run, pairs: Sequence[Directed], translations: Sequence[Translation] = ()) -> None:
    """Choose the heads that align and calibrate confidence, by two pairs or more; both are kept in the run's folder."""
    if run.folder is None or len(pairs) < 2:
        return
    lessons.save(choose(run, pairs), run.folder / ALIGNMENT)
    lessons.save(calibrate(run, pairs, translations), run.folder / CONFIDENCE)


def calibrate(run: Run, pairs: Sequence[Directed], translations: Sequence[Translation] = ()) -> Calibration:
    """What the run's scores come to by chrF, and what is usual in the pairs; they are translated if they are not yet.

    Lengths and what is copied are those of the references, since a run may have learned to loop.
    """
    if not pairs:
        raise DataError("there is nothing to calibrate with: give pairs that the run was not trained on")
    sources = [run.encode_source(pair.source, pair.to) for pair in pairs]
    found = translations or translate_together(run, [(pair.source, pair.to) for pair in pairs], run.settings.decode)
    written = [Example(ids, [*each.candidates[0].ids, EOS]) for ids, each in zip(sources, found, strict=True)]
    readings = read(run, written, choice_of(run).heads)
    scores, quality = rising(
        [score(each.log_probabilities) for each in readings],
        [chrf(each.text, pair.target) / 100 for each, pair in zip(found, pairs, strict=True)],
    )
    lengths = [stretch(Example(ids, run.encode_target(pair.target))) for ids, pair in zip(sources, pairs, strict=True)]
    copied = [copied_share(pair.source, pair.target) for pair in pairs]
    seen = [look for each in readings if (look := least_seen(run, each)) < np.inf]
    return Calibration(
        scores=scores,
        quality=quality,
        shortest=float(np.quantile(lengths, SELDOM)) / WIDER,
        longest=float(np.quantile(lengths, 1 - SELDOM)) * WIDER,
        copied=max(Calibration().copied, float(np.quantile(copied, 1 - SELDOM))),
        unseen=float(np.quantile(seen, SELDOM)) / WIDER if seen else 0.0,
        sentences=len(pairs),
    )


def chrf(translation: str, reference: str) -> float:
    return CHRF().sentence_score(translation, [reference]).score
