"""Plain text: lines, white space and line ends are as they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators import STAR, loud, starred

TEXT = "\ufeff  Hello there. How are you?\r\n\r\n\tDr. X is <b1> ok.\n3.5\n\n\n * * *\rOld Mac?\x0c\nEnd"


def test_sentences_are_handed_over_and_all_else_stays(through):
    result = through("a.txt", TEXT, loud)
    assert result.seen == ["Hello there.", "How are you?", "Dr. X is {x1}b1> ok.", "Old Mac?", "End"]
    assert result.text == TEXT.replace("Hello there. How are you", "HELLO THERE. HOW ARE YOU").replace(
        "Dr. X is <b1> ok", "DR. X IS <B1> OK"
    ).replace("Old Mac", "OLD MAC").replace("End", "END")


LINES = st.lists(st.sampled_from(["One.", "two", " ", "\n", "\r\n", "\r", "\t", "3", "<x1/>", "<", "é", "Dr. ", "。"]))


@given(LINES.map("".join) | st.text(), st.booleans())
def test_what_comes_back_as_it_went_leaves_the_file_byte_for_byte(through, text, wrapped):
    text = text.replace("\0", "").replace(STAR, "")
    assert through("same.txt", text, wrapped=wrapped).text == text


@given(LINES.map("".join))
def test_only_the_sentences_change(through, text):
    """But for a space after 。 which a star, being no Chinese character, is given."""
    text = text.replace("。", "")
    result = through("starred.txt", text, starred)
    assert result.text.count(STAR) == len(result.seen)
    assert result.text.replace(STAR, "") == text


def test_wrapped_lines_are_read_as_paragraphs(through):
    text = "One two. Three\nfour five. Six\n\nSeven\neight\n"
    result = through("wrapped.txt", text, loud, wrapped=True)
    assert result.seen == ["One two.", "Three four five.", "Six", "Seven eight"]
    assert result.text == text.upper()


@pytest.mark.parametrize("line", ["word " * 400_000, "Sentence one. " * 10_000], ids=["one sentence", "many sentences"])
def test_a_line_of_megabytes_is_a_line(through, line):
    result = through("long.txt", f"a\n{line}\nb", loud)
    assert result.text == f"A\n{line.upper()}\nB"
