"""Translating text: order, batches, near-ties, and what a search can never write."""

from __future__ import annotations

import time

import pytest
import torch

import regard
from counting import pairs
from regard.decoding import torch_engine as module
from regard.decoding.translate import decode_settings, translate_together
from regard.decoding.windows import AsTheyCome, in_windows
from regard.errors import ConfigError, RunError


@pytest.fixture(scope="module")
def run(counting):
    return regard.load(counting)


def test_lines_come_back_in_their_order_whatever_their_length(run):
    known = pairs(50, seed=5)
    translated = list(regard.translate(run, [pair.source for pair in known], to="fr", batch=8))
    assert [(each.source, each.text) for each in translated] == known


def test_a_sentence_that_hung_by_a_hair_is_decoded_again_alone(run, monkeypatch):
    """Every batch size gives the text of a batch of one, even where rounding could have turned a choice."""
    counted = []
    real = module.decode_batch

    def watched(run, sources, config):
        counted.append(len(sources))
        found = real(run, sources, config)
        if len(sources) > 1:
            found[0].margin = 1e-6  # as if the first had hung by a hair
            found[0].hypotheses = found[0].hypotheses[::-1]  # and fallen the wrong way
        return found

    monkeypatch.setattr(module, "decode_batch", watched)
    config = decode_settings(run, 1, {})
    together = translate_together(run, [(text, "fr") for text in ("one two three", "six", "four")], config)
    assert [each.text for each in together] == ["un deux trois", "six", "quatre"]
    assert counted == [3, 1]


@pytest.mark.parametrize("beam", [1, 4])
def test_an_untrained_model_too_gives_one_text_for_one_sentence(run, beam):
    """Its choices are near-ties, which is where batches would differ."""
    from regard.model import build
    from regard.run import Run

    torch.manual_seed(3)
    model = build(run.settings.model).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.3)
    untrained = Run(run.settings, model, run.tokenizers)
    lines = [pair.source for pair in pairs(23, seed=6)]
    alone = [next(regard.translate(untrained, [line], to="fr", beam=beam)) for line in lines]
    for batch in (2, 7, 64):
        together = list(regard.translate(untrained, lines, to="fr", beam=beam, batch=batch))
        assert [each.text for each in together] == [each.text for each in alone]
        assert [each.score for each in together] == pytest.approx([each.score for each in alone], abs=1e-4)


@pytest.mark.parametrize("asked", [{"signals": True}, {"min_confidence": 0.5}])
def test_a_blank_line_has_signals_where_they_are_asked_for(run, asked):
    _, *blank = (each.candidates[0].signals for each in regard.translate(run, ["one", " ", ""], to="fr", **asked))
    assert [(each.confidence, each.flags, each.links) for each in blank if each] == [(1.0, (), [])] * 2


def test_settings_of_the_call_win_over_the_run_s(run):
    assert decode_settings(run, 2, {"beam": 3, "length_penalty": 0.5}).model_dump() == {
        **run.settings.decode.model_dump(),
        "beam": 3,
        "length_penalty": 0.5,
    }
    with pytest.raises(ConfigError, match=r"^decoding: baem is no setting; did you mean beam\?$"):
        regard.translate(run, [], to="fr", baem=3)


def test_a_language_is_refused_before_the_first_line_is_read(run):
    def lines():
        raise AssertionError("a line was read")
        yield ""

    with pytest.raises(RunError):
        regard.translate(run, lines(), to="de")


def test_lists_hold_as_many_as_were_asked_for():
    assert list(in_windows(range(5), most=2)) == [[0, 1], [2, 3], [4]]


def test_waiting_lines_come_together_and_a_lone_one_at_once():
    def typed():
        yield from ("a", "b", "c")
        time.sleep(0.3)
        yield "d"

    assert list(AsTheyCome(typed(), most=2)) == [["a", "b"], ["c"], ["d"]]


def test_an_error_in_the_stream_comes_after_the_lines_before_it():
    def broken():
        yield "a"
        raise ValueError("bad line")

    stream = iter(AsTheyCome(broken(), most=4))
    assert next(stream) == ["a"]
    with pytest.raises(ValueError, match="bad line"):
        next(stream)
