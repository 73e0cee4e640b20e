"""Two runs on the same lines: is the difference more than chance, and where does it lie?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result

from regard.data.corpus import Pair
from regard.training.score import Quality

SIGNIFICANT = 0.05
SHOWN = 5  # sentences in print, of those that one run translates better; the object has all


@dataclass(frozen=True)
class Contrast:
    """What a metric says of the two: the run's score less the other's, and how often chance does as much."""

    difference: float
    p: float
    signature: str  # with ar, the number of trials, and their seed

    @property
    def significant(self) -> bool:
        return self.p < SIGNIFICANT


@dataclass(frozen=True)
class Difference:
    """A line that the two runs translate differently, and the chrF of each for this sentence alone."""

    line: int
    source: str
    reference: str
    translation: str
    other: str
    chrf: float
    other_chrf: float

    @property
    def gain(self) -> float:
        return self.chrf - self.other_chrf


@dataclass(frozen=True)
class Comparison:
    """A run beside another, on the same lines."""

    run: str
    other: str
    quality: Quality  # of the other
    bleu: Contrast
    chrf: Contrast
    ter: Contrast
    same: int  # lines that both translate to the same text
    better: int  # lines that the run translates better than the other, by the sentence's chrF
    worse: int
    equal: int  # lines with different texts of the same chrF
    differences: tuple[Difference, ...]  # lines that are not the same, from the run's largest gain to its largest loss

    def __str__(self) -> str:
        contrasts = {"BLEU": self.bleu, "chrF": self.chrf, "TER": self.ter}
        gains = [each for each in self.differences if each.gain > 0][:SHOWN]
        losses = [each for each in reversed(self.differences) if each.gain < 0][:SHOWN]
        return "\n".join(
            [
                f"{self.run} less {self.other}, by paired approximate randomisation:",
                *(row(name, contrast, lower_is_better=name == "TER") for name, contrast in contrasts.items()),
                f"lines {self.same} the same, {self.better} better, {self.worse} worse, {self.equal} different but "
                "equal, by the chrF of each sentence",
                *self.sentences(f"Most gained against {self.other}:", gains),
                *self.sentences(f"Most lost against {self.other}:", losses),
            ]
        )

    def sentences(self, title: str, differences: Sequence[Difference]) -> list[str]:
        lines = ["", title] if differences else []
        wide = max(len("reference"), len(self.run), len(self.other))
        for each in differences:
            lines += [
                f"line {each.line}: chrF {each.chrf:.2f} against {each.other_chrf:.2f}",
                f"  {'source':{wide}}  {each.source}",
                f"  {'reference':{wide}}  {each.reference}",
                f"  {self.run:{wide}}  {each.translation}",
                f"  {self.other:{wide}}  {each.other}",
            ]
        return lines


def row(name: str, contrast: Contrast, lower_is_better: bool) -> str:
    verdict = "no significant difference"
    if contrast.significant:
        verdict = "better" if (contrast.difference < 0) == lower_is_better else "worse"
    return f"{name:5} {contrast.difference:+6.2f}   p {contrast.p:.4f}   {verdict:25}   {contrast.signature}"


def compare_translations(
    pairs: Sequence[Pair], translations: Sequence[str], others: Sequence[str], names: tuple[str, str], quality: Quality
) -> Comparison:
    """A run's translations of the pairs' sources beside another's, whose quality is known."""
    bleu, chrf, ter = paired(translations, others, [pair.target for pair in pairs])
    found = differences(pairs, translations, others)
    better, worse = sum(each.gain > 0 for each in found), sum(each.gain < 0 for each in found)
    return Comparison(
        *names,
        quality=quality,
        bleu=bleu,
        chrf=chrf,
        ter=ter,
        same=len(pairs) - len(found),
        better=better,
        worse=worse,
        equal=len(found) - better - worse,
        differences=tuple(found),
    )


def differences(pairs: Sequence[Pair], translations: Sequence[str], others: Sequence[str]) -> list[Difference]:
    metric, found = CHRF(), []
    for line, (pair, mine, other) in enumerate(zip(pairs, translations, others, strict=True), start=1):
        if mine != other:
            scores = [metric.sentence_score(text, [pair.target]).score for text in (mine, other)]
            found.append(Difference(line, pair.source, pair.target, mine, other, *scores))
    return sorted(found, key=lambda each: (-each.gain, each.line))


def paired(translations: Sequence[str], others: Sequence[str], references: Sequence[str]) -> list[Contrast]:
    """BLEU, chrF and TER of two, and sacreBLEU's approximate randomisation between them.

    A trial deals each line's two translations out to two pseudo-runs at random; p is the share of trials in which these
    come to differ more than the runs do (Riezler and Maxwell 2005).
    """
    metrics: dict[str, Metric] = {"BLEU": BLEU(force=True), "chrF": CHRF(), "TER": TER()}
    systems: list[tuple[str, Sequence[str]]] = [("other", list(others)), ("run", list(translations))]
    signatures, results = PairedTest(systems, metrics, [list(references)], test_type="ar", n_jobs=1)()
    contrasts = []
    for (name, signature), metric in zip(signatures.items(), metrics.values(), strict=True):
        other, run = results[name]
        assert isinstance(other, Result)
        assert isinstance(run, Result)
        difference = run.score - other.score
        least = least_p(metric, translations, others, references) if difference else 1.0
        contrasts.append(Contrast(difference, max(run.p_value or 0.0, least), str(signature)))
    return contrasts


def least_p(metric: Metric, translations: Sequence[str], others: Sequence[str], references: Sequence[str]) -> float:
    """The least p that as many lines can show as differ in this metric's counts.

    One deal in 2ⁿ⁻¹ is the runs themselves, or the two exchanged. It differs as much as they do, but sacreBLEU counts
    only what differs more: a run against itself, or one line that differs among thousands, would have p 0.0001.
    """
    lines = [line for line in zip(translations, others, references, strict=True) if line[0] != line[1]]
    mine, other, wanted = (list(column) for column in zip(*lines, strict=True))
    counts = [metric._extract_corpus_statistics(each, [wanted]) for each in (mine, other)]
    differ = sum(a != b for a, b in zip(*counts, strict=True))
    return 2.0 ** min(1 - differ, 0)
