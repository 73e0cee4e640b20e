"""Settings for whoever names no recipe."""

from __future__ import annotations

import pytest

from regard.config import Settings, TrainConfig, TranslatorConfig, validate
from regard.data.corpus import Pair
from regard.training import suited
from regard.training.suited import NETWORKS, operations_a_second, suit

PAIR = Pair("A small dog runs.", "Ein kleiner Hund rennt.")


def sizes(settings: Settings) -> tuple[int, int, int]:
    return settings.model.width, settings.model.layers, settings.tokenizer.size


def test_a_larger_corpus_gets_a_larger_network_and_vocabulary():
    chosen = [suit(Settings(), [PAIR] * count) for count in (3_000, 30_000, 300_000, 1_200_000)]
    assert [sizes(each) for each in chosen] == [(128, 3, 4000), (128, 3, 8000), (256, 4, 8000), (512, 6, 16_000)]


def test_less_time_gets_fewer_steps_and_in_the_end_a_smaller_network(monkeypatch):
    monkeypatch.setattr(suited, "operations_a_second", lambda: 150e9)
    hour, day = 3600, 24 * 3600
    chosen = [suit(Settings(), [PAIR] * 300_000, seconds) for seconds in (hour, day, 2 * day)]
    assert [sizes(each)[0] for each in chosen] == [128, 256, 256]
    assert chosen[1].train.steps * 1.9 < chosen[2].train.steps


def test_a_faster_machine_does_more_in_the_same_time(monkeypatch):
    def steps(speed: float) -> int:
        monkeypatch.setattr(suited, "operations_a_second", lambda: speed)
        return suit(Settings(), [PAIR] * 20_000, 3600).train.steps

    assert steps(400e9) == pytest.approx(4 * steps(100e9), rel=0.01)


def test_what_is_seen_often_is_dropped_out_more(monkeypatch):
    monkeypatch.setattr(suited, "operations_a_second", lambda: 150e9)
    shares = [suit(Settings(), [PAIR] * 5000, seconds).model.dropout for seconds in (20, 240, 6000)]
    assert shares == sorted(set(shares))


def test_what_was_given_stays_and_the_rest_fits_to_it():
    given = validate(
        Settings,
        {"model": {"layers": 1, "width": 64}, "train": {"steps": 30, "optimizer": "adamw"}, "tokenizer": {"size": 500}},
        "test",
    )
    chosen = suit(given, [PAIR] * 3000)
    assert isinstance(chosen.model, TranslatorConfig)
    assert (chosen.model.layers, chosen.model.decoder_layers, chosen.model.width) == (1, 1, 64)
    assert (chosen.train.steps, chosen.train.optimizer, chosen.tokenizer.size) == (30, "adamw", 500)
    assert (chosen.train.warmup, chosen.train.validate_every) == (3, 3)
    assert chosen.model.hidden == NETWORKS[0].sizes["hidden"]
    assert (chosen.data, chosen.decode) == (given.data, given.decode)


def test_the_work_of_a_network_is_six_operations_for_each_number_in_its_matrices():
    """Against the model itself; biases and norms, a hundredth, and the embedding that is looked up are left out."""
    from regard.model.translator import Translator

    network = NETWORKS[0]
    vocabulary = {"source_vocabulary": network.vocabulary, "target_vocabulary": network.vocabulary}
    model = Translator(TranslatorConfig.model_validate({**network.sizes, **vocabulary}))
    numbers = sum(parameter.numel() for parameter in model.parameters())
    assert network.work(1.0) == pytest.approx(6 * numbers, rel=0.02)


def test_a_machine_multiplies_faster_than_a_million_a_second():
    assert 1e6 < operations_a_second(size=64, measured=0.01) < 1e15


def test_every_setting_chosen_is_a_setting():
    assert set(suited.LEARNING) <= set(TrainConfig.model_fields)
