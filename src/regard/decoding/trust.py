"""How far a translation can be trusted: what its tokens cost, what that is worth, and what looks wrong with it.

    for each in signals(run, [Written("A man sleeps.", ids)]):
        each.confidence, each.flags, each.links

All of it comes from one pass over source and translation (`reading`). The flags are:

    empty       nothing was written for a source that says something
    loop        words or tokens repeated in a row, more often than in the source: salad salad salad
    overlong    cut off at its length limit, or longer for its source than validation has shown
    copied      the source left as it is, beyond names and numbers
    omission    a number is missing, or it is too short for its source, or a long word was hardly looked at

The first four are not what a score knows of, since a model is sure of its loops: such a translation is trusted no more
than the worst of the validation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from regard.data.batch import Example
from regard.decoding.align import MARGIN, Links, hangs, links_in
from regard.decoding.confidence import Calibration, calibration_of
from regard.decoding.heads import choice_of
from regard.decoding.reading import Reading, read
from regard.run import Run
from regard.tokens.text import EOS

Flag = Literal["empty", "loop", "overlong", "copied", "omission"]
GRAVE: frozenset[Flag] = frozenset(("empty", "loop", "overlong", "copied"))

OFTEN = 3  # times in a row are a loop
LONG = 4  # words that are a loop when said twice in a row
PLAIN = 3  # plain words that a source must have before it can be called copied
LETTERS = 4  # of a word that should be looked at: shorter ones often have no counterpart
SMALL = 5  # added to both lengths, as the ratio of short ones varies

NUMBER = re.compile(r"\d(?:[.,’' \u00a0\u202f]?\d)+")  # of two digits and more: below, they are often spelled out


class Written(NamedTuple):
    """A translation to be judged."""

    source: str
    ids: Sequence[int]  # without EOS
    to: str | None = None
    finished: bool = True  # False where the length limit cut it off


@dataclass(frozen=True)
class Signals:
    """What is known of one translation."""

    log_probabilities: tuple[float, ...]  # of each token chosen, and of EOS where it came to its end
    confidence: float  # 0 … 1; calibrated, the chrF / 100 to be expected
    calibrated: bool
    flags: tuple[Flag, ...]
    links: Links  # source word, target word

    @property
    def log_probability(self) -> float:
        return sum(self.log_probabilities)


def signals(run: Run, written: Sequence[Written], least: float | None = None) -> list[Signals]:
    """Judge translations, in batches; a `least` confidence that something hangs on is told the same in any batch."""
    calibration = calibration_of(run)
    examples = [Example(run.encode_source(each.source, each.to), [*each.ids, EOS]) for each in written]

    def unsure(index: int, reading: Reading) -> bool:
        confidence = calibration.confidence(score(costs_of(written[index], reading)))
        close = least is not None and abs(confidence - least) < MARGIN
        return close or hangs(reading) or abs(least_seen(run, reading) - calibration.unseen) < MARGIN

    readings = read(run, examples, choice_of(run).heads, unsure)
    return [judge(run, calibration, *pair) for pair in zip(written, readings, strict=True)]


def withheld(signals: Signals, least: float) -> bool:
    """Whether a translation is less sure than asked; its line is then the source, which is plainly no translation."""
    return signals.confidence < least


def nothing(calibration: Calibration) -> Signals:
    """What is known of nothing in, nothing out."""
    return Signals((), 1.0, bool(calibration.sentences), (), [])


def judge(run: Run, calibration: Calibration, written: Written, reading: Reading) -> Signals:
    if not written.source.strip():
        return nothing(calibration)
    costs = costs_of(written, reading)
    flags = flags_of(run, calibration, written, reading)
    confidence = calibration.confidence(score(costs))
    if GRAVE.intersection(flags):
        confidence = min(confidence, calibration.least)
    calibrated = bool(calibration.sentences)
    return Signals(tuple(costs.tolist()), confidence, calibrated, flags, links_in(reading))


def costs_of(written: Written, reading: Reading) -> np.ndarray:
    """The log-probability of each token chosen, and of EOS where it came to its end."""
    return reading.log_probabilities if written.finished else reading.log_probabilities[:-1]


def score(log_probabilities: np.ndarray) -> float:
    """The geometric mean of the tokens' probabilities."""
    return float(np.exp(log_probabilities.mean())) if len(log_probabilities) else 0.0


def flags_of(run: Run, calibration: Calibration, written: Written, reading: Reading) -> tuple[Flag, ...]:
    source, target = written.source, run.target_tokenizer.decode(written.ids)
    if not has_text(target):
        return ("empty",) if has_text(source) else ()
    length = stretch(reading.example)
    raised: dict[Flag, bool] = {
        "loop": loops(words_in(source), words_in(target)) or loops(*spelled(run, reading)),
        "overlong": not written.finished or length > calibration.longest,
        "copied": copied_share(source, target) > calibration.copied,
        "omission": bool(numbers_in(source) - numbers_in(target))
        or length < calibration.shortest
        or least_seen(run, reading) < calibration.unseen,
    }
    return tuple(flag for flag, is_raised in raised.items() if is_raised)


# ------------------------------------------------------------------------------------------------- what is looked for


def has_text(text: str) -> bool:
    return any(character.isalnum() for character in text)


def words_in(text: str) -> list[str]:
    """The words, as they are compared: in lower case, without the marks around them."""
    return re.findall(r"[^\W_]+(?:[-'’][^\W_]+)*", text.casefold())


def spelled(run: Run, reading: Reading) -> tuple[list[str], list[str]]:
    """The tokens of both sides; those without a letter, such as … and 000, each as one of a kind."""
    sides = (run.source_tokenizer, reading.example.source), (run.target_tokenizer, reading.example.target)
    pieces = [tokenizer.pieces(ids) for tokenizer, ids in sides]
    source, target = (
        [piece.strip("▁") if has_letter(piece) else f"{piece} {place}" for place, piece in enumerate(side)]
        for side in pieces
    )
    return source, target


def has_letter(text: str) -> bool:
    return any(character.isalpha() for character in text)


def loops(source: Sequence[str], target: Sequence[str]) -> bool:
    """Whether something is said again and again in the target, and less often in the source."""
    usual = max(repeats(source).values(), default=1)
    return any(times > usual and times >= (2 if size >= LONG else OFTEN) for size, times in repeats(target).items())


def repeats(words: Sequence[str]) -> dict[int, int]:
    """How often in a row each size of sequence comes, at most: {1: 3} for salad salad salad, {2: 2} for a b a b."""
    found: dict[int, int] = {}
    for size in range(1, len(words) // 2 + 1):
        longest = streak = 0
        for place in range(size, len(words)):
            streak = streak + 1 if words[place] == words[place - size] else 0
            longest = max(longest, streak)
        if longest >= size:
            found[size] = longest // size + 1
    return found


def stretch(example: Example) -> float:
    """Target length over source length, in tokens, both a little lengthened."""
    return (len(example.target) + SMALL) / (len(example.source) + SMALL)


def copied_share(source: str, target: str) -> float:
    """How many of the source's plain words, which begin with no capital and hold no digit, stand in the target too."""
    plain = {word for word in re.findall(r"[^\W\d_]{2,}", source) if not word[0].isupper()}
    return len(plain & set(words_in(target))) / len(plain) if len(plain) >= PLAIN else 0.0


def numbers_in(text: str) -> set[str]:
    """Numbers of two digits and more, whatever parts their thousands and decimals."""
    return {re.sub(r"\D", "", number) for number in NUMBER.findall(text)}


def least_seen(run: Run, reading: Reading) -> float:
    """The total weight on that long word of the source which is looked at least; ∞ where there is none."""
    looks = reading.looks[:, :-1].sum(0)
    words = run.source_tokenizer.decode(reading.example.source).split(" ")
    seen = [look for look, word in zip(looks, words, strict=False) if sum(map(str.isalpha, word)) >= LETTERS]
    return float(min(seen, default=np.inf))
