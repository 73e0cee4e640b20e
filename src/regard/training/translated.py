"""More pairs out of the same ones: a corpus translated by runs, among them some that have learned from it.

    source   target     ──▶     source                         a run's translation of it
                                a run's translation of target  target

Several ways to say the same teach a network more than one of them does     Nguyen et al. 2020, "Data Diversification"
and what a network writes is more regular than what people write, which a small one learns more easily  Kim & Rush 2016
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.config import DataConfig
from regard.console import counted, say
from regard.data.corpus import Pair, blank
from regard.decoding.translate import translate
from regard.errors import ConfigError
from regard.languages import goes
from regard.run import load


def with_translations(pairs: Sequence[Pair], data: DataConfig) -> list[Pair]:
    """The pairs, and behind them those that each run of data.translated_by makes of them, as far as they are new."""
    known = dict.fromkeys(pairs)
    for folder in data.translated_by:
        made = [pair for pair in translated(pairs, folder, data.languages) if pair not in known]
        full = [pair for pair in made if not (blank(pair.source) or blank(pair.target))]
        known |= dict.fromkeys(full)
        say(f"{folder}: {len(full):,} pairs more, to learn from beside the {len(pairs):,}")
    return [*pairs, *list(known)[len(dict.fromkeys(pairs)) :]]


def translated(pairs: Sequence[Pair], folder: str, languages: Sequence[str]) -> list[Pair]:
    """A run's translations of the sources beside these, and of the targets, if it knows the way back."""
    run = load(folder)
    asks = run.settings.data.asks_language
    forth = (languages[0], languages[1]) if languages else (None, None)
    ways = [way for way in dict.fromkeys([forth, forth[::-1]]) if goes(run.settings.data, *way)]
    if not ways:
        asked = f"{forth[0]} → {forth[1]}" if languages else "of languages without names: give --languages"
        raise ConfigError(f"data.translated_by={folder} translates neither way of this corpus, which is {asked}")
    made = list[Pair]()
    for way in ways:
        lines = [pair.source if way == forth else pair.target for pair in pairs]
        reader = run.reading(way[0] if run.settings.data.tags == "both" else None)
        found = counted(translate(reader, lines, way[1] if asks else None), "sentences translated")
        texts = [each.text for each in found]
        made += [
            Pair(pair.source, text) if way == forth else Pair(text, pair.target)
            for pair, text in zip(pairs, texts, strict=True)
        ]
    return made
