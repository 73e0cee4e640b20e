"""Subtitles: times stay, lines stay lines, sentences run on over them."""

from __future__ import annotations

import pytest
import srt
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from translators import STAR, loud, starred

CUES = """\
1
00:00:01,000 --> 00:00:02,500 X1:5
<i>Hello there, my
friend.</i> How are
you today?

2
00:00:03,000 --> 00:00:04,000
- Who?
- {\\an8}Me.

7
00:00:05.000 --> 00:00:06.000
♪ 123 ♪

8
00:00:07,000 --> 00:00:08,000

9
00:00:09,000 --> 00:00:10,000
Blank

line in a cue
"""


def test_a_cue_is_handed_over_as_sentences(through):
    assert through("a.srt", CUES).seen == [
        "Hello there, my friend.",
        "How are you today?",
        "Who?",
        "Me.",
        "Blank",
        "line in a cue",
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_times_numbers_tags_and_the_number_of_lines_stay(through, newline):
    cues = CUES.replace("\n", newline)
    result = through("a.srt", cues, loud)
    before, after = list(srt.parse(cues)), list(srt.parse(result.text))
    assert [(cue.index, cue.start, cue.end, cue.proprietary) for cue in after] == [
        (cue.index, cue.start, cue.end, cue.proprietary) for cue in before
    ]
    assert after[0].content == "<i>HELLO THERE, MY\nFRIEND.</i> HOW ARE\nYOU TODAY?"
    assert after[1].content == "- WHO?\n- {\\an8}ME."
    assert [cue.content.count("\n") for cue in after] == [cue.content.count("\n") for cue in before]


def test_a_translation_is_wrapped_to_lines_of_like_length(through):
    result = through(
        "b.srt",
        "1\n00:00:01,000 --> 00:00:02,000\nHello there, my\ndear friend.\n",
        lambda _: "Guten Tag, mein lieber Freund.",
    )
    assert result.text.endswith("\nGuten Tag, mein\nlieber Freund.\n")


def test_a_lost_tag_is_dropped_and_told(through):
    result = through("c.srt", "1\n00:00:01,000 --> 00:00:02,000\nSo <i>very</i> big.\n", lambda _: "Sehr groß.")
    assert result.text.endswith("\nSehr groß.\n")
    assert result.report.mended == 1


def file(contents: list[str]) -> str:
    return "".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},500\n{text}\n\n" for n, text in enumerate(contents, start=1))


TAGS = ["<i>", "</i>", "<b>", "{\\an8}", "<"]
CONTENT = st.lists(st.sampled_from(["One.", "two", " ", "\n", "- ", "3", "-->", *TAGS]), max_size=9).map("".join)
SOUND = st.lists(st.sampled_from(["One. ", "two", "\n", "\n- Who?", "<i>x</i>", "{\\an8}"]), max_size=9).map("".join)


@given(st.lists(CONTENT, max_size=4).map(file))
def test_what_comes_back_as_it_went_leaves_the_file_byte_for_byte(through, cues):
    assert through("same.srt", cues).text == cues


@given(st.lists(SOUND, max_size=4).map(file))
def test_only_the_sentences_change(through, cues):
    assert through("starred.srt", cues, starred).text.replace(STAR, "") == cues


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("Just some text.\n", 1),
        ("1\n00:00:01,000 --> later\nHi\n", 1),
        ("\n1\n00:00:01,000 --> 00:00:02,000\nHi\n\n5\n0:1 --> 2\nHi", 6),
    ],
)
def test_what_is_no_subtitle_is_refused_with_its_line(through, content, line):
    with pytest.raises(DataError) as caught:
        through("bad.srt", content)
    assert str(caught.value).endswith(f"bad.srt, line {line}: there is no cue, as of a number, times and text")


@pytest.mark.parametrize("content", ["", "\n", "\r\n \n"])
def test_a_file_without_cues_stays_as_it_is(through, content):
    assert through("none.srt", content).text == content
