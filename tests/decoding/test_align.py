"""Word alignments, against languages whose every link is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

import counting as numbers
import mirror
import regard
from regard import lessons
from regard.data.batch import Example
from regard.data.direction import Directed
from regard.decoding import reading
from regard.decoding.align import align, hangs, links_in, pharaoh
from regard.decoding.heads import ALIGNMENT, Choice, choice_of, choose, information, see
from regard.decoding.reading import Head, read
from regard.errors import DataError, RunError
from regard.insight.trace import record
from regard.model import build
from regard.run import Run
from regard.tokens.text import BOS
from regard.training.train import train_pairs_into

RAW = tuple(Head(layer=1, head=head, reads=False) for head in (0, 1))  # all of the last layer, where words are written
TAUGHT = Head(layer=0, head=0, reads=True)


@pytest.fixture(scope="module")
def run(counting) -> Run:
    return regard.load(counting)


@pytest.fixture(scope="module")
def mirrored(tmp_path_factory) -> Run:
    """Trained for a second only, with one head that was taught the links: the others know little yet."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("runs") / "mirror"
    known = mirror.pairs(400, seed=1)
    settings = mirror.settings(steps=60, guided_alignment=1.0)
    links = {pair: mirror.gold(pair) for pair in known}
    return train_pairs_into(folder, settings, known, mirror.pairs(40, seed=2), alignments=links, on="cpu")


def untrained(run: Run) -> Run:
    """Its weights are almost equal everywhere, which is where batches would differ."""
    torch.manual_seed(3)
    model = build(run.settings.model).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.1)
    return Run(run.settings, model, run.tokenizers)


def test_numbers_are_linked_to_numbers_both_ways(run):
    known = numbers.pairs(60, seed=5)
    straight = [[(word, word) for word in range(len(pair.source.split()))] for pair in known]
    sources, targets = zip(*known, strict=True)
    assert mirror.error_rate(align(run, sources, targets, to="fr"), straight) < 0.1
    assert mirror.error_rate(align(run, targets, sources, to="en"), straight) < 0.1


def test_links_are_written_as_pharaoh_does():
    assert pharaoh([(0, 0), (12, 1)]) == "0-0 12-1"
    assert pharaoh([]) == ""


def test_what_was_chosen_without_gold_is_what_gold_would_choose(mirrored):
    """Of all heads and steps the information of links picks the one that errs least, far better than the last layer."""
    known = mirror.pairs(50, seed=7)
    wanted = [mirror.gold(pair) for pair in known]

    def errors(*heads: Head) -> float:
        lessons.save(Choice(heads=heads), folder / ALIGNMENT)
        return mirror.error_rate(align(mirrored, [p.source for p in known], [p.target for p in known]), wanted)

    folder = mirrored.folder
    assert folder is not None
    choice = choice_of(mirrored)
    every = [Head(layer=layer, head=head, reads=reads) for layer, head, reads in product((0, 1), (0, 1), (True, False))]
    by_gold = {head: errors(head) for head in every}
    raw = errors(*RAW)
    lessons.save(choice, folder / ALIGNMENT)
    assert min(by_gold, key=lambda head: by_gold[head]) == TAUGHT
    assert choice.heads == (TAUGHT,)
    assert choice.pairs == 40
    assert choice == choose(mirrored, [Directed(*pair) for pair in mirror.pairs(40, seed=2)])
    assert by_gold[TAUGHT] < 0.05 < 0.3 < raw


def test_information_ranks_heads_as_their_errors_do(mirrored):
    known = mirror.pairs(200, seed=8)
    examples = [Example(mirrored.encode_source(p.source), mirrored.encode_target(p.target)) for p in known]
    heads = [Head(layer=layer, head=head, reads=reads) for layer, head, reads in product((0, 1), (0, 1), (True, False))]
    seen = list(see(mirrored, examples, heads))
    told = [information(seen, [index], len(mirrored.target_tokenizer)) for index in range(len(heads))]
    errors = []
    for head in heads:
        links = [links_in(each) for each in read(mirrored, examples, [head])]
        errors.append(mirror.error_rate(links, [mirror.gold(pair) for pair in known]))
    assert np.corrcoef(told, errors)[0, 1] < -0.8


@pytest.mark.parametrize("trained", [True, False])
def test_links_do_not_depend_on_the_batch(run, trained, monkeypatch):
    run = run if trained else untrained(run)
    known = numbers.pairs(23, seed=6)
    sources, targets = [pair.source for pair in known], [pair.target for pair in known]
    alone = [align(run, [source], [target], to="fr")[0] for source, target in zip(sources, targets, strict=True)]
    for budget in (30, 200, 1024):
        monkeypatch.setattr(reading, "BUDGET", budget)
        assert align(run, sources, targets, to="fr") == alone


def test_what_hangs_by_a_hair_is_read_again_alone(run, monkeypatch):
    sizes = []
    real = reading.read_batch

    def watched(run, examples, heads):
        sizes.append(len(examples))
        found = real(run, examples, heads)
        if len(examples) > 1:
            found[0].looks[:] = 0.5  # as if its words looked everywhere alike
        return found

    monkeypatch.setattr(reading, "read_batch", watched)
    links = align(run, ["one two", "three four"], ["un deux", "trois quatre"], to="fr")
    assert links == [[(0, 0), (1, 1)]] * 2
    assert sizes == [2, 1]


def test_the_weights_are_those_that_a_trace_shows_and_no_hook_stays(run):
    example = Example(run.encode_source("six two five", "fr"), run.encode_target("six deux cinq"))
    heads = [Head(layer=0, head=0, reads=False), Head(layer=0, head=1, reads=True)]
    (found,) = read(run, [example], heads)
    with torch.no_grad(), record(run.model) as trace:
        ids, target = torch.tensor([example.source]), torch.tensor([[BOS, *example.target[:-1]]])
        logits = run.model(ids, target, torch.ones_like(ids, dtype=torch.bool))
    cross = trace.cross[0]  # (H, T + 1, S)
    by_token = (cross[0, :-1] + cross[1, 1:]) / 2
    assert found.looks.sum() == pytest.approx(3.0, abs=1e-5), "each of the three words looks once in all"
    pieces = run.target_tokenizer.pieces(example.target[:-1])
    starts = [place for place, piece in enumerate(pieces) if piece.startswith("▁")]
    by_hand = np.stack([part.mean(0) for part in np.split(by_token, starts[1:])])  # (words, S)
    np.testing.assert_allclose(found.looks[:, -1], by_hand[:, [0, -1]].sum(1), atol=1e-6)  # tag and </s>
    logits[..., run.target_tokenizer.unwritten] = -torch.inf
    expected = logits[0].log_softmax(-1).gather(1, torch.tensor(example.target)[:, None])[:, 0]
    np.testing.assert_allclose(found.log_probabilities, expected, atol=1e-5)
    assert not any(module._forward_hooks for module in run.model.modules())


def test_nothing_is_aligned_with_nothing(run):
    assert align(run, ["", "one"], ["", ""], to="fr") == [[], []]
    assert align(run, [], [], to="fr") == []
    message = "^2 sources cannot be aligned with 1 targets: give as many of each$"
    with pytest.raises(DataError, match=message):
        align(run, ["one", "two"], ["un"], to="fr")


def test_a_run_without_a_choice_asks_the_upper_half_of_its_decoder(mirrored):
    assert choice_of(replace(mirrored, folder=None)) == Choice(heads=RAW)


def test_a_choice_that_cannot_be_is_refused(mirrored, tmp_path: Path):
    there = replace(mirrored, folder=tmp_path)
    lessons.save(Choice(heads=(Head(layer=1, head=2, reads=True),)), tmp_path / ALIGNMENT)
    with pytest.raises(RunError, match=r": alignment\.json names heads that this model does not have: delete it to do"):
        choice_of(there)
    for damaged in ("[" * 100_000, "[]", "", '{"heads": [{"layer": 0, "haed": 1, "reads": true}]}'):
        (tmp_path / ALIGNMENT).write_text(damaged)
        with pytest.raises(RunError, match=r"alignment\.json is damaged: copy it again, or delete it to do without$"):
            choice_of(there)
    with pytest.raises(DataError, match=r"^1 pairs are too few to choose heads by: give two or more$"):
        choose(mirrored, [Directed("red", "rouge")])


def test_a_look_at_one_word_alone_hangs_on_nothing():
    example = Example([3], [3])
    assert not hangs(reading.Reading(example, np.zeros(1), np.ones((0, 1))))
    assert not hangs(reading.Reading(example, np.zeros(1), np.ones((2, 1))))
    assert hangs(reading.Reading(example, np.zeros(1), np.array([[0.5, 0.5], [0.9, 0.1]])))
