"""How well a text is foretold: every token once, each by the network's own probability, and honestly per character."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import regard
from regard.config import Gpt2Config
from regard.data.text import read_late, stream
from regard.errors import ConfigError, DataError, RunError
from regard.model.gpt2 import Gpt2
from regard.run import Run
from regard.tokens.text import BOS, EOS, TextTokenizer
from regard.training import foretell as module
from regard.training.foretell import evaluate_text, foretell, windows
from rhymes import lines, settings


@given(st.integers(1, 70), st.integers(1, 20), st.data(), st.integers(1, 60))
def test_every_token_is_scored_once_and_has_enough_before_it(count, window, data, budget):
    stride, ids = data.draw(st.integers(1, window)), torch.arange(count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BUDGET", budget)
        scored = []
        for labels, before, chosen in windows(ids, window, stride):
            assert labels.size(1) == min(window, count)
            assert before.tolist() == [row[0] - 1 if row[0] else BOS for row in labels.tolist()]
            for row, mask in zip(labels, chosen, strict=True):
                places = mask.nonzero().squeeze(1)
                assert row[0] == 0 or places[0] >= window - stride
                scored += row[mask].tolist()
        assert scored == list(range(count))


@pytest.fixture(scope="module")
def run(rhymes):
    return regard.load(rhymes, on="cpu")


def by_hand(run: Run, text: str, window: int, stride: int) -> float:
    """One token after the other, each from a pass over what its window shows of those before it."""
    ids, total = run.writer.encode(text), 0.0
    for place, id in enumerate(ids):
        end = min(len(ids), window + max(0, -(-(place + 1 - window) // stride)) * stride)
        start = max(0, end - min(window, len(ids)))
        labels = torch.tensor([ids[start : place + 1]])
        before = torch.tensor([ids[start - 1] if run.parted and start else BOS])
        with torch.no_grad():
            total -= run.model(read_late(labels, before))[0, -1].log_softmax(-1)[id].item()
    return total / len(ids)


@pytest.mark.parametrize("parted", [False, True])
@pytest.mark.parametrize("stride", [1, 7, 24])
def test_the_loss_is_what_one_token_after_another_costs(run, stride, parted):
    data = run.settings.data.model_copy(update={"documents": "blank-lines" if parted else "files"})
    run, text = replace(run, settings=run.settings.model_copy(update={"data": data})), lines(9, seed=5)
    assert foretell(run, [text], stride).loss == pytest.approx(by_hand(run, text, 24, stride), abs=1e-4)


def test_figures_are_of_a_token_and_of_a_character(run):
    text = lines(30, seed=6)
    found = foretell(run, [text])
    assert (found.window, found.stride) == (24, 12)
    assert found.tokens == found.characters == len(text)
    assert found.loss == found.nats_per_character < 0.8, "in most places it is clear what comes next"
    assert found.bits_per_character == pytest.approx(found.loss / math.log(2))
    assert found.perplexity == pytest.approx(math.exp(found.loss))
    assert str(found).splitlines()[2] == (
        "each token foretold once, from at least 12 before it but in the first window of 24"
    )


def test_characters_that_were_not_read_are_not_counted():
    """Two spaces that are read as one, and ends of documents, would make a text look easier than it is."""
    tokenizer = TextTokenizer.learn([lines(50, seed=3).replace("\n", " ")], size=300, kind="bpe")
    model = Gpt2(Gpt2Config(vocabulary=len(tokenizer), width=8, hidden=8, heads=2, layers=1)).eval()
    run = Run(settings("bpe"), model, {"text": tokenizer})
    plain, spaced = foretell(run, ["one two\nsix"]), foretell(run, ["one    two  \n six"])
    assert (plain.characters, spaced.characters) == (11, 11)
    assert spaced.nats_per_character == plain.nats_per_character
    assert plain.nats_per_character == pytest.approx(plain.loss * plain.tokens / 11)
    several = foretell(run, ["one two", "six"])
    assert several.characters == 10
    assert several.tokens == 2 + len(tokenizer.encode("one two")) + len(tokenizer.encode("six"))
    assert stream(["one two", "six"], run.writer)[-1] == EOS


def test_files_are_read_as_the_run_reads_them(run, tmp_path, counting):
    (tmp_path / "a.txt").write_text(lines(8, seed=7))
    assert evaluate_text(run, [tmp_path / "a.txt"], 6) == foretell(run, [lines(8, seed=7)], 6)
    with pytest.raises(RunError) as caught:
        evaluate_text(regard.load(counting), [tmp_path / "a.txt"])
    assert str(caught.value) == f"{counting} translates and does not write text: try regard translate {counting}"


def test_what_cannot_be(run):
    with pytest.raises(ConfigError) as caught:
        foretell(run, ["one"], stride=25)
    assert str(caught.value) == "stride=25 is not between 1 and the 24 tokens that the run sees at once"
    with pytest.raises(DataError) as empty:
        foretell(run, [""])
    assert str(empty.value) == "there is nothing to foretell in an empty text: give some"
