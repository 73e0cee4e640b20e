"""What a text demands: the glossary's file, and what is found in a text and how."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.decoding.constraints.terms import Glossary, Span, patterns, spans, units, unmet
from regard.errors import ConfigError, DataError


def found(text: str, glossary: Glossary | None = None, *keep: str) -> list[tuple[str, str]]:
    return [(span.kind, text[span.start : span.end]) for span in spans(text, glossary, patterns(keep))]


def test_a_glossary_is_read_with_comments_alternatives_and_terms_that_stay(tmp_path):
    path = tmp_path / "glossary.tsv"
    path.write_text("# animals\ndog\tKöter\n\ndog\tTöle\ndog\tKöter\n  hot   dog \tWurst\tignored\nBoston\t\n")
    assert Glossary.read(path).terms == {"dog": ("Köter", "Töle"), "hot dog": ("Wurst",), "Boston": ("Boston",)}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("dog Köter", "there is no tab: write source term, tab, target term on each line"),
        (" \tKöter", "nothing is before the tab: write a source term, or # before the line"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(tmp_path, line, complaint):
    path = tmp_path / "glossary.tsv"
    path.write_text(f"cat\tKatze\n# fine\n{line}\n")
    with pytest.raises(DataError, match=f"^{re.escape(f'{path}, line 3: {complaint}')}$"):
        Glossary.read(path)


def test_a_pattern_that_is_none_is_refused():
    complaint = r"'[a' is not a regular expression: unterminated character set at position 0; put \ before signs that "
    with pytest.raises(ConfigError, match=f"^{re.escape(complaint + 'stand for themselves')}$"):
        patterns(["[a"])


def test_terms_are_whole_words_the_longest_first_and_in_their_case():
    glossary = Glossary({"dog": ("Köter",), "hot dog": ("Wurst",), "US": ("Amerika",), "c++": ("C",), "犬": ("Hund",)})
    text = "Dog, hotdog; Hot  dog’s dogs: the DOG of us in US (dog) c++ 大犬小"
    assert found(text, glossary) == [
        ("term", "Dog"),
        ("term", "Hot  dog"),
        ("term", "US"),
        ("term", "dog"),
        ("term", "c++"),
        ("term", "犬"),
    ]


def test_a_term_is_found_in_whatever_form_its_letters_are_written():
    glossary = Glossary({"café": ("Kneipe",)})
    for form in ("NFC", "NFD"):
        assert found(unicodedata.normalize(form, "the Café is cafés"), glossary) == [
            ("term", unicodedata.normalize(form, "Café"))
        ]


def test_a_term_that_stays_is_a_literal():
    glossary = Glossary({"Boston": ("Boston",), "york": ("york",)})
    assert found("Boston or york or York", glossary) == [("literal", "Boston"), ("literal", "york"), ("term", "York")]


LITERALS = """
{name} {0} {} {count:,} {{name}} ${name} %s %d %1$s %(count)d %-5.2f %% %@
https://a.b/c?d=%20e&f={g} http://x.org www.x.org/y ftp://x.y a.b+c@d-e.org
"""


@pytest.mark.parametrize("literal", [*LITERALS.split(), "{{ a name }}"])
@pytest.mark.parametrize("around", ["{}", "see {}, please", "({})", "“{}”.", "<b>{}</b>"])
def test_placeholders_and_addresses_stay(literal, around):
    assert [text for kind, text in found(around.replace("{}", literal)) if kind == "literal"] == [literal]


@pytest.mark.parametrize("text", ["50% of it", "a < b and c > d", "R&D; me", "3 @ 4", "{ x }", "100%discount", "a&b"])
def test_what_only_looks_like_one_is_text(text):
    assert found(text) == []


def test_tags_pair_as_they_nest_and_others_are_marks():
    text = '<p>a <b>b<br/>c</b> <i>d <a href="x>">e</i> f</a> <!-- <b> --> &nbsp;<B>g</b>&#x20AC;</p>'
    assert found(text) == [
        ("opening", "<p>"),
        ("opening", "<b>"),
        ("mark", "<br/>"),
        ("closing", "</b>"),
        ("opening", "<i>"),
        ("mark", '<a href="x>'),
        ("closing", "</i>"),
        ("mark", "</a>"),
        ("mark", "<!-- <b> -->"),
        ("mark", "&nbsp;"),
        ("mark", "<B>"),
        ("mark", "</b>"),
        ("mark", "&#x20AC;"),
        ("closing", "</p>"),
    ]


def test_the_user_s_patterns_come_first_and_a_group_alone_stays():
    assert spans("ab [[c d]] {e}", keep=patterns([r"\[\[(.+?)\]\]", r"b \[", "x*"])) == [
        Span(3, 10, "literal", ("c d",)),
        Span(11, 14, "literal", ("{e}",)),
    ]


def test_of_alternatives_the_group_that_took_part_stays_or_else_the_whole_match():
    found = spans("7-ID ID <a> <b>", keep=patterns([r"(\d+)-ID|ID", "<(a)>|<(b)>"]))
    assert [span.wanted for span in found] == [("7",), ("ID",), ("a",), ("b",)]


@given(st.text(alphabet="ab <>/{}%s&;1.@:é犬\u0301", max_size=40))
def test_spans_never_overlap_and_words_are_all_that_is_no_space(text):
    ends = [0, *(at for span in spans(text, Glossary({"a": ("b",)})) for at in (span.start, span.end))]
    assert ends == sorted(ends)
    assert "".join(text[start:end] for start, end in units(text)) == "".join(text.split())


def test_what_is_lacking_is_said_in_words():
    demanded = spans("The dog and the dog see {0} and <b>Tom</b>", Glossary({"dog": ("Köter", "Töle")}))
    assert unmet(demanded, "Der Köter und Töle sehen {0} und <b>Tom</b>") == ()
    assert unmet(demanded, "Der Köter und die Tölen sehen { 0} und <b>Tom<b>") == (
        "Köter or Töle (1 of 2)",
        "{0}",
        "</b>",
    )
