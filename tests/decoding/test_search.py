"""Beam search against searching everything, against Hugging Face's generate, and against itself in other batches."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lively import lively, sources
from regard.config import DecodeConfig
from regard.decoding.search import Found, penalty, search
from regard.decoding.tree import Tree
from regard.model.translator import Translator
from regard.tokens.text import BOS, EOS, PAD, UNKNOWN

FORBIDDEN = torch.tensor([PAD, UNKNOWN, BOS])


def everything(model: Translator, source: torch.Tensor, readable: torch.Tensor, limit: int, config: DecodeConfig):
    """Every sequence there is, best first: those that end within the limit, and those cut off at it."""
    memory = model.encode(source, readable)
    words = range(4, model.config.target_vocabulary)
    scored = []
    for length in range(limit + 1):
        for ids in itertools.product(words, repeat=length):
            target = torch.tensor([[BOS, *ids]])
            logits = model.logits(model.decode(target, memory, readable))[0]  # (1 + length, V)
            steps = logits.index_fill(1, FORBIDDEN, -torch.inf).log_softmax(-1)
            total = sum(steps[t, id].item() for t, id in enumerate(ids))
            if length < limit:
                total += steps[length, EOS].item()
                scored.append((total / penalty(length + 1, config), ids, True))
            else:
                scored.append((total / penalty(length, config), ids, False))
    return sorted(scored, reverse=True)


@pytest.mark.parametrize("how", ["length", "paper"])
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000), alpha=st.sampled_from([0.0, 0.6, 1.0, 1.7]))
def test_a_beam_as_wide_as_the_space_finds_what_searching_everything_finds(how, seed, alpha):
    model = lively(vocabulary=7, seed=seed)  # three words and the control ids
    source, readable = sources(7, [5, 3])
    limits = [3, 2]
    config = DecodeConfig(beam=3**3 + 3**2 + 3 + 1, length_penalty=alpha, penalty=how)  # as many as there are sequences
    with torch.inference_mode():
        for row, found in enumerate(search(model, source, readable, config, limits, FORBIDDEN)):
            best = everything(model, source[row : row + 1], readable[row : row + 1], limits[row], config)
            assert len(found.hypotheses) == len(best)
            for hypothesis, (score, ids, ended) in zip(found.hypotheses, best, strict=True):
                assert hypothesis.score == pytest.approx(score, abs=1e-4)
                assert (hypothesis.ids, hypothesis.finished) == (ids, ended)


def test_a_beam_of_one_takes_the_likeliest_token_at_every_step():
    model = lively(vocabulary=23, seed=3)
    source, readable = sources(23, [6, 4, 7])
    for row, found in enumerate(search(model, source, readable, DecodeConfig(beam=1), [9, 9, 9], FORBIDDEN)):
        ids = []
        memory = model.encode(source[row : row + 1], readable[row : row + 1])
        while len(ids) < 9:
            logits = model.logits(model.decode(torch.tensor([[BOS, *ids]]), memory, readable[row : row + 1]))[0, -1]
            logits[FORBIDDEN] = -torch.inf
            if (token := int(logits.argmax())) == EOS:
                break
            ids.append(token)
        assert found.hypotheses[0].ids == tuple(ids)


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("position", ["halves", "learned", "none"])
def test_the_cache_changes_no_hypothesis(beam, norm, position):
    model = lively(vocabulary=19, seed=5, norm=norm, position=position)
    source, readable = sources(19, [6, 2, 9])
    config = DecodeConfig(beam=beam)
    with_cache = search(model, source, readable, config, [8, 11, 5], FORBIDDEN)
    without = search(model, source, readable, config, [8, 11, 5], FORBIDDEN, cached=False)
    assert_same(with_cache, without)


@pytest.mark.parametrize("beam", [1, 5])
def test_a_sentence_is_translated_alike_alone_and_in_any_batch(beam):
    model = lively(vocabulary=29, seed=7)
    lengths = [3, 8, 5, 1, 12, 7]
    source, readable = sources(29, lengths)
    config = DecodeConfig(beam=beam)
    limits = [2 * length + 3 for length in lengths]
    together = search(model, source, readable, config, limits, FORBIDDEN)
    order = [4, 2, 0, 5, 1, 3]
    shuffled = search(model, source[order], readable[order], config, [limits[i] for i in order], FORBIDDEN)
    assert_same([together[i] for i in order], shuffled)
    for row, length in enumerate(lengths):
        alone = search(
            model, source[row : row + 1, :length], readable[row : row + 1, :length], config, [limits[row]], FORBIDDEN
        )
        assert_same([together[row]], alone)


def assert_same(one: list[Found], other: list[Found]) -> None:
    for a, b in zip(one, other, strict=True):
        assert a.margin > 1e-5, "this test wants choices that no rounding can turn; take another seed"
        assert [h.ids for h in a.hypotheses] == [h.ids for h in b.hypotheses]
        assert [h.score for h in a.hypotheses] == pytest.approx([h.score for h in b.hypotheses], abs=1e-4)


def test_nothing_forbidden_is_written_and_no_limit_is_passed():
    model = lively(vocabulary=11, seed=11)
    source, readable = sources(11, [4, 6])
    forbidden = torch.tensor([PAD, UNKNOWN, BOS, 7, 9])
    for limit, found in zip(
        [3, 6], search(model, source, readable, DecodeConfig(beam=4), [3, 6], forbidden), strict=True
    ):
        assert found.hypotheses
        for hypothesis in found.hypotheses:
            assert not {7, 9, PAD, UNKNOWN, BOS, EOS} & set(hypothesis.ids)
            assert len(hypothesis.ids) <= limit


def test_the_margin_is_the_smallest_difference_a_choice_hung_on():
    """Two tokens made exactly alike leave no margin between them, and the search says so."""
    model = lively(vocabulary=13, seed=13)
    source, readable = sources(13, [5])
    config, forbidden = DecodeConfig(beam=1), torch.tensor([PAD, UNKNOWN, BOS, EOS])
    before = search(model, source, readable, config, [6], forbidden)[0]
    first = before.hypotheses[0].ids[0]
    twin = next(id for id in range(4, 13) if id not in before.hypotheses[0].ids and id not in source)
    with torch.no_grad():
        model.output.table.weight[twin] = model.output.table.weight[first]
    assert before.margin > 1e-4
    assert search(model, source, readable, config, [6], forbidden)[0].margin == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("prefix", [(4,), (6, 5), (5, EOS), (4, 4, 6)])
def test_a_prefix_leaves_what_begins_with_it_of_searching_everything(prefix, cached):
    """Its log-probabilities count; at the end of the prefix nothing more may be said."""
    model = lively(vocabulary=7, seed=2)
    source, readable = sources(7, [5])
    config = DecodeConfig(beam=3**3 + 3**2 + 3 + 1)
    with torch.inference_mode():
        best = [
            (score, ids, ended)
            for score, ids, ended in everything(model, source, readable, 3, config)
            if (*ids, *([EOS] * ended))[: len(prefix)] == prefix
        ]
        [found] = search(model, source, readable, config, [3], FORBIDDEN, cached, prefix)
    assert [(each.ids, each.finished) for each in found.hypotheses] == [(ids, ended) for _, ids, ended in best]
    assert [each.score for each in found.hypotheses] == pytest.approx([score for score, _, _ in best], abs=1e-4)


@pytest.mark.parametrize(("beam", "prefix"), [(1, ()), (3, ()), (4, (9, 12)), (2, (7, EOS))])
def test_the_tree_holds_every_hypothesis_and_how_it_came_about(beam, prefix):
    model = lively(vocabulary=17, seed=4)
    source, readable = sources(17, [6])
    config = DecodeConfig(beam=beam)
    tree = Tree(config)
    [found] = search(model, source, readable, config, [7], FORBIDDEN, prefix=prefix, watch=tree.note)
    [unwatched] = search(model, source, readable, config, [7], FORBIDDEN, prefix=prefix)
    assert found == unwatched, "watching changes nothing"

    ends = [index for index, node in enumerate(tree.nodes) if node.fate == "finished"]
    told = sorted((-tree.nodes[end].score, [tree.nodes[each].token for each in tree.path(end)]) for end in ends)
    assert told == [(-each.score, [*each.ids, *([EOS] * each.finished)]) for each in found.hypotheses]
    assert tree.way_to(found.hypotheses[-1]) in [tree.path(end) for end in ends]
    for index, node in enumerate(tree.nodes):
        assert node.parent < index
        parent = tree.nodes[node.parent] if node.parent >= 0 else None
        assert node.step == (parent.step + 1 if parent else 0)
        assert parent is None or (parent.fate == "kept" and parent.log_probability >= node.log_probability)
        assert node.score == pytest.approx(node.log_probability / penalty(node.step + 1, config))
    for step in range(7):
        fates = [node.fate for node in tree.nodes if node.step == step]
        assert len(fates) <= 2 * beam
        assert fates.count("kept") <= beam
