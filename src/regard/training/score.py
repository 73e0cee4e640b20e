"""How good translations are, by sacreBLEU: each figure with the signature that makes it comparable.

score     BLEU and chrF at once, for whoever asks often, such as a validation
measure   what a paper reports: BLEU, chrF and TER with their intervals, and the BLEU of older papers beside them
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result

from regard.errors import ConfigError

RESAMPLES = 1000  # corpora drawn, with replacement, from the corpus, for an interval
FALLBACK = "en"  # whose rules the Moses tokeniser takes for a language that it does not know


@dataclass(frozen=True)
class Score:
    """Corpus scores of translations against one reference each, with the signatures that make them comparable."""

    bleu: float
    chrf: float
    exact: float  # share of sentences that are the reference, to the letter, in percent
    sentences: int
    signatures: dict[str, str]

    def __str__(self) -> str:
        lines = [
            f"BLEU  {self.bleu:6.2f}   {self.signatures['bleu']}",
            f"chrF  {self.chrf:6.2f}   {self.signatures['chrf']}",
        ]
        return "\n".join([*lines, f"exact {self.exact:6.2f} %  of {self.sentences} sentences"])


def score(translations: Sequence[str], references: Sequence[str]) -> Score:
    bleu, chrf = BLEU(), CHRF()
    bleu_score = bleu.corpus_score(list(translations), [list(references)]).score
    chrf_score = chrf.corpus_score(list(translations), [list(references)]).score
    signatures = {"bleu": str(bleu.get_signature()), "chrf": str(chrf.get_signature())}
    return Score(bleu_score, chrf_score, exact(translations, references), len(references), signatures)


def exact(translations: Sequence[str], references: Sequence[str]) -> float:
    return 100 * sum(t == r for t, r in zip(translations, references, strict=True)) / len(references)


@dataclass(frozen=True)
class Estimate:
    """A corpus score, and between which two it lies for 95 % of the corpora that might as well have been the test."""

    score: float
    low: float
    high: float
    signature: str  # with bs, the number of resamples, and their seed

    def __str__(self) -> str:
        return f"{self.score:6.2f}   95 %: {self.low:6.2f} – {self.high:6.2f}   {self.signature}"


@dataclass(frozen=True)
class Quality:
    """All that is said of translations against one reference each."""

    bleu: Estimate
    chrf: Estimate
    ter: Estimate  # edits to the reference in percent of its words: lower is better
    bleu_tokenised_lowercased: Estimate  # as older papers report it; not comparable with `bleu`
    moses: str  # the language whose rules the Moses tokeniser took for it
    language: str | None  # the language translated into, where the run names it
    exact: float  # share of sentences that are the reference, to the letter, in percent
    sentences: int

    def __str__(self) -> str:
        rules = f"Moses tokeniser with its rules for {self.moses}"
        if self.language is None:
            rules += ", as the run does not name its languages"
        elif self.moses != known_to_moses(self.language):
            rules += f", as it has none for {self.language}"
        return "\n".join(
            [
                f"BLEU  {self.bleu}",
                f"chrF  {self.chrf}",
                f"TER   {self.ter}   lower is better",
                f"exact {self.exact:6.2f} %  of {self.sentences} sentences",
                "Tokenised and lowercased, for comparison with older papers that report it so, and with nothing else:",
                f"BLEU  {self.bleu_tokenised_lowercased}",
                f"      {rules}",
            ]
        )


def measure(translations: Sequence[str], references: Sequence[str], language: str | None = None) -> Quality:
    """Every figure for translations into a language; the language only chooses the tokeniser of the last one."""
    moses = known_to_moses(language) or FALLBACK
    return Quality(
        bleu=estimate(BLEU(), translations, references),
        chrf=estimate(CHRF(), translations, references),
        ter=estimate(TER(), translations, references),
        bleu_tokenised_lowercased=tokenised_lowercased(translations, references, moses),
        moses=moses,
        language=language,
        exact=exact(translations, references),
        sentences=len(references),
    )


def estimate(metric: Metric, translations: Sequence[str], references: Sequence[str]) -> Estimate:
    """sacreBLEU's interval: the mean of the resamples, plus and minus half the width of their middle 95 %."""
    # A paired test of one alone: corpus_score(n_bootstrap=…) fails where some resamples score 0 and others do not.
    test = PairedTest([("run", list(translations))], {"metric": metric}, [list(references)], "bs", RESAMPLES, n_jobs=1)
    signatures, results = test()
    [(name, signature)] = signatures.items()
    [found] = results[name]
    assert isinstance(found, Result)
    mean, margin = float(found.mean or 0.0), float(found.ci or 0.0)
    highest = math.inf if isinstance(metric, TER) else 100.0
    return Estimate(found.score, max(mean - margin, 0.0), min(mean + margin, highest), str(signature))


def tokenised_lowercased(translations: Sequence[str], references: Sequence[str], language: str) -> Estimate:
    """BLEU over the tokens of Moses' tokeniser in lower case, which was usual before Post 2018 (WMT, sacreBLEU)."""
    import sacremoses  # here, as it takes a while and only this needs it

    tokenizer = sacremoses.MosesTokenizer(lang=language)

    def tokenise(lines: Sequence[str]) -> list[str]:
        return [" ".join(tokenizer.tokenize(line, escape=False)) for line in lines]

    metric = BLEU(lowercase=True, tokenize="none", force=True)  # force: it is tokenised, and meant to be
    metric.tokenizer_signature = f"sacremoses-{sacremoses.__version__}-{language}"
    return estimate(metric, tokenise(translations), tokenise(references))


def known_to_moses(language: str | None) -> str | None:
    """The code under which Moses has rules for a language that a run calls fr, French or fr-CA."""
    from sacremoses.corpus import NonbreakingPrefixes

    name = (language or "").lower().replace("_", "-").split("-")[0]
    return NonbreakingPrefixes().available_langs.get(name)


def check_seed() -> None:
    """Refuse a seed that sacreBLEU would stumble over, before anything is translated."""
    seed = os.environ.get("SACREBLEU_SEED", "12345")
    if seed.lower() != "none" and not (seed.isascii() and seed.isdigit()):
        raise ConfigError(f"SACREBLEU_SEED={seed} is no seed: make it a whole number, or none for another each time")
