"""Subwords that keep line breaks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from regard.tokens.lines import Lines
from regard.tokens.text import TextTokenizer, normalise

LINES = Lines(TextTokenizer.learn(["to be or not to be", "that is the question"] * 3, size=320))


def test_a_line_break_is_a_token_and_everything_else_is_as_in_sentences():
    ids = LINES.encode("to be\n\nor not")
    assert LINES.tokenizer.pieces([LINES.line_break]) == ["<0x0A>"]
    assert ids.count(LINES.line_break) == 2
    assert ids[: ids.index(LINES.line_break)] == LINES.tokenizer.encode("to be")
    assert LINES.decode(ids) == "to be\n\nor not"


@given(st.text())
def test_every_line_comes_back_normalised(text):
    assert LINES.decode(LINES.encode(text)) == LINES.plain(text)
    assert LINES.plain(text).split("\n") == [normalise(line) for line in text.split("\n")]
