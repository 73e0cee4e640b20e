"""Marks of a passage on their way through a translation that keeps them, loses them or makes some up."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.decoding.constraints.terms import spans
from regard.documents.atoms import Atom, Mark, Spelled
from regard.documents.inline import Script, segments
from regard.documents.parts import Part, Report, source, texts, write

MARKUP = Script({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def opening(name: str, lost: str | None = None) -> Mark:
    return Mark((f"<{name}>",), "open", name, lost)


def closing(name: str) -> Mark:
    return Mark((f"</{name}>",), "close", name)


CODE, NOTE = Mark(("<code/>",), "word"), Mark(("<note/>",), "point")
LINK = [opening("a", "<a>link</a>"), "link", closing("a")]


def put(atoms: list[Atom], *translations: str) -> tuple[str, Report]:
    """The passage with these translations of its sentences in their place."""
    report = Report()
    given = iter(translations)
    written = write(segments(atoms, MARKUP), given, report)
    assert next(given, None) is None
    return written, report


def handed(atoms: list[Atom]) -> list[str]:
    return texts(segments(atoms, MARKUP))


def test_a_sentence_goes_out_with_numbered_placeholders():
    assert handed(["Read ", *LINK, " of ", CODE, ". Then ", CODE, " it."]) == [
        "Read <b1>link</b1> of {x2}.",
        "Then {x1} it.",
    ]


def test_placeholders_are_of_the_kinds_that_a_constrained_search_keeps():
    (text,) = handed(["Read ", *LINK, " of ", CODE, " here", NOTE, " now."])
    assert text == "Read <b1>link</b1> of {x2} here<x3/> now."
    assert [span.kind for span in spans(text)] == ["opening", "closing", "literal", "mark"]


def test_marks_around_a_whole_sentence_stay_at_home_and_words_do_not():
    assert handed([NOTE, " ", opening("b"), "All of it.", closing("b"), NOTE]) == ["All of it."]
    assert handed([CODE, " is a word."]) == ["{x1} is a word."]
    assert handed([opening("b"), "One", closing("b"), " and ", opening("b"), "two", closing("b")]) == [
        "<b1>One</b1> and <b2>two</b2>"
    ]


def test_what_has_no_letter_is_not_handed_over():
    atoms: list[Atom] = ["3.50 — ", CODE, " *** ", opening("b"), "1", closing("b")]
    assert handed(atoms) == []
    assert put(atoms)[0] == "3.50 — <code/> *** <b>1</b>"


def test_marks_move_with_their_words():
    written, report = put(["Read ", *LINK, " of ", CODE, "."], "Von {x2} lies <b1>Verweis</b1>.")
    assert written == "Von <code/> lies <a>Verweis</a>."
    assert report == Report(segments=1)


@pytest.mark.parametrize(
    ("translation", "written"),
    [
        ("Nichts.", "Nichts. <a>link</a> <code/>"),
        ("Nur {x2}.", "Nur <code/>. <a>link</a>"),
        ("<b1>Auf.", "Auf. <a>link</a> <code/>"),
        ("Zu</b1> <b1>auf {x2}.", "Zu auf <code/>. <a>link</a>"),
        ("<b1></b1> Leer {x2}.", "Leer <code/>. <a>link</a>"),
        ("<b1> <x7/> </b1> Leer {x2}.", "Leer <code/>. <a>link</a>"),
        ("<b1>Eins</b1> {x2} {x2} <b1>zwei</b1>", "<a>Eins</a> <code/> zwei"),
        ("<b1>Eins</b1> {x2} <b7>drei</b7> <x9/>", "<a>Eins</a> <code/> drei"),
    ],
)
def test_what_a_translation_loses_is_put_at_its_end_and_what_it_makes_up_is_dropped(translation, written):
    result, report = put(["Read ", *LINK, " of ", CODE, "."], translation)
    assert result == written
    assert (report.mended, report.examples) == (1, ["Read <b1>link</b1> of {x2}."])


def test_lost_emphasis_is_dropped_and_told():
    written, report = put(["So ", opening("b", ""), "big", closing("b"), "."], "So groß.")
    assert (written, report.mended) == ("So groß.", 1)


def test_pairs_that_cross_are_taken_apart():
    atoms: list[Atom] = [*LINK, " and ", opening("b", ""), "bold", closing("b"), "."]
    assert put(atoms, "<b1>eins <b2>zwei</b1> drei</b2>.")[0] == "<a>eins zwei</a> drei."


def test_a_pair_over_two_sentences_stays_a_pair_whatever_comes_back():
    atoms: list[Atom] = ["One ", opening("b"), "two. Three", closing("b"), " four."]
    assert handed(atoms) == ["One <x1/>two.", "Three<x1/> four."]
    assert put(atoms, "Eins <x1/>zwei.", "Drei<x1/> vier.")[0] == "Eins <b>zwei. Drei</b> vier."
    assert put(atoms, "Eins.", "Zwei.")[0] == "<b>Eins. Zwei.</b>"


def test_white_space_on_the_wrong_side_of_a_mark_changes_sides():
    assert (
        put(["So ", opening("b"), "big", closing("b"), " now"], "So <b1> groß </b1> jetzt")[0] == "So <b>groß</b> jetzt"
    )


def test_characters_are_spelled_as_the_sentence_had_them_or_as_the_format_does():
    atoms: list[Atom] = ["A ", Spelled("—", "&mdash;"), " b"]
    assert put(atoms, "A — b")[0] == "A &mdash; b"
    assert put(atoms, "X — y < z & é")[0] == "X &mdash; y &lt; z &amp; é"


def test_lines_are_broken_again_where_they_come_to_most():
    atoms: list[Atom] = ["one two", Spelled(" ", "\n> "), "three four", Spelled(" ", "\n> "), "five six"]
    assert handed(atoms) == ["one two three four five six"]
    assert put(atoms, "eins zwei drei vier fünf sechs")[0] == "eins zwei\n> drei vier\n> fünf sechs"
    assert put(atoms, "eins")[0] == "eins"
    assert put(atoms, "eins zwei")[0] == "eins\n> zwei"


def test_no_line_break_and_no_control_character_of_a_translation_gets_in():
    assert put(["One"], "a\r\nb\x00\x1b\u2028c\ud800")[0] == "a b c"


def test_sentences_without_a_space_between_them_get_one_where_the_script_wants_it():
    assert put(["你好。再见。"], "Hello.", "Bye.")[0] == "Hello. Bye."
    assert put(["你好。再见。"], "好。", "见。")[0] == "好。见。"


def test_text_in_a_mark_is_handed_over_before_the_sentence_it_is_in():
    picture = Mark(("<img alt='", *segments(["A cat."]), "'>"), "word")
    atoms: list[Atom] = ["See ", picture, " there."]
    assert handed(atoms) == ["A cat.", "See {x1} there."]
    assert put(atoms, "Eine Katze.", "Dort {x1}.")[0] == "Dort <img alt='Eine Katze.'>."


@pytest.mark.parametrize("typed", ["<b1>", "</b1>", "<x1/>", "{x1}", "a <b12> b", "<<b1>", "{{x2}}"])
def test_a_typed_placeholder_is_text_and_comes_back(typed):
    spelled: list[Atom] = [Spelled(each, MARKUP.escapes[each]) if each in "<>" else each for each in typed]
    for atoms in ([typed, " word ", CODE], [*spelled, " word ", CODE]):
        (text,) = handed(atoms)
        assert put(atoms, f"{text}!")[0].replace("&lt;", "<").replace("&gt;", ">") == f"{typed} word <code/>!"


@st.composite
def passages(draw: st.DrawFn, depth: int = 2) -> list[Atom]:
    """Text, words and well-nested pairs."""
    atoms: list[Atom] = []
    for _ in range(draw(st.integers(0, 4))):
        match draw(st.sampled_from(["text", "text", "word", "point", "pair"])):
            case "text":
                atoms.append(draw(st.sampled_from(["one", " ", "two. ", "Three! ", "é", "<b1>", "\n", "&", "."])))
            case "word":
                atoms.append(CODE)
            case "point":
                atoms.append(NOTE)
            case "pair" if depth:
                name = draw(st.sampled_from("abc"))
                atoms += [opening(name), *draw(passages(depth - 1)), closing(name)]
    return atoms


def tags(text: str) -> list[str]:
    return re.findall(r"</?[abc]>|<code/>|<note/>", text)


@given(passages())
def test_what_comes_back_as_it_went_is_written_as_it_stood(atoms):
    parts: list[Part] = list(segments(atoms, MARKUP))
    assert write(parts, iter(texts(parts)), Report()) == source(parts) == source(segments(atoms, MARKUP))


@given(passages(), st.data())
def test_whatever_comes_back_no_mark_is_lost_or_doubled_and_all_are_nested(atoms, data):
    """Against a translator that shuffles words and placeholders, drops some, doubles some and invents some."""
    parts = list(segments(atoms, MARKUP))
    given = []
    for text in texts(parts):
        pieces = re.findall(r"</?[bx]\d+/?>|\{x\d+\}|[^<{\s]+|[<{]", text)
        given.append(
            " ".join(data.draw(st.lists(st.sampled_from([*pieces, "<b7>", "<x8/>", "{x9}", "word"]), max_size=9)))
        )
    written = write(parts, iter(given), Report())
    assert sorted(tags(written)) == sorted(tags(source(parts)))
    opened: list[str] = []
    for tag in tags(written):
        if re.fullmatch("<[abc]>", tag):
            opened.append(tag[1])
        elif tag.startswith("</"):
            assert opened.pop() == tag[2]
    assert not opened
