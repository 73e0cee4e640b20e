"""A step of learning: the same by one worker or several, and repeatable whichever thread is faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config import TrainConfig, TranslatorConfig
from regard.data.batch import Example, PairBatch, collate, even
from regard.model.dropout import Dropout, drawing_from
from regard.model.translator import Translator
from regard.precision import choose
from regard.training.crew import Crew
from regard.training.learner import Learner
from regard.training.objective import Translating
from regard.workers import threads as torch_threads

CPU = torch.device("cpu")
WIDTH, VOCABULARY = 24, 50
PAPER = TrainConfig()


def a_batch(rows: int = 7, seed: int = 3) -> PairBatch:
    draw = torch.Generator().manual_seed(seed)

    def ids(length: int) -> list[int]:
        return torch.randint(4, VOCABULARY, (length,), generator=draw).tolist()

    return collate([Example(ids(5 + row), ids(9 - row)) for row in range(rows)])


def learner(threads: int, dropouts: Mapping[str, float] | None = None, settings: TrainConfig = PAPER) -> Learner:
    torch.manual_seed(5)
    sizes = {"width": WIDTH, "hidden": 40, "heads": 3, "layers": 2}
    vocabularies = {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY}
    config = TranslatorConfig.model_validate({**sizes, **vocabularies, "dropout": 0.0, **(dropouts or {})})
    with torch_threads(threads):
        return Learner(Translator(config), settings, choose("float32", CPU, WIDTH), Translating(settings))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr("regard.training.crew.LEAST", 5)


def moved(threads: int, steps: int = 3, **dropouts: float) -> dict[str, torch.Tensor]:
    made = learner(threads, dropouts)
    torch.manual_seed(11)
    for seed in range(steps):
        made.step([a_batch(seed=seed), a_batch(4, seed=seed + 9)], rate=1e-2)
    return made.model.state_dict()


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_several_workers_take_the_step_that_one_takes(threads):
    alone, together = learner(1), learner(threads)
    batches = [a_batch(), a_batch(4, seed=8)]
    one, several = alone.step(batches, rate=0.0), together.step(batches, rate=0.0)
    assert several.tokens == one.tokens
    assert several.surprise == pytest.approx(one.surprise, rel=1e-5)
    assert several.gradient == pytest.approx(one.gradient, rel=1e-4)


@pytest.mark.parametrize("threads", [2, 3])
def test_workers_turn_matrices_as_one_thread_does(threads):
    """Muon, which gives each of them some."""
    settings = TrainConfig(optimizer="muon", weight_decay=0.1)
    alone, together = learner(1, settings=settings), learner(threads, settings=settings)
    gradients = {name: torch.randn_like(p) for name, p in alone.model.named_parameters()}
    for made in (alone, together):
        for name, p in made.model.named_parameters():
            p.grad = gradients[name].clone()
        with torch_threads(1):
            for _ in range(2):
                made.optimizers[0].step()
    moved = dict(together.model.named_parameters())
    for name, p in alone.model.named_parameters():
        torch.testing.assert_close(moved[name], p, rtol=1e-5, atol=1e-6)


def test_a_step_leaves_torch_its_threads():
    with torch_threads(3):
        learner(3).step([a_batch()], rate=0.0)
        assert torch.get_num_threads() == 3


@pytest.mark.parametrize("dropouts", [{"dropout": 0.3}, {"attention_dropout": 0.3}, {"activation_dropout": 0.3}])
def test_dropout_in_several_threads_is_the_same_each_time(dropouts):
    first, second = moved(3, **dropouts), moved(3, **dropouts)
    assert all(torch.equal(first[name], second[name]) for name in first)
    without = moved(3)
    assert any(not torch.equal(first[name], without[name]) for name in first)


def test_a_batch_is_cut_into_rows_and_nothing_is_lost():
    batch = a_batch()
    parts = batch.cut(3)
    assert len(parts) == 3
    for taken, name in (("readable", "source"), ("wanted", "target"), ("wanted", "labels")):
        kept = [getattr(part, name)[getattr(part, taken)] for part in parts]
        assert torch.equal(torch.cat(kept), getattr(batch, name)[getattr(batch, taken)])
    assert len(batch.cut(50)) == len(batch.source)


@settings(deadline=None, max_examples=60)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=9), parts=st.integers(1, 5)
)
def test_two_parts_have_as_like_an_area_as_there_is_and_no_part_is_empty(lengths, parts):
    """By trying every place; the first of several parts is cut off like this, then the next of what is left."""
    parts = min(parts, len(lengths))

    def area(rows: Sequence[tuple[int, int]]) -> int:
        return len(rows) * sum(map(max, zip(*rows, strict=True)))

    places, start = even(torch.tensor(lengths), parts), 0
    assert len(places) == parts - 1
    for others, place in zip(range(parts - 1, 0, -1), places, strict=True):
        tried = {
            end: abs(others * area(lengths[start:end]) - area(lengths[end:]))
            for end in range(start + 1, len(lengths) - others + 1)
        }
        assert tried[place] == min(tried.values())
        start = place
    assert start < len(lengths)


def test_a_part_has_no_padding_that_only_others_need():
    """Sources grow by a token from row to row and targets shrink, so that every row alone is full."""
    links = [[(0, 1), (3, 2)], [(5, 0)], [(2, 2)]]
    batch = collate([Example([7] * (5 + row), [8] * (9 - row), links[row]) for row in range(3)])
    for row, part in enumerate(batch.cut(3)):
        assert part.readable.shape == (1, 5 + row)
        assert part.wanted.shape == (1, 9 - row)
        assert part.readable.all()
        assert part.wanted.all()
        assert torch.equal(part.gold, batch.gold[row : row + 1, : 9 - row, : 5 + row])
        assert part.gold.sum() == batch.gold[row].sum(), "and no link is lost"


def test_no_worker_gets_less_than_is_worth_it():
    batch = a_batch()
    crew = Crew(CPU)
    crew.threads = 100
    assert len(crew.cut(batch)) == min(batch.tokens // 5, len(batch.source))
    crew.threads = 2
    assert len(crew.cut(batch)) == 2
    assert len(Crew(torch.device("meta")).cut(batch)) == 1


def test_each_thread_draws_from_its_own_generator():
    drop, x = Dropout(0.5).train(), torch.ones(999)
    with drawing_from(torch.Generator().manual_seed(7)):
        one = drop(x)
    torch.rand(3)  # torch's own generator moves, which is nothing to the other
    with drawing_from(torch.Generator().manual_seed(7)):
        assert torch.equal(drop(x), one)
    torch.manual_seed(7)
    state = torch.get_rng_state()
    drop(x)
    assert not torch.equal(torch.get_rng_state(), state), "outside, torch's own generator is drawn from again"


def test_a_worker_that_fails_is_heard():
    made = learner(2)
    broken = a_batch()
    broken.source[-1, -1] = VOCABULARY + 1  # a token that there is no row for
    with pytest.raises(IndexError):
        made.step([broken], rate=0.1)
