"""Characters as tokens: nothing is lost, nothing typed is a control id, and what was not in the corpus is spelled."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError, RunError
from regard.tokens.characters import CharacterTokenizer
from regard.tokens.text import BOS, EOS, PAD, UNKNOWN

TOKENIZER = CharacterTokenizer.learn(["to be,\n", "or not"])


def test_every_character_of_the_corpus_has_an_id_and_the_bytes_come_before_them():
    assert TOKENIZER.characters == "\n ,benort"
    assert len(TOKENIZER) == 4 + 256 + 9
    assert TOKENIZER.encode("no,\n") == [265, 266, 262, 260]
    assert TOKENIZER.pieces([PAD, UNKNOWN, BOS, EOS, 4, 259, 260, 261, 268]) == [
        *("<pad>", "<unk>", "<s>", "</s>", "<0x00>", "<0xFF>", "↵", "▁", "t"),
    ]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_is_unknown(text):
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids) == TOKENIZER.plain(text) == text
    assert not TOKENIZER.control & set(ids)


def test_what_the_corpus_did_not_have_is_spelled_in_bytes():
    assert TOKENIZER.pieces(TOKENIZER.encode("bé")) == ["b", "<0xC3>", "<0xA9>"]
    assert TOKENIZER.decode(TOKENIZER.encode("é")[:1]) == "\ufffd"
    assert TOKENIZER.decode([BOS, *TOKENIZER.encode("to"), EOS]) == "to"
    assert TOKENIZER.plain("\ud800o") == "\ufffdo"


def test_the_steps_tell_where_each_token_lies():
    steps = TOKENIZER.steps("bé\n")
    assert [(token.piece, token.start, token.end) for token in steps.tokens] == [
        *(("b", 0, 1), ("<0xC3>", 1, 2), ("<0xA9>", 1, 2), ("↵", 2, 3)),
    ]
    assert [token.id for token in steps.tokens] == TOKENIZER.encode("bé\n")


def test_a_saved_one_is_the_same(tmp_path):
    TOKENIZER.save(tmp_path / "tokenizer.json")
    again = CharacterTokenizer.load(tmp_path / "tokenizer.json")
    assert again.characters == TOKENIZER.characters
    assert again.unwritten == [PAD, UNKNOWN, BOS]


@pytest.mark.parametrize(
    "content", ["", "[]", '{"characters": 3}', '{"characters": "ba"}', '{"characters": "aa"}', '{"characters": ""}']
)
def test_a_damaged_file_is_refused(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(RunError) as caught:
        CharacterTokenizer.load(tmp_path / "tokenizer.json")
    assert str(caught.value) == (
        f"{tmp_path}/tokenizer.json is damaged or not a tokenizer of regard: copy the run again"
    )


def test_a_file_that_is_not_there_or_no_tokenizer_at_all(tmp_path, monkeypatch):
    with pytest.raises(RunError, match="does not exist: a run keeps its tokenizer there"):
        CharacterTokenizer.load(tmp_path / "nowhere.json")
    with pytest.raises(RunError, match="cannot be read"):
        CharacterTokenizer.load(tmp_path)
    monkeypatch.setattr("regard.tokens.characters.FILE_LIMIT", 10)
    (tmp_path / "large.json").write_text(json.dumps({"characters": "abcdefgh"}))
    with pytest.raises(RunError, match="is larger than 10 bytes, which no tokenizer is"):
        CharacterTokenizer.load(tmp_path / "large.json")


def test_without_text_there_is_nothing_to_learn():
    with pytest.raises(DataError) as caught:
        CharacterTokenizer.learn([""])
    assert str(caught.value) == "there is no text to learn a tokenizer from: the corpus is empty"
