"""Word alignments against links that the phrasebook's grammar proves.

    .venv/bin/python benchmarks/align.py runs/demo

Two phrases that differ in one English word and, at one place, in one French word prove that these two words are linked.
Prints the alignment error rate over the words so linked, for the raw way (each token's strongest weight of the last
layer's mean at the step that writes it, and two words linked if any of their tokens are) and for the heads that are
chosen from validation phrases without gold; and how well, over all heads and steps, the criterion of the choice ranks
them as their error does.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import torch

import regard
from regard.data.batch import Example
from regard.data.corpus import Links, Pair
from regard.data.direction import Directed
from regard.data.phrasebook import phrases
from regard.decoding.align import links_in
from regard.decoding.heads import choose, information, see
from regard.decoding.reading import Head, read
from regard.run import Run
from regard.tokens.words import words_of

PHRASES, TRIED, ALIKE = 60_000, 1500, 6


def proven(pairs: Sequence[Pair]) -> dict[int, set[tuple[int, int]]]:
    """Links by substitution, for each pair that has some."""
    alike: dict[tuple[int, str], list[int]] = defaultdict(list)
    for index, pair in enumerate(pairs):
        words = pair.source.split()
        for place in range(len(words)):
            alike[place, " ".join([*words[:place], "_", *words[place + 1 :]])].append(index)
    links: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for (place, _), group in alike.items():
        for one, other in combinations(group[:ALIKE], 2):
            targets = pairs[one].target.split(), pairs[other].target.split()
            if len(targets[0]) == len(targets[1]):
                differ = [at for at, (a, b) in enumerate(zip(*targets, strict=True)) if a != b]
                if len(differ) == 1:
                    links[one].add((place, differ[0]))
                    links[other].add((place, differ[0]))
    return links


def error_rate(found: Sequence[Links], gold: Sequence[set[tuple[int, int]]]) -> float:
    """AER of the links that touch a word whose link is proven."""
    both = proposed = wanted = 0
    for links, sure in zip(found, gold, strict=True):
        known = [{link[side] for link in sure} for side in (0, 1)]
        tried = {link for link in links if link[0] in known[0] or link[1] in known[1]}
        both, proposed, wanted = both + len(tried & sure), proposed + len(tried), wanted + len(sure)
    return 1 - 2 * both / (proposed + wanted)


@torch.inference_mode()
def raw(run: Run, examples: Sequence[Example]) -> list[Links]:
    """The last layer's mean, token by token."""
    heads = [Head(layer=run.translator.decoder_layers - 1, head=h, reads=False) for h in range(run.translator.heads)]
    found: list[Links] = []
    for example in examples:
        (seen,) = see(run, [example], heads)
        at = seen.weights.mean(0).argmax(1)
        source, target = words_of(run.source_tokenizer, example.source), words_of(run.target_tokenizer, example.target)
        found.append([(int(source[s]), int(t)) for s, t in zip(at, target, strict=False) if source[s] >= 0])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    run = replace(regard.load(parser.parse_args().run, on="cpu"), folder=None)
    written = [Pair(each.english, each.french) for each in phrases("train", PHRASES, seed=9)]
    links = proven(written)
    tried = [index for index in links if len(links[index]) >= 3][:TRIED]
    valid = [Pair(each.english, each.french) for each in phrases("valid", 1000, seed=3)]
    held_out = [way for en, fr in valid for way in (Directed(en, fr, "fr"), Directed(fr, en, "en"))]
    choice = choose(run, held_out)
    print("chosen:", *(f"layer {h.layer} head {h.head} where it {('writes', 'reads')[h.reads]};" for h in choice.heads))

    steps = product((False, True), range(run.translator.decoder_layers), range(run.translator.heads))
    every = [Head(layer=layer, head=head, reads=reads) for reads, layer, head in steps]
    for to in ("fr", "en"):
        pairs = [written[index] if to == "fr" else Pair(*written[index][::-1]) for index in tried]
        gold = [links[index] if to == "fr" else {(t, s) for s, t in links[index]} for index in tried]
        examples = [Example(run.encode_source(pair.source, to), run.encode_target(pair.target)) for pair in pairs]
        ours = error_rate([links_in(each) for each in read(run, examples, choice.heads)], gold)
        seen = list(see(run, examples[:500], every))
        told = [information(seen, [index], len(run.target_tokenizer)) for index in range(len(every))]
        errors = [error_rate([links_in(each) for each in read(run, examples, [head])], gold) for head in every]
        one, other = (np.argsort(np.argsort(values)) for values in (told, errors))
        print(
            f"to {to}: AER raw {error_rate(raw(run, examples), gold):.3f}, chosen {ours:.3f}, best single head by gold "
            f"{min(errors):.3f}; information against error, Spearman {np.corrcoef(one, other)[0, 1]:.2f}"
        )


if __name__ == "__main__":
    main()
