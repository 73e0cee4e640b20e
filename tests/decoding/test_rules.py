"""The rules against Hugging Face's logits processors, against their plain definitions, and where they leave nothing."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from brute import FORBIDDEN, asking, beam
from lively import lively, sources
from references import HUGGING_FACE, hugging_face_sizes, renamed
from regard.config import DecodeConfig, Settings, validate
from regard.decoding.rules import Rules, never, not_too_short, nothing_twice, repeats_cost
from regard.decoding.search import search
from regard.decoding.tree import Tree
from regard.errors import ConfigError
from regard.tokens.text import BOS, EOS, PAD, UNKNOWN


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    length=st.integers(1, 11),
    size=st.integers(1, 4),
    least=st.integers(1, 12),
    factor=st.sampled_from([0.5, 1.3, 4.0]),
)
def test_each_rule_is_the_logits_processor_of_hugging_face(seed, length, size, least, factor):
    from transformers import MinLengthLogitsProcessor, NoRepeatNGramLogitsProcessor, RepetitionPenaltyLogitsProcessor

    draw = torch.Generator().manual_seed(seed)
    written = torch.randint(2, 6, (5, length), generator=draw)  # few tokens, so that they repeat
    logits = torch.randn(5, 7, generator=draw)
    rules: list[tuple[Any, Any]] = [
        (lambda w, x: repeats_cost(w, x, factor), RepetitionPenaltyLogitsProcessor(factor)),
        (lambda w, x: nothing_twice(w, x, size), NoRepeatNGramLogitsProcessor(size)),
        (lambda w, x: not_too_short(w, x, least), MinLengthLogitsProcessor(least + 1, EOS)),  # they count <s>
    ]
    for ours, theirs in rules:
        changed = logits.clone()
        ours(written, changed)
        torch.testing.assert_close(changed, theirs(written, logits.clone()), rtol=0, atol=0)


def test_what_is_forbidden_is_left_to_the_others():
    logits = torch.randn(3, 9)
    changed = logits.clone()
    never(torch.full((3, 1), BOS), changed, FORBIDDEN)
    others = [id for id in range(9) if id not in FORBIDDEN]
    assert (changed[:, FORBIDDEN] == -torch.inf).all()
    torch.testing.assert_close(changed[:, others], logits[:, others], rtol=0, atol=0)


def test_rules_that_are_off_are_not_there():
    assert Rules(DecodeConfig(), torch.tensor([], dtype=torch.long)).rules == []
    logits = torch.randn(4, 9)
    written = torch.randint(3, 9, (4, 6))
    log_probabilities, stuck = Rules(DecodeConfig()).log_probabilities(written, logits.clone())
    torch.testing.assert_close(log_probabilities, logits.log_softmax(-1), rtol=0, atol=0)
    assert not stuck.any()


@pytest.mark.parametrize(
    ("beam", "steer"),
    [
        (1, {"min_length": 6, "no_repeat": 2, "repetition_penalty": 1.4}),
        (1, {"repetition_penalty": 0.8}),
        (4, {"min_length": 5, "no_repeat": 1}),
        (3, {"no_repeat": 3}),
    ],
)
@pytest.mark.parametrize("seed", [2, 3])
def test_a_search_under_rules_is_hugging_face_s(seed: int, beam: int, steer: dict[str, Any]):
    """A penalty for repeats is compared without a beam alone: with one they put it on probabilities, not on logits."""
    from transformers import GenerationConfig, MarianConfig, MarianMTModel

    model = lively(vocabulary=37, seed=seed)
    reference: Any = MarianMTModel(MarianConfig(**hugging_face_sizes(model.config))).eval()
    parameters = renamed(model.state_dict(), HUGGING_FACE)
    reference.load_state_dict(parameters | {"model.shared.weight": model.source_embedding.table.weight}, strict=False)
    source, readable = sources(37, [6, 3, 9, 1])
    theirs = reference.generate(
        input_ids=source,
        attention_mask=readable.long(),
        generation_config=GenerationConfig(
            num_beams=beam,
            num_return_sequences=beam,
            early_stopping=beam > 1,
            min_new_tokens=steer.get("min_length"),
            no_repeat_ngram_size=steer.get("no_repeat", 0),
            repetition_penalty=steer.get("repetition_penalty", 1.0),
            max_new_tokens=12,
            do_sample=False,
            pad_token_id=PAD,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
            bad_words_ids=[[PAD], [BOS], [UNKNOWN]],
            renormalize_logits=True,
        ),
    )
    found = search(model, source, readable, DecodeConfig(beam=beam, **steer), [12] * 4, FORBIDDEN)
    free = search(model, source, readable, DecodeConfig(beam=beam), [12] * 4, FORBIDDEN)
    assert [each.hypotheses[0].ids for each in found] != [each.hypotheses[0].ids for each in free], "rules do nothing"
    for row, expected in enumerate(theirs.view(4, beam, -1).tolist()):
        for hypothesis, ids in zip(found[row].hypotheses, expected, strict=False):
            written = [*hypothesis.ids, EOS] if hypothesis.finished else [*hypothesis.ids]
            assert written == ids[1 : 1 + len(written)]
            assert set(ids[1 + len(written) :]) <= {PAD, EOS}


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    width=st.integers(1, 4),
    steer=st.fixed_dictionaries(
        {
            "min_length": st.integers(0, 4),
            "no_repeat": st.integers(0, 3),
            "repetition_penalty": st.sampled_from([1.0, 0.7, 2.5]),
        }
    ),
)
def test_a_beam_under_rules_follows_their_plain_definitions(seed, width, steer):
    """Dead ends among them: of three words, no more than three can be written if none may come twice."""
    model = lively(vocabulary=7, seed=seed)
    source, readable = sources(7, [5])
    config = DecodeConfig(beam=width, **steer)
    with torch.inference_mode():
        [found] = search(model, source, readable, config, [6], FORBIDDEN)
        expected = beam(cache(asking(model, source, readable, config)), 6, config)
    assert [each.score for each in found.hypotheses] == pytest.approx([score for score, _, _ in expected], abs=1e-4)
    if found.margin > 1e-4:
        told = [(each.ids, each.finished) for each in found.hypotheses]
        assert told == [(ids, finished) for _, ids, finished in expected]


@pytest.mark.parametrize("how", [{"beam": 1}, {"beam": 3}, {"beam": 4, "groups": 2}, {"samples": 3}])
@pytest.mark.parametrize("cached", [True, False])
def test_a_sentence_that_is_stuck_keeps_what_it_has(how, cached):
    model = lively(vocabulary=7, seed=3)
    source, readable = sources(7, [5, 2])
    config = DecodeConfig(**how, min_length=5, no_repeat=1)
    for found in search(model, source, readable, config, [8, 6], FORBIDDEN, cached):
        assert found.hypotheses
        for each in found.hypotheses:
            assert sorted(each.ids) == [4, 5, 6], "all words there are, each once, and no end allowed"
            assert not each.finished
            assert each.log_probability < 0


def test_a_sentence_that_may_write_nothing_at_all_is_there_and_empty():
    model = lively(vocabulary=7, seed=3)
    config = DecodeConfig(beam=2, min_length=1, coverage=0.3)
    tree = Tree(config)
    [found] = search(model, *sources(7, [4]), config, [5], torch.tensor([0, 1, 2, 4, 5, 6]), watch=tree.note)
    [only] = found.hypotheses
    assert (only.ids, only.finished, only.log_probability) == ((), False, 0.0)
    assert [tree.nodes[index].token for index in tree.way_to(only)] == [EOS]


def test_a_prefix_is_written_whatever_the_rules_say():
    model = lively(vocabulary=11, seed=5)
    config = DecodeConfig(beam=3, no_repeat=1, min_length=4, repetition_penalty=1.5)
    [found] = search(model, *sources(11, [4]), config, [8], FORBIDDEN, prefix=(7, 7, BOS))
    for each in found.hypotheses:
        assert each.ids[:3] == (7, 7, BOS)
        assert len(each.ids) >= 4
        assert len({7, *each.ids[3:]}) == len(each.ids) - 2, "after it the rules hold"
    [ended] = search(model, *sources(11, [4]), config, [8], FORBIDDEN, prefix=(EOS,))
    assert [(each.ids, each.finished) for each in ended.hypotheses] == [((), True)]


def test_each_sentence_may_begin_in_its_own_way_and_what_is_never_written_costs_nothing():
    model, config = lively(vocabulary=11, seed=5), DecodeConfig(beam=3)
    source, readable = sources(11, [4, 2, 5])
    prefixes = [(BOS, 7), (UNKNOWN, 9), (PAD, 5)]
    together = search(model, source, readable, config, [6, 8, 7], FORBIDDEN, prefix=prefixes)
    for row, (found, limit) in enumerate(zip(together, [6, 8, 7], strict=True)):
        alone = (source[row : row + 1], readable[row : row + 1])
        [expected] = search(model, *alone, config, [limit], FORBIDDEN, prefix=prefixes[row])
        assert [each.ids for each in found.hypotheses] == [each.ids for each in expected.hypotheses]
        for each in found.hypotheses:
            assert each.ids[:2] == prefixes[row]
            target = torch.tensor([[*each.ids, EOS]] if each.finished else [each.ids])
            logits = model(alone[0], torch.cat([torch.tensor([[BOS]]), target[:, :-1]], 1), alone[1])
            logits[..., FORBIDDEN] = -torch.inf
            chosen = logits.log_softmax(-1).gather(2, target.unsqueeze(2))[0, 1:]
            assert each.log_probability == pytest.approx(chosen.sum().item(), abs=1e-4)


def test_a_network_that_gives_no_numbers_is_not_taken_for_stuck():
    log_probabilities, stuck = Rules(DecodeConfig()).log_probabilities(
        torch.full((2, 1), BOS), torch.stack([torch.full((9,), torch.nan), torch.full((9,), -torch.inf)])
    )
    assert stuck.tolist() == [False, True]
    assert log_probabilities[0].isnan().all()
    assert log_probabilities[1].exp().tolist() == [0.0] * EOS + [1.0] + [0.0] * 5


def test_runs_from_before_these_settings_search_as_they_did():
    old = {"beam": 4, "length_penalty": 0.8, "penalty": "length", "max_length": 14, "max_ratio": 3.0}
    config = validate(Settings, {"decode": old}, "config.json").decode
    assert Rules(config).rules == []
    assert (config.groups, config.samples, config.coverage, config.hypotheses) == (1, 0, 0.0, 4)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"beam": 5, "groups": 2}, "decode.beam=5 does not split into decode.groups=2: make it a multiple"),
        (
            {"beam": 4, "groups": 2, "samples": 3},
            "decode.samples=3 are drawn without a beam, and decode.groups=2 part one: choose one of the two",
        ),
        ({"min_length": 9, "max_length": 8}, "decode.min_length=9 is more than decode.max_length=8 allows: lower it"),
    ],
)
def test_settings_that_cannot_go_together_are_refused(given, complaint):
    with pytest.raises(ConfigError) as refused:
        validate(DecodeConfig, given, "decoding")
    assert str(refused.value) == f"decoding: {complaint}"
