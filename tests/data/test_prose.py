"""Plain text: files to documents, documents to a stream, the stream to blocks."""

from __future__ import annotations

import lzma

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.data.text import Prose, blocks, collate_blocks, read_documents, set_aside, stream
from regard.errors import DataError
from regard.tokens.characters import CharacterTokenizer
from regard.tokens.text import BOS, EOS

TOKENIZER = CharacterTokenizer.learn(["abc\n"])
A, B, C = TOKENIZER.encode("abc")


def test_a_file_is_a_document_line_breaks_and_all_or_one_for_every_paragraph(tmp_path):
    (tmp_path / "one.txt").write_bytes(b"\xef\xbb\xbfa\r\nb\n\n \nc")
    (tmp_path / "two.txt.xz").write_bytes(lzma.compress(b"\n\nb\nc\n"))
    files = [tmp_path / "one.txt", str(tmp_path / "two.txt.xz")]
    assert read_documents(files) == ["a\nb\n\n \nc\n", "\n\nb\nc\n"]
    assert read_documents(files, "blank-lines") == ["a\nb", "c", "b\nc"]
    assert read_documents(files, "lines") == ["a", "b", "c", "b", "c"]


def test_a_file_without_text_is_refused(tmp_path):
    (tmp_path / "blank.txt").write_text(" \n\n")
    with pytest.raises(DataError) as caught:
        read_documents([tmp_path / "blank.txt"])
    assert str(caught.value) == f"{tmp_path}/blank.txt holds no text: give a file with some"


@given(st.lists(st.text("abc\n", min_size=1), min_size=1), st.floats(0.01, 0.99))
def test_the_end_is_set_aside_and_nothing_is_lost(documents, share):
    prose, whole = set_aside(documents, share), "".join(documents)
    assert "".join(prose.train) + "".join(prose.valid) == whole
    assert prose.characters == int(len(whole) * (1 - share))
    assert "" not in [*prose.train, *prose.valid]


def test_several_documents_are_closed_and_one_is_not():
    assert stream(["ab", "c"], TOKENIZER).tolist() == [A, B, EOS, C, EOS]
    assert stream(["abc"], TOKENIZER).tolist() == [A, B, C]
    assert stream([], TOKENIZER).tolist() == []


@given(st.integers(1, 60), st.integers(1, 20), st.integers(0, 3))
def test_blocks_are_whole_and_follow_one_another(length, size, epoch):
    ids = torch.arange(length)
    found = blocks(ids, size, f"1 {epoch}")
    assert {block.size for block in found} == {min(size, length)}
    joined = torch.cat([block.ids for block in found]).tolist()
    assert joined == list(range(joined[0], joined[-1] + 1))
    assert joined[0] < size
    assert length - joined[-1] <= size


def test_every_epoch_begins_elsewhere_and_each_token_has_its_turn():
    ids = torch.arange(23)
    firsts = [blocks(ids, 5, f"1 {epoch}")[0].ids[0].item() for epoch in range(40)]
    assert set(firsts) == set(range(5))
    assert firsts == [blocks(ids, 5, f"1 {epoch}")[0].ids[0].item() for epoch in range(40)]


def test_a_batch_reads_each_token_a_step_late_and_begins_anew_after_an_end():
    ids = stream(["ab", "c", "ba"], TOKENIZER)
    for parted in (False, True):
        found = blocks(ids, 3, "1", parted)
        batch = collate_blocks(found)
        whole = ids.tolist()
        for row, labels, reads in zip(found, batch.labels.tolist(), batch.reads.tolist(), strict=True):
            start = row.ids.data_ptr() - ids.data_ptr()
            before = whole[start // ids.element_size() - 1] if start and parted else BOS
            assert reads == [BOS if id == EOS else id for id in (before, *labels[:-1])]
        assert batch.tokens == 3 * len(found)
    assert Prose(["abc"], []).characters == 3
