"""Gettext catalogues: what lacks a translation is filled, and no other line changes."""

from __future__ import annotations

import difflib
import textwrap

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from translators import loud

CATALOGUE = r"""# Head
# comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=3; plural=n>1;\n"

#. extracted
#: a.c:1
#, c-format
msgctxt "menu"
msgid "Open {name}. Then\nclose it: \"now\"."
msgstr ""

#: b.c
msgid "Done"
msgstr "Fertig"

# a person's note
#, fuzzy, c-format
#| msgid "Old"
msgid "New"
msgstr "Alt"

msgid "One file"
msgid_plural ""
"Many files in a line that is so long, so very long that it has to be wrapped"
msgstr[0] "Eine Datei"
msgstr[1] ""

msgid "100 %"
msgstr ""

#~ msgid "gone"
#~ msgstr ""
"""


def changes(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def test_only_entries_without_a_translation_are_filled_and_marked(through):
    result = through("a.po", CATALOGUE, loud)
    assert result.seen == [
        "Open {name}.",
        "Then",
        'close it: "now".',
        *["Many files in a line that is so long, so very long that it has to be wrapped"] * 2,
    ]
    assert result.report.kept == 2
    assert changes(CATALOGUE, result.text) == [
        "-#, c-format",
        "+#, fuzzy, c-format",
        r'+"OPEN {NAME}. THEN\n"',
        r'+"CLOSE IT: \"NOW\"."',
        "+#, fuzzy",
        '+"MANY FILES IN A LINE THAT IS SO LONG, SO VERY LONG THAT IT HAS TO BE WRAPPED"',
        '+msgstr[2] ""',
        '+"MANY FILES IN A LINE THAT IS SO LONG, SO VERY LONG THAT IT HAS TO BE WRAPPED"',
        "+#, fuzzy",
        '-msgstr ""',
        '+msgstr "100 %"',
    ]


def test_fuzzy_entries_are_filled_anew_and_no_flag_is_set_where_that_is_asked_for(through):
    result = through("a.po", CATALOGUE, loud, fuzzy=True, reviewed=True)
    entries = {entry.msgid: entry for entry in polib.pofile(result.text)}
    assert entries["New"].msgstr == "NEW"
    assert entries["New"].previous_msgid == "Old"
    assert [entry for entry in entries.values() if entry.fuzzy] == []
    assert "#, c-format\n#| msgid" in result.text


def test_one_plural_form_is_made_from_the_plural(through):
    one = CATALOGUE.replace("nplurals=3; plural=n>1", "nplurals=1; plural=0").replace(
        'msgstr[0] "Eine Datei"\nmsgstr[1]', "msgstr[0]"
    )
    entry = polib.pofile(through("one.po", one, loud).text).find("One file")
    assert entry
    assert entry.msgstr_plural == {0: "MANY FILES IN A LINE THAT IS SO LONG, SO VERY LONG THAT IT HAS TO BE WRAPPED"}


def test_lines_are_wrapped_only_where_the_file_wraps_them(through):
    long = CATALOGUE.replace("extracted", 'a comment with " in it' + " and more" * 20)
    assert '\nmsgstr[1] "MANY FILES IN A LINE' in through("long.po", long, loud).text


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_stay(through, newline):
    result = through("n.po", CATALOGUE.replace("\n", newline), loud).text
    assert result.count("\n") == result.count(newline)


def test_a_flag_that_stands_alone_goes_with_its_line(through):
    text = 'msgid ""\nmsgstr ""\n\n#, fuzzy\nmsgid "New"\nmsgstr "Alt"\n'
    assert "#," not in through("f.po", text, loud, fuzzy=True, reviewed=True).text
    assert through("f.po", text, loud, fuzzy=True).text == text.replace("Alt", "NEW")


@pytest.mark.parametrize("indent", ["  ", "\t"])
def test_indented_lines_are_filled_and_stay_indented(through, indent):
    before, after = (textwrap.indent(text, indent) for text in (CATALOGUE, through("a.po", CATALOGUE, loud).text))
    assert through("i.po", before, loud).text == after
    assert through("i.po", f'#, c-format\n{indent}msgid "New"\n{indent}msgstr ""\n', loud).text == (
        f'#, fuzzy, c-format\n{indent}msgid "New"\n{indent}msgstr "NEW"\n'
    )


def test_a_file_without_a_header_is_filled_too(through):
    assert through("h.po", 'msgid "One"\nmsgstr ""', loud).text == '#, fuzzy\nmsgid "One"\nmsgstr "ONE"\n'
    assert through("h.pot", "").text == ""


STRINGS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"]) | st.sampled_from('\n\t"\\%'), min_size=1
)


@given(st.dictionaries(STRINGS, STRINGS | st.just(""), max_size=5), st.sampled_from([0, 20, 78, 90]))
def test_every_entry_ends_with_a_translation_and_the_others_are_untouched(through, messages, width):
    catalogue = polib.POFile(wrapwidth=width)
    catalogue.metadata = {"Content-Type": "text/plain; charset=utf-8"}
    for msgid, msgstr in messages.items():
        catalogue.append(polib.POEntry(msgid=msgid, msgstr=msgstr))
    result = polib.pofile(through("any.po", str(catalogue)).text)
    assert {entry.msgid: entry.msgstr for entry in result} == {key: value or key for key, value in messages.items()}


@pytest.mark.parametrize(
    ("content", "line"), [('msgid "a"\nmsgstr "b\nmsgid', 3), ("nonsense\n", 1), ('msgid "a"\nmsgstr "b"c"\n', 2)]
)
def test_what_is_no_catalogue_is_refused_with_its_line(through, content, line):
    with pytest.raises(DataError) as caught:
        through("bad.po", content)
    assert str(caught.value).endswith(f"bad.po, line {line}: this is no PO file's syntax")
