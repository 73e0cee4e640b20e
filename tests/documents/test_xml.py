"""Translation memories and XLIFF: what is missing is filled in, and every other byte stays."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.documents import markup
from regard.errors import DataError
from translators import loud

MEMORY = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-US" datatype='x'/>
<body>
  <tu tuid="1">
    <note>n &amp; m</note>
    <tuv xml:lang="fr"><seg>Bonjour</seg></tuv>
    <tuv xml:lang="EN-us">
      <seg>Hi <bpt i="1">&lt;b></bpt>big<ept i="1">&lt;/b></ept> w&#246;rld &amp; <ph>%s</ph>. <![CDATA[Two <3.]]></seg>
    </tuv>
  </tu>
  <tu><tuv xml:lang="en"><seg>Done</seg></tuv><tuv xml:lang="de-AT"><seg>Fertig</seg></tuv></tu>
  <tu><tuv lang="es"><seg>Otro</seg></tuv></tu>
  <tu><note>Empty</note></tu><tu><tuv xml:lang="en"/></tu>
</body></tmx>
<!-- end -->
"""
ADDED = """
    <tuv xml:lang="de" creationtool="regard">
      <seg>HI <bpt i="1">&lt;b></bpt>BIG<ept i="1">&lt;/b></ept> WÖRLD &amp; <ph>%s</ph>. TWO &lt;3.</seg>
    </tuv>"""

XLIFF_1 = """\
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="a" source-language="en" datatype="plaintext"><body>
<trans-unit id="1"><source>Click <g id="1">here</g> <x id="2"/> now. <!-- c -->Go!</source></trans-unit>
<trans-unit id="2">
  <source>Two</source>
  <target state="new"/>
  <alt-trans><source>Tw</source><target>Zw</target></alt-trans>
</trans-unit>
<group translate="no"><trans-unit id="3"><source>Keep</source></trans-unit>
<trans-unit id="4" translate="yes"><source>But not <mrk mtype="protected">this</mrk></source></trans-unit></group>
<trans-unit id="5"><source>Has</source><target>Hat</target></trans-unit>
<trans-unit id="6"><source>One. Two</source>
<seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two</mrk></seg-source></trans-unit>
<trans-unit id="7"><source> </source></trans-unit>
<trans-unit id="8"><source><bx id="1"/>Bold<ex id="1"/> and <it id="3" pos="open">[</it>so</source></trans-unit>
</body></file></xliff>"""

XLIFF_2 = """\
<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:2.0" version="2.1" srcLang="en">
 <x:file id="f"><x:unit id="u">
  <x:segment id="1">
   <x:source>A <x:pc id="1">b</x:pc> <x:ph id="2"/> <x:sc id="3"/>c<x:ec startRef="3"/>.</x:source>
  </x:segment>
  <x:ignorable><x:source> </x:source></x:ignorable>
  <x:segment state="initial"><x:source>D</x:source><x:target></x:target></x:segment></x:unit>
 <x:unit id="v" translate="no"><x:segment><x:source>No</x:source></x:segment></x:unit></x:file></x:xliff>
"""


def test_a_memory_gets_what_it_lacks(through):
    result = through("a.tmx", MEMORY, loud, target="de")
    assert result.seen == ["Hi <b1>big</b1> wörld & {x2}.", "Two <3.", "Otro"]
    assert result.report.kept == 2
    otro = '<tuv xml:lang="de" creationtool="regard"><seg>OTRO</seg></tuv>'
    assert result.text == MEMORY.replace("</seg>\n    </tuv>", f"</seg>\n    </tuv>{ADDED}").replace(
        "Otro</seg></tuv>", f"Otro</seg></tuv>{otro}"
    )


def test_the_source_language_can_be_asked_for(through):
    result = through("a.tmx", MEMORY, target="de", source="fr")
    assert result.seen == ["Bonjour"]
    assert (result.report.kept, result.report.foreign) == (2, 2)
    assert str(result.report).endswith("2 left as they were, having no text in the source language")


def test_what_is_in_other_languages_alone_is_left_as_it_is(through):
    variants = "".join(
        f'<tuv xml:lang="{name}"><seg>{text}</seg></tuv>' for name, text in [("ja", "犬"), ("fr", "Oui")]
    )
    memory = f'<tmx><body><tu srclang="fr">{variants}</tu></body></tmx>'
    result = through("o.tmx", memory, loud, target="de", source="en")
    assert (result.text, result.report.foreign) == (memory, 1)
    assert through("o.tmx", memory, target="de").seen == ["Oui"]
    assert through("o.tmx", memory.replace("fr", "*all*", 1), target="de").seen == ["犬"]


def test_a_memory_needs_a_language(through):
    with pytest.raises(DataError, match=r"names the language of each text: say which one to translate into$"):
        through("a.tmx", MEMORY)


def test_xliff_1_is_filled(through):
    result = through("a.xlf", XLIFF_1, loud, target="de")
    assert result.seen == [
        "Click <b1>here</b1> {x2} now.",
        "Go!",
        "Two",
        "But not {x1}",
        "One.",
        "Two",
        "<b1>Bold</b1> and <x2/>so",
    ]
    assert result.report.kept == 2
    marked = '<target state="needs-review-translation" state-qualifier="mt-suggestion">'
    for piece in (
        'datatype="plaintext" target-language="de">',
        f'{marked}CLICK <g id="1">HERE</g> <x id="2"/> NOW. <!-- c -->GO!</target></trans-unit>',
        f"<source>Two</source>\n  {marked}TWO</target>\n  <alt-trans>",
        '<trans-unit id="3"><source>Keep</source></trans-unit>',
        f'{marked}BUT NOT <mrk mtype="protected">this</mrk></target>',
        f'</seg-source>{marked}<mrk mtype="seg" mid="1">ONE.</mrk> <mrk mtype="seg" mid="2">TWO</mrk></target>',
        f'{marked}<bx id="1"/>BOLD<ex id="1"/> AND <it id="3" pos="open">[</it>SO</target>',
    ):
        assert piece in result.text, piece
    reviewed = through("a.xlf", XLIFF_1, loud, target="de", reviewed=True).text
    assert '<target state="translated">TWO</target>' in reviewed


def test_xliff_2_is_filled(through):
    result = through("a.xliff", XLIFF_2, loud, target="de")
    assert result.seen == ["A <b1>b</b1> {x2} <b3>c</b3>.", "D"]
    target = '<x:target>A <x:pc id="1">B</x:pc> <x:ph id="2"/> <x:sc id="3"/>C<x:ec startRef="3"/>.</x:target>'
    assert result.text == (
        XLIFF_2.replace('srcLang="en">', 'srcLang="en" trgLang="de">')
        .replace('<x:segment id="1">', '<x:segment id="1" state="translated">')
        .replace("initial", "translated")
        .replace("<x:target></x:target>", "<x:target>D</x:target>")
        .replace(".</x:source>", f".</x:source>\n   {target}")
    )
    assert 'state="reviewed"' in through("a.xliff", XLIFF_2, target="de", reviewed=True).text


def test_the_languages_must_agree(through):
    told = XLIFF_2.replace("srcLang", 'trgLang="de-DE" srcLang')
    assert through("b.xliff", told, target="de").seen == through("b.xliff", told).seen
    with pytest.raises(DataError, match=r"is to be translated into de-DE, not into fr: give a file for fr$"):
        through("b.xliff", told, target="fr")
    with pytest.raises(DataError, match=r"does not say the language of its translations"):
        through("b.xliff", XLIFF_2)
    with pytest.raises(DataError, match=r"is not XLIFF: there is no <xliff> with a version$"):
        through("b.xliff", "<html/>", target="fr")


@pytest.mark.parametrize(("name", "content"), [("c.tmx", MEMORY), ("c.xlf", XLIFF_1), ("c.xliff", XLIFF_2)])
def test_filled_once_nothing_is_left_to_fill(through, name, content):
    filled = through(name, content, loud, target="de").text
    again = through(name, filled, loud, target="de")
    assert (again.text, again.seen) == (filled, [])


def test_pieces_of_any_size_are_read_alike(through, monkeypatch):
    whole = through("a.tmx", MEMORY, loud, target="de")
    for size in (1, 7, 64):
        monkeypatch.setattr(markup, "CHUNK", size)
        assert through("a.tmx", MEMORY, loud, target="de") == whole


def unit(source: str) -> str:
    entry = f"<trans-unit><source>{source}</source></trans-unit>"
    return f'<xliff version="1.2"><file target-language="de">{entry}</file></xliff>'


BOMB = '<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;">]><tmx><body>&c;</body></tmx>'
FILE = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><tmx><body>&b;</body></tmx>'


@pytest.mark.parametrize("content", [BOMB, FILE])
def test_entities_are_refused(through, content):
    with pytest.raises(
        DataError, match=r"declares entities of its own, which are not read: write them out in the text$"
    ):
        through("bomb.tmx", content, target="de")


@pytest.mark.parametrize("content", ["", "<tmx>", "<tmx><tu></tmx>", "<tmx>&undeclared;</tmx>", "text"])
def test_what_is_not_well_formed_is_refused(through, content):
    with pytest.raises(DataError, match=r"bad\.tmx is not well-formed XML: .*line 1"):
        through("bad.tmx", content, target="de")


def test_nesting_of_any_depth_is_read(through):
    deep = '<g id="1">' * 3000 + "word" + "</g>" * 3000
    assert through("deep.xlf", unit(deep), loud).text.count("</g>") == 6000


@st.composite
def content(draw: st.DrawFn, depth: int = 2) -> str:
    """What may stand in a <source>: text, codes, and pairs of them."""
    pieces = []
    for _ in range(draw(st.integers(0, 5))):
        number = draw(st.integers(1, 99))
        match draw(st.sampled_from(["text", "text", "code", "pair"])):
            case "text":
                pieces.append(
                    draw(st.sampled_from(["one", " ", "two. ", "Three! ", "&amp;", "&#233;", "<![CDATA[<]]>", "\n  "]))
                )
            case "code":
                pieces.append(f'<x id="{number}"/>')
            case "pair" if depth:
                pieces.append(f'<g id="{number}">{draw(content(depth - 1))}</g>')
    return "".join(pieces)


@given(
    content(),
    st.lists(
        st.sampled_from(["<b1>", "</b1>", "<b2>", "</b2>", "<x1/>", "<x2/>", "{x1}", "{x2}", "wort", "<", "&", "]]>"])
    ).map(" ".join),
)
def test_whatever_comes_back_the_file_is_well_formed_and_has_every_code_once(through, source, translation):
    result = through("any.xlf", unit(source), lambda text: text if translation == "" else translation)
    found = ElementTree.fromstring(result.text)
    assert f"<source>{source}</source>" in result.text
    target = found.find(".//target")
    if target is None:
        assert not re.sub(r"\s", "", source)
        return
    before, after = (
        sorted((each.tag, each.get("id")) for each in found.iterfind(f".//{name}//*")) for name in ("source", "target")
    )
    assert after == before
    if translation == "":
        assert "".join(target.itertext()) == "".join(found.find(".//source").itertext())  # type: ignore[union-attr]
