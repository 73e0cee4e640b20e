"""Models that write together: the mean of their probabilities, at every step and in every search."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from brute import FORBIDDEN
from counting import pairs
from lively import lively, sources
from regard.config import DecodeConfig
from regard.decoding.ensemble import Ensemble, ensemble
from regard.decoding.search import search
from regard.decoding.writing import Writing
from regard.errors import RunError
from regard.model.translator import Translator
from regard.run import Run
from regard.tokens.text import BOS, TextTokenizer
from traded import random_run

SIZES = [{"norm": "pre"}, {"tied": "none", "position": "learned"}, {}]


def wide(vocabulary: int, seed: int, **sizes: Any) -> Translator:
    """A lively translator of another width, with other numbers of heads and layers."""
    torch.manual_seed(seed)
    config = lively(vocabulary, seed).config.model_copy(
        update={"width": 20, "heads": 2, "hidden": 28, "layers": 1, "decoder_layers": 3, **sizes}
    )
    model = Translator(config).eval()
    for parameter in model.parameters():
        parameter.data += torch.randn_like(parameter) * 0.3
    return model


def three() -> list[Translator]:
    return [lively(19, seed=1, **SIZES[0]), wide(19, seed=2, **SIZES[1]), lively(19, seed=3)]


@pytest.mark.parametrize("cached", [True, False])
def test_every_step_has_the_mean_of_the_models_probabilities(cached):
    models = three()
    source, readable = sources(19, [6, 3])
    with torch.inference_mode():
        writing = Writing(Ensemble(models), source, readable, 2, cached)
        for step in range(4):
            by_hand = torch.stack(
                [
                    model(source.repeat_interleave(2, 0), writing.written, readable.repeat_interleave(2, 0))[:, -1]
                    for model in models
                ]
            )
            torch.testing.assert_close(writing.logits().exp(), by_hand.softmax(-1).mean(0))
            writing.go_on(torch.tensor([1, 0, 2, 2]), torch.tensor([4, 5, 6, 7]) + step)
        assert (writing.written[:, 0] == BOS).all()


def test_it_scores_a_whole_sequence_as_one_model_does():
    models = three()
    source, readable = sources(19, [6, 3])
    target = torch.randint(4, 19, (2, 5))
    by_hand = torch.stack([model(source, target, readable).softmax(-1) for model in models]).mean(0)
    torch.testing.assert_close(Ensemble(models)(source, target, readable).exp(), by_hand)


@pytest.mark.parametrize("how", [{"beam": 4}, {"beam": 4, "groups": 2}, {"samples": 3}, {"beam": 3, "coverage": 0.4}])
def test_one_model_thrice_is_that_model(how):
    model = lively(23, seed=5)
    source, readable = sources(23, [6, 2, 9])
    config = DecodeConfig(**how)
    alone = search(model, source, readable, config, [8, 11, 5], FORBIDDEN)
    thrice = search(Ensemble([model] * 3), source, readable, config, [8, 11, 5], FORBIDDEN)
    for one, other in zip(alone, thrice, strict=True):
        assert [each.ids for each in one.hypotheses] == [each.ids for each in other.hypotheses]
        scores = [each.score for each in other.hypotheses]
        assert [each.score for each in one.hypotheses] == pytest.approx(scores, abs=1e-4)


@pytest.mark.parametrize("beam", [1, 4])
def test_the_caches_change_no_hypothesis(beam):
    source, readable = sources(19, [6, 2, 9])
    model, config = Ensemble(three()), DecodeConfig(beam=beam)
    limits = [8, 11, 5]
    kept = search(model, source, readable, config, limits, FORBIDDEN)
    anew = search(model, source, readable, config, limits, FORBIDDEN, cached=False)
    for one, other in zip(kept, anew, strict=True):
        assert one.margin > 1e-5, "this test wants choices that no rounding can turn; take another seed"
        assert [each.ids for each in one.hypotheses] == [each.ids for each in other.hypotheses]


def test_runs_translate_together(counting):
    """Beside a run that has learned nothing, one that has still knows best; and the lone runs are left as they were."""
    run = regard.load(counting, on="cpu")
    torch.manual_seed(4)
    other = replace(run, model=Translator(run.translator.model_copy(update={"width": 24, "heads": 3})).eval())
    both = ensemble([run, other])
    known = pairs(20, seed=5)
    translated = list(regard.translate(both, [pair.source for pair in known], to="fr"))
    assert [each.text for each in translated] == [pair.target for pair in known]
    sure = [each.score for each in regard.translate(run, [pair.source for pair in known], to="fr", engine="torch")]
    assert all(each.score < score for each, score in zip(translated, sure, strict=True)), "half of it knows nothing"
    assert both.folder is None
    assert both.size == run.size + other.size


@pytest.fixture(scope="module")
def tokenizers() -> tuple[TextTokenizer, TextTokenizer]:
    one = TextTokenizer.learn(["one two three", "four five six"], size=300)
    return one, TextTokenizer.learn(["un deux trois", "quatre cinq six"], size=300)


@pytest.mark.parametrize("part", ["source vocabulary", "target vocabulary", "pair of languages", "device"])
def test_runs_that_do_not_go_together_are_refused(part: str, tokenizers, tmp_path: Path):
    first = random_run(tokenizers, tmp_path / "a", tied="none")
    runs: dict[str, Run] = {
        "source vocabulary": replace(first, tokenizers={**first.tokenizers, "source": tokenizers[1]}),
        "target vocabulary": replace(first, tokenizers={**first.tokenizers, "target": tokenizers[0]}),
        "pair of languages": replace(first, settings=with_languages(first)),
        "device": replace(first, model=Translator(first.translator).to("meta")),
    }
    with pytest.raises(RunError) as refused:
        ensemble([first, replace(runs[part], folder=None)])
    assert str(refused.value) == (
        f"the run cannot translate together with {tmp_path / 'a'}: it has another {part}; "
        "train both on the same corpus, with the same tokenizer settings"
    )


def with_languages(run: Run) -> regard.Settings:
    given = json.loads(run.settings.model_dump_json())
    return type(run.settings).model_validate(given | {"data": {"languages": ["en", "de"]}})


def test_no_runs_are_refused():
    with pytest.raises(RunError, match=r"^there are no runs to translate together: give one or more$"):
        ensemble([])
