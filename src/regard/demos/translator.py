"""The verb demo: the whole tour on the embedded phrasebook. Train, score, translate, and see what *it* looks at."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure

from regard.data import phrasebook
from regard.data.corpus import Pair
from regard.data.phrasebook import MinimalPair, Phrase
from regard.decoding.translate import translate
from regard.demos.tour import keep, seeded, teller
from regard.insight.binding import Head, flips, leads, where
from regard.insight.change import switched_off
from regard.insight.explain import explain
from regard.insight.figures import compare, figure, save_figure, terminal
from regard.insight.trace import Trace
from regard.insight.words import words
from regard.model import build
from regard.run import Run
from regard.training.score import Score, score
from regard.training.train import train_pairs_into

ENGLISH, FRENCH = "en", "fr"
TRAIN, VALID, TEST = 100_000, 200, 1000  # phrases of each part
CONTRASTS = 200  # minimal pairs of the validation and of the test part

SETTINGS: dict[str, dict[str, Any]] = {
    "data": {"source": "the embedded phrasebook", "languages": (ENGLISH, FRENCH), "both_ways": True},
    "tokenizer": {"kind": "bpe", "size": 1600, "learn_from": 40_000},
    "model": {"width": 128, "hidden": 256, "heads": 8, "layers": 2, "dropout": 0.1},
    "train": {
        "steps": 2400,
        "batch_tokens": 1024,
        "start": "neighbours",
        "optimizer": "muon",
        "schedule": "cosine",
        "warmup": 90,
        "learning_rate": 4e-3,
        "label_smoothing": 0.05,
        "validate_every": 600,
    },
}

LECTURE = (  # what the lectures show, and what comes out of it
    ("I am a student.", FRENCH),
    ("Je suis étudiant.", ENGLISH),
    ("The animal didn't cross the street because it was too tired.", FRENCH),
    ("The animal didn't cross the street because it was too wide.", FRENCH),
    ("L'animal n'a pas traversé la rue parce qu'il était trop fatigué.", ENGLISH),
    ("L'animal n'a pas traversé la rue parce qu'elle était trop large.", ENGLISH),
)


@dataclass(frozen=True)
class Binding:
    """What the head that binds *it* to its noun does; shares of held-out minimal pairs."""

    attention: str
    head: int
    place: str  # where in the clause "it was too tired" the head looks from
    flips: float  # its strongest noun is the right one in both sentences of a pair
    flips_untrained: float  # the same, by the best head of the same network before training
    pronouns: float  # French sentences with the right il or elle
    pronouns_without: float  # the same with this head switched off


@dataclass(frozen=True)
class Findings:
    """What the demo measured; `demo.json` of its run."""

    seed: int
    seconds: float  # of training, and the corpus before it
    to_french: Score
    to_english: Score
    binding: Binding
    lecture: tuple[tuple[str, str], ...]


def demo(out: str | Path = "runs/demo", *, seed: int = 1, on: str = "auto") -> Findings:
    """Train the embedded default for a fixed number of steps, and show what came of it."""
    folder, console = Path(out), teller()
    console.rule("1  A Transformer learns English ↔ French from a small grammar", align="left")
    console.print(f"{TRAIN:,} sentence pairs of our own; what is tested later is put together as none of them is.")
    began = time.perf_counter()
    run = train_demo(folder, seed, on)
    seconds = time.perf_counter() - began

    console.rule("2  Its score on sentences it has never seen", align="left")
    test = phrasebook.phrases("test", TEST)
    to_french = score_phrases(run, test, FRENCH)
    to_english = score_phrases(run, test, ENGLISH)
    for name, each in (("English → French", to_french), ("French → English", to_english)):
        console.print(f"{name}   exact {each.exact:.1f} %   BLEU {each.bleu:.1f}   chrF {each.chrf:.1f}")
    console.print(f"BLEU {to_french.signatures['bleu']}\nchrF {to_french.signatures['chrf']}")

    console.rule("3  The sentences of the lectures", align="left")
    lecture = tuple((text, next(translate(run, [text], to)).text) for text, to in LECTURE)
    for text, translation in lecture:
        console.print(f"{text}\n  → {translation}")

    console.rule("4  What *it* looks at", align="left")
    binding = find_binding(run, seed)
    head = Head(binding.attention, binding.head, binding.place)
    console.print(
        f"In {CONTRASTS} held-out pairs of sentences like the two above, il/elle is right in {binding.pronouns:.1%}.\n"
        f"The head that binds it to its noun, chosen on other pairs: {head}.\n"
        f"Its strongest noun is the right one in both sentences of {binding.flips:.1%} of the pairs "
        f"(untrained network, its best head: {binding.flips_untrained:.1%}).\n"
        f"With this one head switched off, il/elle is right in {binding.pronouns_without:.1%}."
    )
    findings = Findings(seed, seconds, to_french, to_english, binding, lecture)
    keep(findings, folder)
    tired, wide = (explain(run, text, FRENCH) for text, _ in LECTURE[2:4])
    console.print(terminal(tired), markup=False)
    save_figure(figure(tired), folder / "attention.png")
    save_figure(draw_binding([tired, wide], head), folder / "it.png")

    console.rule("5  Yours now", align="left")
    console.print(
        f"{folder} is a run: a folder with the model, its tokenizer, its settings and its card.\n"
        f"  {folder / 'it.png'}          what “it” looks at in the two sentences\n"
        f"  {folder / 'attention.png'}   every head of every layer\n"
        "Try next:\n"
        f"  echo 'The cat is hungry.' | regard translate {folder} --to fr --n-best 3 --scores\n"
        f"  regard explain {folder} --to en 'La souris est petite.' --out mouse.png\n"
        "  regard train --source yours.en --target yours.de --out runs/yours",
        markup=False,
    )
    return findings


def draw_binding(traces: Sequence[Trace], head: Head) -> Figure:
    """What the head looks at in each sentence, from the same place."""
    title = {
        "it": "",
        "property": "Who is too tired? What is too wide?",
        "pronoun": "What “it” looks at as il or elle is written",
    }
    if head.place == "pronoun" and not all(phrasebook.pronoun(trace.translation) for trace in traces):
        return compare(traces, "it")  # so little was learned that no pronoun is written
    index = where(head.place, words(traces[0].axes(head.kind)[0]))
    return compare(traces, index, layer=head.layer, head=head.head, kind=head.kind, title=title[head.place])


def train_demo(folder: Path, seed: int, on: str) -> Run:
    settings = seeded(SETTINGS, seed)
    train, valid = phrasebook.phrases("train", TRAIN, seed), phrasebook.phrases("valid", VALID)
    return train_pairs_into(folder, settings, as_pairs(train), as_pairs(valid), on=on, overwrite=True)


def as_pairs(phrases: Sequence[Phrase]) -> list[Pair]:
    return [Pair(phrase.english, phrase.french) for phrase in phrases]


def score_phrases(run: Run, phrases: Sequence[Phrase], to: str) -> Score:
    """Scores of a held-out part; where the grammar licenses several translations, each of them counts as right."""
    sources = [phrase.english if to == FRENCH else phrase.french for phrase in phrases]
    references = [phrase.french if to == FRENCH else phrase.english for phrase in phrases]
    outputs = [each.text for each in translate(run, sources, to)]
    licensed = [
        output if output in phrasebook.translations(source, to) else reference
        for source, output, reference in zip(sources, outputs, references, strict=True)
    ]
    return score(outputs, licensed)


def find_binding(run: Run, seed: int) -> Binding:
    """The head that looks most at the right noun, and least at the other, on validation pairs, judged on test pairs."""
    valid, test = (phrasebook.minimal_pairs(part, CONTRASTS) for part in ("valid", "test"))
    torch.manual_seed(seed)
    untrained = Run(run.settings, build(run.settings.model).to(run.device), run.tokenizers)
    chosen, chosen_untrained = (strongest(each, valid) for each in (run, untrained))
    with switched_off(run.model, chosen.attention, chosen.head):
        without = pronouns_right(run, test)
    return Binding(
        *chosen,
        flips=flips(leads(run, test)[chosen]),
        flips_untrained=flips(leads(untrained, test)[chosen_untrained]),
        pronouns=pronouns_right(run, test),
        pronouns_without=without,
    )


def strongest(run: Run, pairs: Sequence[MinimalPair]) -> Head:
    found = leads(run, pairs)
    return max(found, key=lambda head: found[head].mean())


def pronouns_right(run: Run, pairs: Sequence[MinimalPair]) -> float:
    """The share of sentences, two a pair, whose French has the right il or elle."""
    sentences = [phrase.english for pair in pairs for phrase in (pair.subject, pair.object)]
    wanted = [pronoun for pair in pairs for pronoun in pair.pronouns]
    outputs = translate(run, sentences, FRENCH, beam=1)
    right = [phrasebook.pronoun(output.text) == pronoun for output, pronoun in zip(outputs, wanted, strict=True)]
    return sum(right) / len(right)
