"""What may be asked of a translated document."""

from __future__ import annotations

import re
from dataclasses import dataclass

from regard.errors import ConfigError

LANGUAGE = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*")


@dataclass(frozen=True)
class Options:
    source: str | None = None  # language of the document; where it is not known, TMX's is as the file says
    target: str | None = None  # language to translate into, for the files that name it
    fuzzy: bool = False  # PO: fill the entries marked fuzzy anew, too
    reviewed: bool = False  # PO, XLIFF: do not mark what is filled as still to be looked at
    wrapped: bool = False  # plain text: sentences run on over the ends of lines

    def __post_init__(self):
        for name in (self.source, self.target):
            if name is not None and not LANGUAGE.fullmatch(name):
                raise ConfigError(f"{name!r} is no language's name: write it as in de, pt-BR or zh-Hans")
