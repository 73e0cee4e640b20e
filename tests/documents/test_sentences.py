"""Where sentences end, in some languages, and that splitting loses nothing."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.documents.sentences import split

SENTENCES = [
    ["Dr. Smith met Mr. J. R. R. Tolkien at 5 p.m. on Jan. 3.", "He left."],
    ["It costs 3.50 dollars, e.g. in the U.S. market.", "See fig. 2 for more."],
    ["I saw the U.S.", "He saw it, too."],
    ['He said "Stop!" and left.', "What?!", "No...", "Never…", "Or so."],
    ['"I am here."', "She smiled."],
    ["(It rained.)", "We stayed."],
    ["Wait... what happened?", "Nothing."],
    ["Visit www.example.com today.", "Then write to a.b@c.de."],
    ["He has a Ph.D. in physics.", "Now No. 5 is here.", "No.", "Why?"],
    ["Version 2.0.1 is out.", "Get it."],
    ["1. The first heading"],
    ["It sells apples, pears, etc.", "The shop is old."],
    ["Am 3. Mai kam z. B. Dr. Müller.", "Das war gut."],
    ["Das kostet ca. 3,50 Euro bzw. mehr, vgl. S. 5 ff. im Text.", "Ende."],
    ["Der 2. Weltkrieg begann im 20. Jahrhundert.", "Er endete 1945.", "Danach wurde es besser."],
    ["„Komm her!“, sagte er.", "„Nein.“", "Sie ging."],
    ["»Nein.«", "Friedrich II. war König."],
    ["M. Dupont est arrivé à 9 h. avec Mme. Durand.", "Il est parti."],
    ["« Viens ! » dit-il.", "« Non. »", "Elle partit, etc."],
    ["¿Qué tal?", "¡Bien!", "El Sr. López vive en la Av. Mayor."],
    ["Он пришёл.", "Она ушла?", "Да!"],
    ["هل أنت هنا؟", "نعم."],
    ["It is <b1>bold.</b1>", "<b2>Next</b2> one.<x3/>", "Last."],
]


@pytest.mark.parametrize("sentences", SENTENCES, ids=lambda sentences: sentences[0][:20])
@pytest.mark.parametrize("gap", [" ", "  ", "\n", " \r\n\t"])
def test_sentences_end_where_a_reader_would_say(sentences, gap):
    assert list(split(gap.join(sentences))) == [*((each, gap) for each in sentences[:-1]), (sentences[-1], "")]


@pytest.mark.parametrize(
    "sentences", [["你好。", "你是谁？", "我是学生！"], ["「はい。」と言った。", "そうです。"], ["好。」", "「不。"]]
)
def test_chinese_and_japanese_need_no_space(sentences):
    assert [sentence for sentence, _ in split("".join(sentences))] == sentences


TRICKY = st.lists(
    st.sampled_from([*".!?…。！ \n\r\t»«\"'()“”1aZ<>/bx", "Dr", "z. B.", "<b1>", "</b1>"]), max_size=60
).map("".join)


@given(st.text() | TRICKY)
def test_the_pieces_joined_are_the_text(text):
    pieces = list(split(text))
    assert "".join(sentence + gap for sentence, gap in pieces) == text
    assert all(not gap.strip() for _, gap in pieces)
    assert all("\n" not in sentence and "\r" not in sentence for sentence, _ in pieces)


@pytest.mark.parametrize("unit", [" ", ".", ".*", "。", "\n ", "Dr. ", "1. ", ". »", "</b1>", '."', "x.X "])
def test_time_grows_with_the_length_alone(unit):
    """An odd text of half a megabyte takes seconds at most, where a square of its length would take hours."""
    text = unit * (500_000 // len(unit))
    start = time.perf_counter()
    assert sum(len(sentence) + len(gap) for sentence, gap in split(text)) == len(text)
    assert time.perf_counter() - start < 30
