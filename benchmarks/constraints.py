"""What constraints cost and whether they are met, on Multi30k, English to German.

    .venv/bin/python benchmarks/constraints.py runs/m30k ../shared/data/multi30k/test_2016_flickr.{en,de}.gz

Demands are put into the test set: a noun becomes a placeholder (in the reference too), a word gets tags, a sentence an
address behind it. Then a glossary asks for other German words than the references have, which are changed accordingly.
Each line tells how many demands are met, as counted here and not by regard, BLEU and chrF (placeholders, addresses and
tags taken out), and processor seconds.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import sacrebleu

import regard
from regard.data.corpus import Pair, read_pairs
from regard.decoding.constraints.keep import Keeper
from regard.decoding.constraints.terms import Glossary
from regard.run import Run

NOUNS = {  # English, German as the references have it, German as the glossary wants it
    "man": ("Mann", "Kerl"),
    "woman": ("Frau", "Dame"),
    "dog": ("Hund", "Köter"),
    "boy": ("Junge", "Bub"),
    "girl": ("Mädchen", "Mädel"),
    "street": ("Straße", "Chaussee"),
    "water": ("Wasser", "Nass"),
    "ball": ("Ball", "Pille"),
    "bench": ("Bank", "Sitzbank"),
    "child": ("Kind", "Balg"),
    "beach": ("Strand", "Ufersaum"),
    "bicycle": ("Fahrrad", "Drahtesel"),
    "horse": ("Pferd", "Gaul"),
    "building": ("Gebäude", "Bauwerk"),
    "shirt": ("Hemd", "Leibchen"),
    "snow": ("Schnee", "Neuschnee"),
    "table": ("Tisch", "Tafel"),
    "car": ("Auto", "Kraftwagen"),
    "guitar": ("Gitarre", "Klampfe"),
    "house": ("Haus", "Gemäuer"),
    "hat": ("Hut", "Deckel"),
}
NAME, ADDRESS = "{name}", "https://example.com/a?b=1"

Translate = Callable[[Sequence[str]], list[str]]
Met = Callable[[str, str], tuple[int, int]]  # of a source and its translation: demands met, and demands


def count(word: str, text: str) -> int:
    return len(re.findall(rf"\b{word}\b", text, re.IGNORECASE))


def swap(text: str, word: str, other: str) -> str:
    return re.sub(rf"\b{word}\b", other, text)


def with_placeholder(pair: Pair) -> Pair | None:
    """The rarest of the nouns that stand once on both sides, replaced."""
    for noun, (german, _) in reversed(NOUNS.items()):
        if count(noun, pair.source) == count(german, pair.target) == 1 and noun in pair.source:
            return Pair(swap(pair.source, noun, NAME), swap(pair.target, german, NAME))
    return None


def agrees(pair: Pair) -> bool:
    """Has the reference just those of the nouns that the source has, and has it any?"""
    nouns = [(count(noun, pair.source), count(german, pair.target)) for noun, (german, _) in NOUNS.items()]
    return any(english for english, _ in nouns) and all(english == german for english, german in nouns if english)


def with_terms(pair: Pair) -> Pair:
    """The reference as the glossary would have it."""
    target = pair.target
    for noun, (german, wanted) in NOUNS.items():
        if count(noun, pair.source):
            target = swap(target, german, wanted)
    return Pair(pair.source, target)


def with_tags(text: str) -> str:
    """A word of the middle in tags."""
    words = text.split()
    words[len(words) // 2] = f"<b>{words[len(words) // 2]}</b>"
    return " ".join(words)


def cleaned(text: str, *demanded: str) -> str:
    for each in demanded:
        text = text.replace(each, "")
    return " ".join(text.split())


def terms_met(source: str, text: str) -> tuple[int, int]:
    pairs = [(count(noun, source), count(wanted, text)) for noun, (_, wanted) in NOUNS.items()]
    return sum(map(min, pairs)), sum(demanded for demanded, _ in pairs)


def report(name: str, translate: Translate, pairs: Sequence[Pair], *demanded: str, met: Met | None = None) -> None:
    began = time.process_time()
    texts = translate([pair.source for pair in pairs])
    seconds = time.process_time() - began
    once = met or (lambda _, text: (sum(text.count(each) == 1 for each in demanded), len(demanded)))
    reached, wanted = map(sum, zip(*(once(p.source, t) for p, t in zip(pairs, texts, strict=True)), strict=True))
    outputs = [cleaned(text, *demanded) for text in texts]
    references = [[cleaned(pair.target, *demanded) for pair in pairs]]
    bleu, chrf = sacrebleu.corpus_bleu(outputs, references), sacrebleu.corpus_chrf(outputs, references)
    print(
        f"{name:34} {reached:5}/{wanted}  BLEU {bleu.score:5.2f}  chrF {chrf.score:5.2f}  {seconds:6.1f} s", flush=True
    )


def kept(run: Run, glossary: Glossary | None = None) -> Translate:
    keeper = Keeper(run, glossary)

    def translate(texts: Sequence[str]) -> list[str]:
        best = [each[0] for each in keeper.translate([(text, None) for text in texts], run.settings.decode)]
        unmet = sum(bool(each.unmet) for each in best)
        print(f"{unmet} of {len(texts)} sentences say that a demand is not met")
        return [each.text for each in best]

    return translate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--skip", type=int, default=0, help="sentences at the start to leave out")
    arguments = parser.parse_args()
    run = regard.load(arguments.run, on="cpu")
    pairs = read_pairs(arguments.source, arguments.target)[arguments.skip :]

    def plain(texts: Sequence[str]) -> list[str]:
        return [each.text for each in regard.translate(run, texts, engine="torch")]

    def without(*demanded: str) -> Translate:
        return lambda texts: plain([cleaned(text, *demanded) for text in texts])

    named = [pair for pair in map(with_placeholder, pairs) if pair]
    report(f"{len(named)} placeholders: left in", plain, named, NAME)
    report("taken out", without(NAME), named, NAME)
    report("kept", kept(run), named, NAME)

    addressed = [Pair(f"{pair.source} {ADDRESS}", f"{pair.target} {ADDRESS}") for pair in pairs[:200]]
    report(f"{len(addressed)} addresses: left in", plain, addressed, ADDRESS)
    report("taken out", without(ADDRESS), addressed, ADDRESS)
    report("kept", kept(run), addressed, ADDRESS)

    tagged = [Pair(with_tags(pair.source), pair.target) for pair in pairs[:200]]
    report(f"{len(tagged)} pairs of tags: left in", plain, tagged, "<b>", "</b>")
    report("taken out", without("<b>", "</b>"), tagged, "<b>", "</b>")
    report("kept", kept(run), tagged, "<b>", "</b>")

    glossary = Glossary({noun: (wanted,) for noun, (_, wanted) in NOUNS.items()})
    for part, some in {"agreeing": [pair for pair in pairs if agrees(pair)], "all": pairs}.items():
        changed = [with_terms(pair) for pair in some]
        report(f"terms, {len(some)} {part}: plain", plain, some, met=terms_met)
        report("plain, references changed", plain, changed, met=terms_met)
        report("glossary, references changed", kept(run, glossary), changed, met=terms_met)


if __name__ == "__main__":
    main()
