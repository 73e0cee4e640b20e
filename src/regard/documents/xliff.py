"""XLIFF 1.2 and 2.x (OASIS 2008, 2014): a <target> for each <source> that has none, or an empty one.

What is filled says that it should be looked at: in 1.2 <target state="needs-review-translation">, in 2.x
<segment state="translated">, which is the state before "reviewed". Units with translate="no" are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

from regard.documents.elements import (
    Element,
    blank_before,
    children,
    content,
    entries,
    raw,
    same_language,
    with_attribute,
)
from regard.documents.markup import Token, xml_tokens
from regard.documents.options import Options
from regard.documents.parts import Kept, Part
from regard.errors import DataError

LANGUAGE = {"file": "target-language", "xliff": "trgLang"}  # where 1.2 and 2.x say it


def parts(stream: TextIO, options: Options) -> Iterator[Part]:
    version, translated = "", [True]
    for entry in entries(xml_tokens(stream), ["trans-unit", "segment"]):
        tag = entry[0]
        if tag.kind == "start":
            translated.append(tag.attributes.get("translate", "yes" if translated[-1] else "no") != "no")
            version = tag.attributes.get("version") or version if tag.name == "xliff" else version
        if len(entry) > 1:
            yield from filled(entry, options) if translated.pop() else [raw(entry)]
        elif tag.kind == "start" and tag.name == ("file" if version.startswith("1.") else "xliff"):
            yield with_language(tag, stream.name, options.target)
        else:
            yield tag.raw
        if tag.kind == "end":
            translated.pop()
    if not version:
        raise DataError(f"{stream.name} is not XLIFF: there is no <xliff> with a version")


def with_language(tag: Token, path: str, target: str | None) -> str:
    name = LANGUAGE[tag.name]
    declared = tag.attributes.get(name)
    if declared and target and not same_language(declared, target):
        raise DataError(f"{path} is to be translated into {declared}, not into {target}: give a file for {target}")
    if declared:
        return tag.raw
    if target is None:
        raise DataError(f"{path} does not say the language of its translations: say which one to translate into")
    return with_attribute(tag.raw, name, target)


def filled(unit: list[Token], options: Options) -> Iterator[Part]:
    """A <trans-unit> of 1.2 or a <segment> of 2.x with its <target>."""
    found = {child.tag.name: child for child in children(unit)}
    source, target = found.get("seg-source") or found.get("source"), found.get("target")
    if source is None or source.empty or (target and not target.empty):
        yield Kept(raw(unit))
        return
    opening = unit[0].raw
    if unit[0].name == "segment":
        opening = with_attribute(opening, "state", "reviewed" if options.reviewed else "translated")
    place = target.start if target else source.end + 1
    yield opening + raw(unit[1:place])
    yield from [] if target else [blank_before(unit, found["source"].start)]
    yield target_tag(unit[0].name, found["source"], target, options)
    yield from content(source.content)
    yield f"</{name_like(found['source'], 'target')}>"
    yield raw(unit[target.end + 1 if target else place :])


def target_tag(unit: str, source: Element, target: Element | None, options: Options) -> str:
    tag = re.sub(r"\s*/?>\Z", ">", target.tag.raw) if target else f"<{name_like(source, 'target')}>"
    if unit == "segment":
        return tag
    if options.reviewed:
        return with_attribute(tag, "state", "translated")
    return with_attribute(with_attribute(tag, "state", "needs-review-translation"), "state-qualifier", "mt-suggestion")


def name_like(source: Element, name: str) -> str:
    """A name with the prefix that the file gives to its namespace."""
    prefix = re.match(r"<([^\s/>]+:)?", source.tag.raw)
    return f"{prefix[1] or '' if prefix else ''}{name}"
