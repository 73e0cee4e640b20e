"""Typed masks as ids: the rest of the text is cut as if the word were there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.tokens.characters import CharacterTokenizer
from regard.tokens.masks import MASK, STAND_INS, read_masked, shown
from regard.tokens.text import TextTokenizer

LINES = ["The cat sat on the mat.", "The dog sat on the cat.", "A mat, a cat and a dog."] * 4
KINDS = {
    "unigram": TextTokenizer.learn(LINES, size=310),
    "bpe": TextTokenizer.learn(LINES, size=310, kind="bpe"),
    "characters": CharacterTokenizer.learn(LINES),
}


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("text", ["The cat sat.", "cat", "The dog , cat", "a cat a cat, cat!", "  cat  sat "])
def test_a_mask_is_what_stands_in_the_place_of_a_token(kind, text):
    """cat is one token; with a mask for it, all others are what they were."""
    tokenizer = KINDS[kind]
    [cat] = tokenizer.encode("cat")
    expected = [tokenizer.mask if id == cat else id for id in tokenizer.encode(text)]
    assert read_masked(tokenizer, text.replace("cat", MASK)) == expected
    assert tokenizer.mask in expected


@given(st.text(max_size=30).filter(lambda text: not set(STAND_INS) & set(text)), st.sampled_from(sorted(KINDS)))
def test_text_without_masks_is_read_as_ever(text, kind):
    assert read_masked(KINDS[kind], text) == KINDS[kind].encode(text)


def test_characters_keep_their_spaces():
    tokenizer = KINDS["characters"]
    ids = read_masked(tokenizer, f"The c{MASK}t {MASK}")
    assert shown(tokenizer, ids) == f"The c {MASK}t  {MASK}"
    assert [id for id in ids if id != tokenizer.mask] == tokenizer.encode("The ct ")


def test_masks_beside_one_another_and_within_a_word():
    tokenizer = KINDS["unigram"]
    ids = read_masked(tokenizer, f"{MASK}{MASK} {MASK} d{MASK}.")
    assert ids.count(tokenizer.mask) == 4
    assert tokenizer.decode(ids) == tokenizer.decode(tokenizer.encode("d."))


def test_a_text_of_all_stand_ins_is_refused():
    with pytest.raises(DataError) as caught:
        read_masked(KINDS["bpe"], MASK + "".join(STAND_INS))
    assert str(caught.value) == (
        "the text holds every character that could stand for a mask: remove U+FDD0 to U+FDEF from it"
    )


def test_an_imported_tokenizer_reads_masks_too():
    tokenizers = pytest.importorskip("tokenizers")
    from regard.tokens.imported import ImportedTokenizer

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "##s", "."]
    model = tokenizers.Tokenizer(tokenizers.models.WordPiece({n: i for i, n in enumerate(names)}, unk_token="[UNK]"))
    model.normalizer = tokenizers.normalizers.BertNormalizer()
    model.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    model.decoder = tokenizers.decoders.WordPiece()
    model.add_special_tokens(names[:5])
    tokenizer = ImportedTokenizer(model.to_str())
    assert tokenizer.mask == 4
    assert read_masked(tokenizer, f"The {MASK} sat.") == [5, 4, 7, 9]
    assert read_masked(tokenizer, f"The cats{MASK}") == [5, 6, 8, 4]
