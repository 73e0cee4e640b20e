"""Trust: what tokens cost, what a score is worth, and what looks wrong with a translation."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import counting as numbers
import regard
from regard import lessons
from regard.data.corpus import Pair
from regard.data.phrasebook import phrases
from regard.decoding import confidence, reading, trust
from regard.decoding.confidence import CONFIDENCE, Calibration, calibration_of, rising
from regard.decoding.torch_engine import decode_batch
from regard.decoding.translate import decode_settings
from regard.decoding.trust import Signals, Written, copied_share, loops, numbers_in, repeats, signals, withheld
from regard.errors import RunError
from regard.run import Run
from regard.tokens.text import TextTokenizer
from regard.training.train import train_pairs_into
from traded import random_run


@pytest.fixture(scope="module")
def run(counting) -> Run:
    return regard.load(counting)


@pytest.fixture(scope="module")
def looping(tmp_path_factory) -> Run:
    """Trained to say the first number again and again."""
    torch.set_num_threads(1)

    def stuck(pair: Pair) -> Pair:
        return Pair(pair.source, " ".join(pair.target.split()[:1] * 5))

    settings = numbers.settings(steps=120, validate_every=120)
    settings = settings.model_copy(update={"data": settings.data.model_copy(update={"both_ways": False})})
    folder = tmp_path_factory.mktemp("runs") / "looping"
    pairs, valid = ([stuck(pair) for pair in numbers.pairs(count, seed=count)] for count in (300, 30))
    return train_pairs_into(folder, settings, pairs, valid, on="cpu")


@pytest.fixture(scope="module")
def phrasebook(tmp_path_factory) -> Run:
    """A run that knows the pieces of the phrasebook, and nothing of its meaning."""
    texts = [text for phrase in phrases("train", 2000) for text in (phrase.english, phrase.french)]
    tokenizer = TextTokenizer.learn(texts, size=700)
    return random_run((tokenizer, tokenizer), tmp_path_factory.mktemp("runs") / "phrasebook")


def written(run: Run, source: str, target: str, **more) -> Written:
    return Written(source, run.target_tokenizer.encode(target), **more)


def judged(run: Run, source: str, target: str, **more) -> Signals:
    return signals(run, [written(run, source, target, **more)])[0]


# ---------------------------------------------------------------------------------------------------- what it costs


def test_tokens_cost_what_the_search_said(run):
    lines = [pair.source for pair in numbers.pairs(9, seed=3)]
    config = decode_settings(run, 1, {"beam": 3, "max_length": 4})
    sources = [run.encode_source(line, "fr") for line in lines]
    found = [each.hypotheses[0] for each in decode_batch(run, sources, config)]
    judged = signals(
        run, [Written(line, best.ids, "fr", best.finished) for line, best in zip(lines, found, strict=True)]
    )
    assert {best.finished for best in found} == {True, False}, "some should be cut off at their limit"
    for best, each in zip(found, judged, strict=True):
        assert each.log_probability == pytest.approx(best.log_probability, abs=1e-4)
        assert len(each.log_probabilities) == len(best.ids) + best.finished
        assert ("overlong" in each.flags) == (not best.finished)


def test_a_run_without_calibration_says_so_and_gives_the_geometric_mean(run):
    alone = replace(run, folder=None)
    found = judged(alone, "one two", "un deux", to="fr")
    assert not found.calibrated
    assert found.confidence == pytest.approx(np.exp(np.mean(found.log_probabilities)))
    assert judged(run, "one two", "un deux", to="fr").calibrated


def test_what_is_right_is_trusted_more_than_what_is_wrong(run):
    right, wrong = judged(run, "one two", "un deux", to="fr"), judged(run, "one two", "un sept", to="fr")
    assert right.confidence > 0.9 > wrong.confidence
    assert right.links == [(0, 0), (1, 1)]
    assert not withheld(right, 0.9)
    assert withheld(wrong, 0.9)
    assert not withheld(wrong, wrong.confidence), "what is asked for is enough"


def test_signals_do_not_depend_on_the_batch(run, monkeypatch):
    known = [written(run, *pair, to="fr") for pair in numbers.pairs(23, seed=6)]
    alone = [signals(run, [each])[0] for each in known]
    for budget in (30, 200):
        monkeypatch.setattr(reading, "BUDGET", budget)
        for one, other in zip(signals(run, known), alone, strict=True):
            assert (one.flags, one.links) == (other.flags, other.links)
            assert one.confidence == pytest.approx(other.confidence, abs=1e-4)
            assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-4)


def test_a_confidence_close_to_the_least_is_found_alone(run, monkeypatch):
    known = [written(run, *pair, to="fr") for pair in numbers.pairs(5, seed=6)]
    close = signals(run, known)[2].confidence
    sizes = []
    real = reading.read_batch
    monkeypatch.setattr(reading, "read_batch", lambda *given: sizes.append(len(given[1])) or real(*given))
    signals(run, known, least=close)
    assert sizes.count(1) >= 1
    assert signals(run, known, least=close)[2].confidence == pytest.approx(close, abs=1e-6)


def test_what_was_cut_off_is_close_by_what_it_cost_without_an_end(run, monkeypatch):
    alone = replace(run, folder=None)  # uncalibrated, where the confidence is the score
    known = [written(run, *pair, to="fr") for pair in numbers.pairs(5, seed=6)]
    known[2] = known[2]._replace(ids=known[2].ids[:-1], finished=False)
    close = trust.score(np.array(signals(alone, known)[2].log_probabilities))
    sizes, real = [], reading.read_batch
    monkeypatch.setattr(reading, "read_batch", lambda *given: sizes.append(len(given[1])) or real(*given))
    signals(alone, known)
    assert sizes.count(1) == 0
    signals(alone, known, least=close)
    assert sizes.count(1) == 1


# -------------------------------------------------------------------------------------------------- what it is worth


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=25, unique_by=lambda point: point[0]))
def test_points_rise_as_the_min_max_formula_of_isotonic_regression_has_it(points):
    """ŷ_i = max over j ≤ i of min over k ≥ i of mean(y_j … y_k)            Robertson, Wright and Dykstra 1988"""
    scores, quality = (np.array(column) for column in zip(*sorted(points), strict=True))
    size = len(quality)
    expected = [max(min(quality[j : k + 1].mean() for k in range(i, size)) for j in range(i + 1)) for i in range(size)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(confidence, "TOGETHER", 1)
        found = rising(*zip(*points, strict=True))
    assert sorted(set(np.round(expected, 6))) == pytest.approx(sorted(set(np.round(found[1], 6))), abs=2e-6)
    assert list(found[0]) == sorted(found[0])
    assert np.interp(scores.mean(), *found) <= max(quality) + 1e-9


def test_a_calibration_gives_back_what_scores_were_worth():
    draw = np.random.default_rng(4)
    scores = draw.uniform(0.2, 1.0, 5000)
    worth = 0.1 + 0.8 * scores**2
    reached = (worth + draw.normal(0, 0.15, len(worth))).clip(0, 1)
    points, quality = rising(scores.tolist(), reached.tolist())
    found = Calibration(scores=points, quality=quality)
    asked = np.linspace(0.25, 0.95, 40)
    told = [found.confidence(score) for score in asked]
    assert told == sorted(told)
    np.testing.assert_allclose(told, 0.1 + 0.8 * asked**2, atol=0.04)
    assert found.confidence(0.0) == 0.0
    assert found.confidence(1.0) == found.quality[-1]
    assert found.least == found.quality[0]


def test_a_damaged_calibration_is_refused(run, tmp_path):
    there = replace(run, folder=tmp_path)
    assert calibration_of(there) == Calibration()
    lessons.save(Calibration(scores=(0.1, 0.5), quality=(0.2, 0.7), sentences=9), tmp_path / CONFIDENCE)
    assert calibration_of(there).sentences == 9
    for damaged in (
        "",
        "[3]",
        '{"scores": [0.5, 0.1], "quality": [0.1, 0.2]}',
        '{"scores": [0.5], "quality": []}',
        '{"scores": [NaN], "quality": [1]}',
    ):
        (tmp_path / CONFIDENCE).write_text(damaged)
        with pytest.raises(RunError, match=r"confidence\.json is damaged: copy it again, or delete it to do without$"):
            calibration_of(there)


# ------------------------------------------------------------------------------------------------------------- flags


def test_a_model_that_loops_is_found_out_however_sure_it_is(looping):
    lines = [pair.source for pair in numbers.pairs(20, seed=9)]
    found = list(regard.translate(looping, lines))
    judged = signals(looping, [Written(each.source, each.candidates[0].ids) for each in found])
    assert all("loop" in each.flags for each in judged)
    calibration = calibration_of(looping)
    sure = [np.exp(np.mean(each.log_probabilities)) for each in judged]
    assert np.mean(sure) > 0.8
    assert all(each.confidence <= calibration.least for each in judged)


def test_honest_translations_are_not_accused(phrasebook):
    known = phrases("test", 300)
    judged = signals(phrasebook, [written(phrasebook, each.english, each.french) for each in known])
    assert [each.flags for each in judged] == [()] * len(known)


@pytest.mark.parametrize(
    ("source", "target", "flags"),
    [
        ("the salad", "la salade salade salade", ("loop",)),
        ("no no no", "non non non", ()),
        ("a very, very tired cat", "un chat très, très fatigué", ()),
        ("he ate the bread", "il a mangé le pain il a mangé le pain", ("loop",)),
        ("the cat", "le chahahahahat", ("loop",)),
        ("wait ........", "attends ........", ()),
        ("the cat", " …", ("empty",)),
        ("the cat", "", ("empty",)),
        ("???", "", ()),
        (" ", "", ()),
        ("the animal was too tired", "the animal was too tired", ("copied",)),
        ("Marie and Paul Smith", "Marie et Paul Smith", ()),
        ("12 cats", "douze chats", ("omission",)),
        ("1,250.50 francs", "1 250,50 francs", ()),
        ("7 cats", "sept chats", ()),
    ],
)
def test_what_looks_wrong_is_flagged(phrasebook, source, target, flags):
    assert judged(phrasebook, source, target).flags == flags


def test_lengths_are_held_to_what_validation_has_shown(phrasebook, tmp_path):
    there = replace(phrasebook, folder=tmp_path)
    source = "the cat and the animal and the street"
    lessons.save(Calibration(shortest=0.9, longest=1.1, sentences=30), tmp_path / CONFIDENCE)
    assert judged(there, source, "le chat et l'animal").flags == ("omission",)
    assert judged(there, source, "le chat et l'animal et la rue " + "de mon ami Paul ").flags == ("overlong",)
    assert judged(there, source, "le chat et l'animal et la rue", finished=False).flags == ("overlong",)


def test_a_word_that_nothing_looks_at_is_an_omission(run, tmp_path):
    there = replace(run, folder=tmp_path)
    (tmp_path / "alignment.json").write_text((run.folder / "alignment.json").read_text())
    lessons.save(Calibration(shortest=0.0, unseen=0.4, sentences=30), tmp_path / CONFIDENCE)
    whole = judged(there, "three seven four", "trois sept quatre", to="fr")
    short = judged(there, "three seven four", "trois sept", to="fr")
    assert (whole.flags, short.flags) == ((), ("omission",))


def test_repeats_are_counted_by_their_size():
    assert repeats(["a", "a", "a", "b"]) == {1: 3}
    assert repeats(["a", "b", "a", "b", "c"]) == {2: 2}
    assert repeats(["a", "b", "c"]) == {}
    assert loops([], ["x", "a", "b", "c", "d", "a", "b", "c", "d"])
    assert not loops([], ["x", "a", "b", "c", "a", "b", "c"])


@given(words=st.lists(st.sampled_from("abc"), max_size=12))
def test_repeats_are_those_found_by_looking_at_every_stretch(words):
    expected: dict[int, int] = {}
    for size in range(1, len(words) // 2 + 1):
        for start in range(len(words)):
            times = 1
            while words[start + times * size : start + (times + 1) * size] == words[start : start + size]:
                times += 1
            if times > 1:
                expected[size] = max(times, expected.get(size, 0))
    assert repeats(words) == expected


def test_names_and_numbers_are_not_called_copied():
    assert copied_share("Paul met Marie in Paris 2007", "Paul met Marie in Paris 2007") == 0.0
    assert copied_share("a man eats bread", "a man mange du pain") == pytest.approx(1 / 3)
    assert numbers_in("1,102 or 1.102 or 1102, and 5") == {"1102"}


def test_flags_hold_on_real_translations(multi30k):
    """References are honest: of 500, not one loops or is copied."""
    from regard.data.corpus import read_pairs

    pairs = random.Random(1).sample(read_pairs(multi30k / "val.en.gz", multi30k / "val.de.gz"), 500)
    assert not any(loops(trust.words_in(pair.source), trust.words_in(pair.target)) for pair in pairs)
    assert max(copied_share(*pair) for pair in pairs) <= Calibration().copied
