"""Which languages a run translates between, and what its network is told of them.

    data.languages   both_ways or tags    before the source   before the translation
    en,de                                                                             one way, or no names at all
    en,fr            both_ways            >>fr<<                                      what to write
    fra,deu,…        tags=target          >>fra<<                                     the same: Marian, many languages
    en,fr,…          tags=both            __en__              __fr__                  each before its own: M2M100

What leads a translation is given to the search and not chosen by it: it costs nothing, counts as a token of the length,
and is no part of the text. This is the rule of Hugging Face's `generate(forced_bos_token_id=…)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from regard.config import DataConfig
from regard.errors import RunError

NAMED = 8  # languages that a sentence names; the others it counts


class Source(list[int]):
    """The ids that an encoder reads, and what leads their translation: the tag that a decoder is given to start."""

    def __init__(self, ids: Iterable[int], lead: Iterable[int] = ()):
        super().__init__(ids)
        self.lead = tuple(lead)


def lead_of(source: Sequence[int]) -> tuple[int, ...]:
    """What leads the translation of a source; of plain ids, nothing."""
    return source.lead if isinstance(source, Source) else ()


def before_source(data: DataConfig, source: str | None, to: str | None) -> list[str]:
    """The languages whose tags stand before a source, or a RunError that says what is to be told, or cannot be."""
    check_target(data, to)
    if data.tags == "both":
        check_source(data, source)
        return [source] if source else []
    return [to] if data.asks_language and to else []


def before_target(data: DataConfig, to: str | None) -> list[str]:
    """The languages whose tags stand before a translation."""
    return [to] if data.tags == "both" and to else []


def check_source(data: DataConfig, source: str | None) -> None:
    if data.tags != "both":
        if source is not None:
            raise RunError(f"from {source} is not asked for: this run takes its text as it comes; leave out --from")
    elif source is None:
        raise RunError(f"this run reads {listed(data.languages)}: say which, as in --from {data.languages[0]}")
    elif source not in data.languages:
        raise RunError(f"from {source} is not possible: this run reads {known(data.languages, source)}")


def check_target(data: DataConfig, to: str | None) -> None:
    if not data.asks_language:
        if to is not None and to not in data.languages[1:]:
            only = (
                f"into {data.languages[1]} only"
                if data.languages
                else "one way, and does not know its languages' names"
            )
            raise RunError(f"to {to} is not possible: this run translates {only}")
    elif to is None:
        raise RunError(f"this run translates into {listed(data.languages)}: say which, as in --to {data.languages[1]}")
    elif to not in data.languages:
        raise RunError(f"to {to} is not possible: this run translates into {known(data.languages, to)}")


def goes(data: DataConfig, source: str | None, to: str | None) -> bool:
    """Whether a run translates from one language into another; None is one whose name is not known."""
    if source is None or to is None or not data.languages:
        return not data.asks_language
    if data.tags != "none" or data.both_ways:
        return {source, to} <= {*data.languages}
    return (source, to) == data.languages


def way(data: DataConfig, source: str | None, to: str | None) -> tuple[str | None, str | None]:
    """The languages that a translation goes from and to, as far as their names are known."""
    if data.tags != "none" or not data.languages:
        return source, to
    first, second = data.languages
    return (second, first) if to == first else (first, second)


def listed(languages: Sequence[str]) -> str:
    """Names in a sentence: all of a few; of many the first, and how many more there are."""
    if len(languages) > NAMED:
        return f"{', '.join(languages[:NAMED])} and {len(languages) - NAMED} more, all named in its config.json"
    return f"{', '.join(languages[:-1])} and {languages[-1]}"


def known(languages: Sequence[str], meant: str) -> str:
    """The names, and the one that may have been meant."""
    close = get_close_matches(meant, languages, n=1)
    return listed(languages) + (f"; did you mean {close[0]}?" if close else "")
