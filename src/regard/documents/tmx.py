"""Translation memories (.tmx): a <tuv> in the target language for each <tu> that lacks one; nothing else is touched.

The format is TMX 1.4b (LISA 2005). What is translated is the <seg> in the source language; a <tu> without one is left
as it is. Where that language is not known, it is the <seg> in the one that the <tu> or the <header> names, or else the
first there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from regard.documents.elements import blank_before, children, content, entries, raw, same_language
from regard.documents.markup import Token, xml_tokens
from regard.documents.options import Options
from regard.documents.parts import Foreign, Kept, Part
from regard.errors import DataError


def parts(stream: TextIO, options: Options) -> Iterator[Part]:
    if options.target is None:
        raise DataError(f"{stream.name} names the language of each text: say which one to translate into")
    srclang = None
    for entry in entries(xml_tokens(stream), ["tu"]):
        first = entry[0]
        if len(entry) > 1:
            yield from filled(entry, options.source, first.attributes.get("srclang") or srclang, options.target)
            continue
        if first.name == "header" and first.kind == "start":
            srclang = first.attributes.get("srclang")
        yield first.raw


def filled(unit: list[Token], source: str | None, srclang: str | None, target: str) -> Iterator[Part]:
    variants = [variant for variant in children(unit) if variant.tag.name == "tuv"]
    if not variants or any(same_language(language(variant.tag), target) for variant in variants):
        yield Kept(raw(unit))
        return
    named = [variant for variant in variants if same_language(language(variant.tag), source or srclang)]
    if source and not named:
        yield Foreign(raw(unit))
        return
    model = named[0] if named else variants[0]  # srclang="*all*" names none
    inside = unit[model.start : model.end + 1]
    segment = next((child for child in children(inside) if child.tag.name == "seg"), None)
    end = variants[-1].end + 1
    yield raw(unit[:end])
    if segment:
        yield f'{blank_before(unit, model.start)}<tuv xml:lang="{target}" creationtool="regard">'
        yield f"{blank_before(inside, segment.start)}<seg>"
        yield from content(segment.content)
        yield f"</seg>{blank_before(inside, len(inside) - 1)}</tuv>"
    yield raw(unit[end:])


def language(tag: Token) -> str | None:
    return tag.attributes.get("lang")  # xml:lang, or lang of TMX 1.1
