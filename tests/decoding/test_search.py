"""Beam search against searching everything, against Hugging Face's generate, and against itself in other batches."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from brute import FORBIDDEN, Scored, asking, beam, everything
from lively import lively, sources
from regard.config import DecodeConfig
from regard.decoding.search import Found, Watch, penalty, search
from regard.decoding.tree import Tree
from regard.errors import ConfigError
from regard.tokens.text import BOS, EOS, PAD, UNKNOWN

models = st.builds(
    lively,
    vocabulary=st.integers(6, 8),  # two to four words and the control ids
    seed=st.integers(0, 10_000),
    norm=st.sampled_from(["post", "pre"]),
    tied=st.sampled_from(["all", "target", "none"]),
)
alphas = st.sampled_from([-0.7, 0.0, 0.6, 1.0, 1.7])
penalties = st.sampled_from(["length", "paper"])


def assert_found(found: Found, expected: list[Scored]) -> None:
    """The same hypotheses with the same scores, in the same order wherever no rounding can turn it."""
    assert len(found.hypotheses) == len(expected)
    assert [each.score for each in found.hypotheses] == pytest.approx([score for score, _, _ in expected], abs=1e-4)
    written = [(each.ids, each.finished) for each in found.hypotheses]
    if found.margin > 1e-4:
        assert written == [(ids, ended) for _, ids, ended in expected]


@settings(max_examples=20)
@given(model=models, limits=st.tuples(st.integers(1, 3), st.integers(1, 3)), alpha=alphas, how=penalties)
def test_a_beam_as_wide_as_the_space_finds_what_searching_everything_finds(model, limits, alpha, how):
    """So the first is the best there is under the length penalty, and the search leaves nothing out."""
    words = range(4, model.config.target_vocabulary)
    source, readable = sources(model.config.source_vocabulary, [5, 3])
    config = DecodeConfig(beam=sum(len(words) ** n for n in range(4)), length_penalty=alpha, penalty=how)
    with torch.inference_mode():
        for row, found in enumerate(search(model, source, readable, config, [*limits], FORBIDDEN)):
            following = cache(asking(model, source[row : row + 1], readable[row : row + 1], config))
            assert_found(found, everything(following, words, limits[row], config))


@settings(max_examples=25)
@given(model=models, width=st.integers(1, 5), limits=st.tuples(st.integers(1, 7), st.integers(1, 7)), alpha=alphas)
def test_a_beam_of_any_width_follows_the_rule_told_in_plain_lists(model, width, limits, alpha):
    source, readable = sources(model.config.source_vocabulary, [4, 6])
    config = DecodeConfig(beam=width, length_penalty=alpha)
    with torch.inference_mode():
        for row, found in enumerate(search(model, source, readable, config, [*limits], FORBIDDEN)):
            following = cache(asking(model, source[row : row + 1], readable[row : row + 1], config))
            assert_found(found, beam(following, limits[row], config))


@pytest.mark.parametrize("width", [1, 3, 4])
def test_a_sentence_is_done_when_as_many_hypotheses_are_finished_as_the_beam_is_wide(width):
    """Whatever may come after: the step at which that many are finished is the last one looked at."""
    model = lively(vocabulary=17, seed=7)
    source, readable = sources(17, [6, 3, 8, 5])
    steps: dict[int, list[int]] = {row: [] for row in range(4)}  # how many each step finished
    watch: Watch = lambda step: steps[step.sentence].append(sum(step.finished))  # noqa: E731
    found = search(model, source, readable, DecodeConfig(beam=width), [9, 30, 30, 30], FORBIDDEN, watch=watch)
    early = [row for row in range(4) if all(each.finished for each in found[row].hypotheses)]
    assert early, "this test wants sentences that end before their limit; take another seed"
    for row in early:
        assert sum(steps[row][:-1]) < width <= sum(steps[row])
        assert sum(steps[row]) == len(found[row].hypotheses)


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
            for score, ids, ended in everything(asking(model, source, readable, config), range(4, 7), 3, config)
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


def test_only_one_beam_can_be_watched():
    model = lively(vocabulary=9, seed=1)
    for config in (DecodeConfig(beam=4, groups=2), DecodeConfig(samples=2)):
        with pytest.raises(ConfigError, match=r"^only one beam can be watched: set groups=1 and samples=0$"):
            search(model, *sources(9, [3]), config, [4], watch=Tree(config).note)
