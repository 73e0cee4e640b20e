"""Minimum Bayes risk: of several translations, the one that the others agree with most.

    ŷ = argmax_i Σ_j w_j u(y_i, y_j)                          Eikema & Aziz 2020

with chrF as the utility u (Popović 2015). The likeliest translation may be an outlier; what lies in the midst of many
samples is seldom one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sacrebleu.metrics.chrf import CHRF


def least_risk(texts: Sequence[str], weights: Sequence[float] | None = None) -> list[int]:
    """The places of the texts, that of the least risk first; among equals, in their order."""
    expected = expected_chrf(texts, weights)
    return sorted(range(len(texts)), key=lambda place: -expected[place])


def expected_chrf(texts: Sequence[str], weights: Sequence[float] | None = None) -> list[float]:
    """The chrF, 0 to 100, that each text can expect if one of them is right, each as likely as its weight says."""
    share = defaultdict[str, float](float)  # texts that say the same count together
    for text, weight in zip(texts, [1.0] * len(texts) if weights is None else weights, strict=True):
        share[text] += weight
    chrf, whole = CHRF(), sum(share.values())

    def utility(text: str, right: str) -> float:
        return 100.0 if text == right else chrf.sentence_score(text, [right]).score

    expected = {text: sum(share[right] * utility(text, right) for right in share) / whole for text in share}
    return [expected[text] for text in texts]
