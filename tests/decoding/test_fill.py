"""Filling in, by a run that knows the order of numbers."""

from __future__ import annotations

import itertools
import json

import pytest
import torch
from typer.testing import CliRunner

import regard
from process import refused
from regard.cli import app
from regard.decoding.fill import fill, look
from regard.errors import ConfigError, DataError, RunError
from regard.tokens.masks import read_masked
from regard.tokens.text import BOS, EOS


@pytest.fixture(scope="module")
def run(gaps):
    return regard.load(gaps, on="cpu")


def test_it_finds_the_missing_number(run):
    found = fill(run, "two three [MASK] five", top=3)
    assert found.text == str(found) == "two three four five"
    [candidates] = found.masks
    assert next(each.token for each in candidates) == "▁four"
    assert candidates[0].probability > 0.9
    assert len(candidates) == 3
    assert sorted(candidates, key=lambda each: -each.probability) == list(candidates)


def test_the_probabilities_are_the_network_s_own_over_all_tokens_of_text(run):
    text, tokenizer = "[MASK] three four [MASK]", run.tokenizers["text"]
    ids = torch.tensor([[BOS, *read_masked(tokenizer, text), EOS]])
    with torch.inference_mode():
        logits = run.model(ids, torch.ones_like(ids, dtype=torch.bool))[0]
    text_ids = [id for id in range(len(tokenizer)) if id not in tokenizer.control]
    found = fill(run, text, top=10_000)
    assert [len(each) for each in found.masks] == [len(text_ids)] * 2
    for candidates, place in zip(found.masks, [1, ids.size(1) - 2], strict=True):
        expected = dict(zip(tokenizer.pieces(text_ids), logits[place, text_ids].softmax(-1).tolist(), strict=True))
        assert sum(each.probability for each in candidates) == pytest.approx(1, abs=1e-4)
        for each in candidates:
            assert each.probability == pytest.approx(expected[each.token], abs=1e-5)


def test_several_masks_are_filled_in_view_of_one_another(run):
    """Beside one another they could each be right alone and wrong together."""
    assert fill(run, "[MASK] [MASK] three [MASK] five").text == "one two three four five"


def test_the_surest_is_filled_in_first(run):
    """Every order tried: the one in which each step takes the surest of those still open is the one taken."""
    text, tokenizer = "[MASK] [MASK] [MASK] six", run.tokenizers["text"]
    opened = [BOS, *read_masked(tokenizer, text), EOS]
    expected = set()
    for order in itertools.permutations([1, 2, 3]):
        ids, surest = list(opened), True
        for step, place in enumerate(order):
            best = look(run, ids, order[step:]).max(-1)
            surest &= bool(best.values[0] == best.values.max())
            ids[place] = int(best.indices[0])
        expected |= {tokenizer.decode(ids)} if surest else set()
    assert {fill(run, text).text} == expected


def test_what_cannot_be_filled_is_told_in_a_sentence(run, rhymes):
    with pytest.raises(DataError) as caught:
        fill(run, "one two")
    assert str(caught.value) == "'one two' has nothing to fill in: put [MASK] where a word is missing"
    with pytest.raises(RunError) as caught:
        fill(run, "one [MASK] " * 20)
    assert str(caught.value) == "a text of 42 tokens is too long for this run, which reads 16 at once: cut it"
    with pytest.raises(ConfigError) as caught:
        fill(run, "one [MASK]", top=0)
    assert str(caught.value) == "top=0 should be at least 1"
    with pytest.raises(RunError) as caught:
        fill(regard.load(rhymes), "one [MASK]")
    assert str(caught.value) == f"{rhymes} writes text and does not fill in words: try regard generate {rhymes}"


def test_the_command_prints_text_candidates_or_json(gaps):
    def called(*arguments: str, stdin: str = "") -> str:
        done = CliRunner().invoke(app, ["fill", str(gaps), *arguments], input=stdin)
        assert done.exit_code == 0, done.output
        return done.stdout

    assert called(stdin="one [MASK] three\nfive six [MASK]\n") == "one two three\nfive six seven\n"
    rows = [line.split("\t") for line in called("[MASK] two three [MASK]", "--top", "2").splitlines()]
    assert [row[0] for row in rows] == ["1", "1", "2", "2"]
    assert [rows[0][2], rows[2][2]] == ["▁one", "▁four"]
    assert 0.5 < float(rows[0][1]) <= 1
    told = json.loads(called("one [MASK] three", "--json"))
    assert (told["text"], told["masks"][0][0]["token"]) == ("one two three", "▁two")
    assert refused("fill", gaps, "one two").startswith("regard: 'one two' has nothing to fill in")
