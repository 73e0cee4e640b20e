"""Where tags and terms go: what hangs on what, and tags that nest whatever the model says."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import regard
from counting import pairs
from regard.decoding.constraints.placing import places, stretches, tags_of, told_without, weights, woven
from regard.decoding.constraints.terms import TAG, Span, spans
from regard.tokens.text import BOS, normalise


@pytest.fixture(scope="module")
def run(counting):
    return regard.load(counting)


def test_each_number_hangs_on_the_number_it_translates(run):
    for pair in pairs(12, seed=9):
        hangs_on = weights(run, pair.source, pair.target, "fr")
        assert [row.index(max(row)) for row in hangs_on] == list(range(len(pair.source.split())))
        assert [sum(row) for row in hangs_on] == pytest.approx([1.0] * len(hangs_on))


def test_what_is_hidden_might_as_well_be_padding(run):
    """With the end of a source hidden, what is told is told of the source without its end."""
    source, target = run.encode_source("two five one", "fr"), run.encode_target("deux cinq")
    hidden = torch.zeros(2, len(source), dtype=torch.bool)
    hidden[1, -2:] = True
    whole, cut = told_without(run.model, source, [target] * 2, hidden)
    for told, ids in ((whole, source), (cut, source[:-2])):
        reads, writes = torch.tensor([ids]), torch.tensor([[BOS, *target]])
        logits = run.model(reads, writes[:, :-1], torch.ones_like(reads, dtype=torch.bool))
        by_hand = logits.log_softmax(-1)[0].gather(1, writes[0, 1:, None]).squeeze(1)
        torch.testing.assert_close(told, by_hand)


def test_a_stretch_hangs_on_what_was_held_and_keeps_off_what_is_taken():
    hangs_on = [[0.9, 0.1, 0.0], [0.1, 0.8, 0.1], [0.0, 0.9, 0.1], [0.0, 0.2, 0.8]]
    assert stretches((1, 2), hangs_on, (0, 4))[0] == (1, 3)
    assert stretches((1, 2), hangs_on, (0, 4), beside=[(2, 3)])[0] == (1, 2)
    assert stretches((1, 2), hangs_on, (2, 4))[0] == (2, 3)
    assert stretches((1, 2), hangs_on, (0, 1), beside=[(0, 1)]) == []


nested = st.recursive(
    st.sampled_from(["a ", "b", " c", "<br/>", "&amp;", ""]),
    lambda inner: st.lists(inner, max_size=4).flatmap(
        lambda parts: st.sampled_from("xyz").map(lambda name: f"<{name}>{''.join(parts)}</{name}>")
    ),
    max_leaves=14,
)


@settings(max_examples=200)
@given(parts=st.lists(nested, max_size=4), seed=st.integers(0, 999), size=st.integers(0, 6))
def test_tags_come_out_balanced_and_nested_as_they_were_however_words_hang(parts, seed, size):
    """Weights are drawn at random; parents keep their children, marks keep their pairs, nothing is lost."""
    text = "".join(parts)
    found = spans(text)
    at, reads, end = [], "", 0
    for span in found:
        reads, end = reads + text[end : span.start], span.end
        at.append(len(normalise(reads)))
    tags = tags_of(found, at, normalise(reads + text[end:]))
    words = 1 + max([0, *(tag.held[1] for tag in tags)])
    drawn = torch.rand(size, words, generator=torch.Generator().manual_seed(seed))
    placed = places(tags, (drawn / drawn.sum(1, keepdim=True)).tolist())
    items = list(woven(tags, placed, (0, size)))

    assert [item for item in items if isinstance(item, int)] == list(range(size))
    assert sorted(item.start for item in items if isinstance(item, Span)) == [span.start for span in found]
    assert family("".join(item.wanted[0] for item in items if isinstance(item, Span))) == family(text)


def family(text: str) -> list[tuple[str, ...]]:
    """Every tag and entity with the pairs around it, sorted; raises where tags cross."""
    around: list[str] = []
    found = []
    for match in re.finditer(TAG.pattern + "|&amp;", text):
        if match["closing"]:
            assert around.pop() == match["name"]
        else:
            found.append((*around, match[0]))
            if match["name"] and not match["alone"]:
                around.append(match["name"])
    assert not around
    return sorted(found)
