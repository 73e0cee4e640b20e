"""Batches: the budget is kept, nothing is lost, little is padding, and the order can be taken up again."""

from __future__ import annotations

from itertools import islice

import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.data.batch import Example, Place, collate, endless, grouped, in_order
from regard.data.corpus import read_pairs
from regard.tokens.text import BOS, EOS, PAD, TextTokenizer


def example(source: int, target: int) -> Example:
    return Example([*range(4, 3 + source), EOS], [*range(5, 4 + target), EOS])


LENGTHS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=80)


@given(lengths=LENGTHS, budget=st.integers(40, 300), seed=st.integers(0, 9))
def test_an_epoch_has_every_pair_once_and_no_batch_over_budget(lengths, budget, seed):
    examples = [example(*pair) for pair in lengths]
    order = torch.randperm(len(examples)).tolist()
    groups = grouped(examples, budget, order)
    assert sorted(index for group in groups for index in group) == list(range(len(examples)))
    for group in groups:
        batch = collate([examples[i] for i in group])
        assert batch.source.numel() <= budget
        assert batch.target.numel() <= budget


def test_a_batch_reads_bos_and_the_target_and_is_to_say_the_target_and_eos():
    batch = collate([Example([7, 8, EOS], [9, EOS]), Example([6, EOS], [5, 4, 8, EOS])])
    assert batch.source.tolist() == [[7, 8, EOS], [6, EOS, PAD]]
    assert batch.readable.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target.tolist() == [[BOS, 9, PAD, PAD], [BOS, 5, 4, 8]]
    assert batch.labels.tolist() == [[9, EOS, PAD, PAD], [5, 4, 8, EOS]]
    assert batch.wanted.tolist() == [[True, True, False, False], [True] * 4]
    assert batch.tokens == 6


def test_less_than_a_tenth_of_real_text_is_padding(multi30k):
    pairs = read_pairs(multi30k / "train.en.gz", multi30k / "train.de.gz")[:12_000]
    tokenizer = TextTokenizer.learn((text for pair in pairs[:4000] for text in pair), size=4000)
    examples = [Example([*tokenizer.encode(p.source), EOS], [*tokenizer.encode(p.target), EOS]) for p in pairs]
    cells = tokens = 0
    for batch in islice(
        endless(lambda epoch: examples, collate, 4096, seed=1, place=Place()),
        len(grouped(examples, 4096, range(len(examples)))),
    ):
        cells += batch.source.numel() + batch.target.numel()
        tokens += int(batch.readable.sum() + batch.wanted.sum())
    assert 1 - tokens / cells < 0.10


def test_each_epoch_has_an_order_of_its_own_and_the_same_seed_the_same_orders():
    examples = [example(3 + i % 5, 4 + i % 7) for i in range(60)]
    count = len(grouped(examples, 70, range(60)))

    def epochs(seed: int) -> list[list]:
        stream = endless(lambda epoch: examples, collate, 70, seed, Place())
        return [[batch.source.tolist() for batch in islice(stream, count)] for _ in range(2)]

    first, second = epochs(seed=3)
    assert first != second
    assert [first, second] == epochs(seed=3)
    assert first != epochs(seed=4)[0]


@given(taken=st.integers(0, 25))
def test_reading_goes_on_where_it_stopped(taken):
    examples = [example(2 + i % 5, 3 + i % 4) for i in range(40)]
    place = Place()
    stream = endless(lambda epoch: examples, collate, 50, 5, place)
    for _ in islice(stream, taken):
        pass
    resumed = endless(lambda epoch: examples, collate, 50, 5, Place(place.epoch, place.batch))
    for expected, found in islice(zip(stream, resumed, strict=True), 15):
        assert torch.equal(expected.source, found.source)
        assert torch.equal(expected.labels, found.labels)


def test_validation_reads_every_example_once():
    examples = [example(2 + i % 5, 3 + i % 4) for i in range(41)]
    assert sum(len(batch.source) for batch in in_order(examples, collate, 50)) == 41
