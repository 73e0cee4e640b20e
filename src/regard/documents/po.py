"""Gettext catalogues (.po): the entries that lack a translation are filled, and no other line of the file changes.

polib reads the file and says where each entry begins; what is written is the file's own lines but for the msgstr of
the entries that are filled, and their flag "fuzzy", which asks a person to look. Placeholders such as %s and {name} are
text of the sentence. A plural form is translated from msgid for the first and from msgid_plural for the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TextIO

from regard.documents.inline import segments
from regard.documents.options import Options
from regard.documents.parts import Kept, Part, whole
from regard.errors import DataError
from regard.extras import needed

if TYPE_CHECKING:
    from polib import POEntry

WRAPPED = 78  # columns, as polib and gettext have it; a file with a longer line is not wrapped at all
NPLURALS = re.compile(r"nplurals\s*=\s*(\d+)")
MSGSTR = re.compile(r"\s*msgstr(?:\[(\d+)\]|\s)")
MESSAGE = re.compile(r"\s*(?:#\||msgctxt|msgid)")


def parts(stream: TextIO, options: Options) -> Iterator[Part]:
    polib = needed("polib", "files")
    lines = list(stream)
    try:
        catalogue = polib.pofile(stream.name, encoding=stream.encoding)
    except OSError as error:
        place = re.search(r"line (\d+)", str(error))
        raise DataError(f"{stream.name}{f', line {place[1]}' if place else ''}: this is no PO file's syntax") from None
    plural = NPLURALS.search(catalogue.metadata.get("Plural-Forms", ""))
    wrapped = all(len(line.strip()) <= WRAPPED + 2 for line in lines if '"' in line)
    form = Form(int(plural[1]) if plural else None, WRAPPED if wrapped else 0)
    begins = [*(max(0, entry.linenum - 1) for entry in catalogue), len(lines)]
    yield "".join(lines[: begins[0]])
    for entry, (start, end) in zip(catalogue, pairwise(begins), strict=True):
        yield from filled(entry, lines[start:end], form, options)


class Form(NamedTuple):
    """How the file writes its translations."""

    plurals: int | None
    width: int

    def sources(self, entry: POEntry) -> dict[int | None, str]:
        """What each msgstr is to be translated from."""
        if not entry.msgid_plural:
            return {None: entry.msgid}
        plurals = self.plurals or max(2, len(entry.msgstr_plural))
        return {number: entry.msgid_plural if number or plurals == 1 else entry.msgid for number in range(plurals)}

    def written(self, text: str, number: int | None, indent: str, newline: str) -> str:
        """The lines of a msgstr."""
        made = {"msgstr": text} if number is None else {"msgstr_plural": {number: text}}
        lines = needed("polib", "files").POEntry(msgid="", **made).__unicode__(wrapwidth=self.width)
        return "".join(f"{indent}{line}{newline}" for line in lines.removeprefix('msgid ""\n').split("\n")[:-1])


def filled(entry: POEntry, lines: Sequence[str], form: Form, options: Options) -> Iterator[Part]:
    """The lines of an entry, with a msgstr where it had none."""
    head, written, tail = taken_apart(lines)
    had: dict[int | None, str] = {None: entry.msgstr, **entry.msgstr_plural}
    anew = entry.fuzzy and options.fuzzy
    sources = form.sources(entry)
    wanted = {number for number in sources if anew or not had.get(number)}
    if entry.obsolete or not wanted:
        yield "".join(lines) if entry.obsolete else Kept("".join(lines))
        return
    newline = "\r\n" if lines[0].endswith("\r\n") else "\n"
    indent = indentation(next(iter(written.values()), ""))
    yield flagged(head, not options.reviewed, newline)
    for number in sources:
        if number in wanted:
            finish = partial(form.written, number=number, indent=indent, newline=newline)
            yield whole(segments([sources[number]]), finish)
        else:
            yield written[number]
    yield tail


def taken_apart(lines: Sequence[str]) -> tuple[list[str], dict[int | None, str], str]:
    """The lines of an entry before its first msgstr, those of each msgstr, and those after."""
    head: list[str] = []
    written: dict[int | None, str] = {}
    tail, number = "", None
    for line in lines:
        if not tail and (found := MSGSTR.match(line)):
            number = int(found[1]) if found[1] else None
            written[number] = line
        elif not written:
            head.append(line)
        elif not tail and line.lstrip().startswith('"'):
            written[number] += line
        else:
            tail += line
    return head, written, tail


def flagged(head: Sequence[str], fuzzy: bool, newline: str) -> str:
    """The lines before the msgstr, with or without the flag "fuzzy"."""
    lines = list(head)
    for index, line in enumerate(lines):
        if not line.lstrip().startswith("#,"):
            continue
        flags = [flag.strip() for flag in line.lstrip()[2:].split(",")]
        if ("fuzzy" in flags) != fuzzy:
            flags = ["fuzzy", *flags] if fuzzy else [flag for flag in flags if flag != "fuzzy"]
            lines[index] = f"{indentation(line)}#, {', '.join(flags)}{newline}" if flags else ""
        return "".join(lines)
    place = next(index for index, line in enumerate(lines) if MESSAGE.match(line))
    flag = [f"{indentation(lines[place])}#, fuzzy{newline}"] if fuzzy else []
    return "".join([*lines[:place], *flag, *lines[place:]])


def indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
