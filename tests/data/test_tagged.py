"""Files of words and tags, their places among the tokens, and the spans that tags speak of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.tagged import Sentence, marked, read_tagged, spans
from regard.errors import DataError
from regard.tokens.characters import CharacterTokenizer
from regard.tokens.text import BOS, EOS, TextTokenizer
from regard.tokens.words import words_of

TEXT = ["Ada Lovelace wrote to Charles Babbage of London.", "The engine weaves numbers as looms weave leaves."]
SUBWORDS = TextTokenizer.learn(TEXT * 3, size=330)


def test_a_file_is_read_sentence_by_sentence(tmp_path):
    path = tmp_path / "names.tsv"
    path.write_bytes(b"\r\nAda\tB-PER\r\nLovelace NNP I-PER\r\n\r\n \r\nschrieb\tO")
    assert read_tagged(path) == [Sentence(("Ada", "Lovelace"), ("B-PER", "I-PER")), Sentence(("schrieb",), ("O",))]


def test_white_space_of_other_kinds_is_part_of_a_word(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("10\u00a0000\tO\n10\u202f000  CD  O \t\n New York \t\tB-LOC\t\n", encoding="utf-8")
    assert read_tagged(path) == [Sentence(("10\u00a0000", "10\u202f000", "New York"), ("O", "O", "B-LOC"))]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Ada\tB-PER\nLovelace\n", ", line 2: 'Lovelace' has no tag: write word, tab, tag on each line"),
        (" \n\n", " is empty: give a file with word, tab, tag on each line, a blank line after each sentence"),
    ],
)
def test_what_is_no_such_file_is_told(tmp_path, content, message):
    (tmp_path / "x.tsv").write_text(content)
    with pytest.raises(DataError) as caught:
        read_tagged(tmp_path / "x.tsv")
    assert str(caught.value) == f"{tmp_path}/x.tsv{message}"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Z"]), min_size=1, max_size=8), max_size=9))
def test_every_word_has_its_label_at_its_first_token(words):
    found = marked(SUBWORDS, words, list(range(len(words))), most=1000)
    assert found.ids[0] == BOS
    assert found.ids[-1] == EOS
    assert found.labels == list(range(len(words)))
    assert len(found.places) == len(words)
    numbers = words_of(SUBWORDS, found.ids).tolist()
    for place, label in zip(found.places, found.labels, strict=True):
        assert numbers[place] == label
        spaces = [at for at in range(len(numbers)) if numbers[at] == label]
        pieces = SUBWORDS.pieces(found.ids[at] for at in spaces)
        assert place == spaces[0] or (place == spaces[1] and pieces[0] == "▁"), "a space of its own is passed over"


def test_characters_are_tagged_at_the_first_letter():
    tokenizer = CharacterTokenizer.learn(["ab c"])
    found = marked(tokenizer, ["ab", "cé"], [4, 7], most=50)
    assert tokenizer.pieces(found.ids) == ["<s>", "a", "b", "▁", "c", "<0xC3>", "<0xA9>", "</s>"]
    assert (found.places, found.labels) == ([1, 4], [4, 7])


@pytest.mark.parametrize("unseen", ["\u200b", "\ufeff", "\u00ad", "\u0301", "\ufffd", " "])
def test_a_word_of_which_bert_leaves_nothing_is_unknown_and_keeps_its_label(unseen):
    tokenizers = pytest.importorskip("tokenizers")
    from regard.tokens.imported import ImportedTokenizer

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "ada", "##s", "engine"]
    model = tokenizers.Tokenizer(tokenizers.models.WordPiece({n: i for i, n in enumerate(names)}, unk_token="[UNK]"))
    model.normalizer = tokenizers.normalizers.BertNormalizer()
    model.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer = ImportedTokenizer(model.to_str())
    found = marked(tokenizer, [unseen, "Adas", unseen, "engine", unseen], [4, 5, 6, 7, 8], most=50)
    assert [names[id] for id in found.ids] == ["[CLS]", "[UNK]", "ada", "##s", "[UNK]", "engine", "[UNK]", "[SEP]"]
    assert (found.places, found.labels) == ([1, 2, 4, 5, 6], [4, 5, 6, 7, 8])


def test_of_a_long_sentence_the_first_tokens_are_read():
    tokenizer = CharacterTokenizer.learn(["ab c"])
    found = marked(tokenizer, ["ab", "c", "a"], [4, 7, 9], most=6)
    assert (len(found.ids), found.places, found.labels) == (6, [1, 4], [4, 7])


def test_spans_are_those_of_conll():
    """By hand: I- after O or another kind opens a span, B- after B- opens the next, and plain tags stand alone."""
    assert spans(["B-PER", "I-PER", "O", "I-LOC", "I-PER", "B-PER", "B-PER"]) == {
        (0, 2, "PER"),
        (3, 4, "LOC"),
        (4, 5, "PER"),
        (5, 6, "PER"),
        (6, 7, "PER"),
    }
    assert spans(["NN", "VB", "O", "B-X"]) == {(0, 1, "NN"), (1, 2, "VB"), (3, 4, "X")}
    assert spans([]) == set()
