"""Every recipe is valid, and those of the paper are the paper's."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from regard.config import Settings, TranslatorConfig, read_recipe, validate
from regard.model import build

RECIPES = sorted((Path(__file__).parents[1] / "recipes").glob("**/*.toml"))
FOLDER = Path(__file__).parents[1] / "recipes"


def settings(name: str) -> Settings:
    return validate(Settings, read_recipe(FOLDER / name), name)


def parameters(recipe: Settings) -> int:
    """Of the recipe's model at its vocabulary; on the meta device, where 200 million numbers take no memory."""
    sizes = [name for name in type(recipe.model).model_fields if name.endswith("vocabulary")]
    vocabulary = dict.fromkeys(sizes, recipe.tokenizer.size)
    with torch.device("meta"):
        model = build(recipe.model.model_copy(update=vocabulary))
    return sum(parameter.numel() for parameter in model.parameters())


def test_there_are_recipes():
    assert {"wmt14-base.toml", "wmt14-big.toml"} <= {path.name for path in RECIPES}


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_every_recipe_is_valid(path: Path):
    validate(Settings, read_recipe(path), str(path))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_every_recipe_opens_with_a_comment_that_says_what_it_is_for(path: Path):
    assert path.read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize(("name", "millions"), [("wmt14-base.toml", 63.1), ("wmt14-big.toml", 214.2)])
def test_the_paper_s_models_have_the_paper_s_sizes(name: str, millions: float):
    """Table 3 rounds them to 65 and 213 million; these are the counts at a vocabulary of exactly 37,000."""
    recipe = settings(name)
    assert recipe.tokenizer.size == 37_000
    assert round(parameters(recipe) / 1e6, 1) == millions


def test_base_is_the_base_model_of_the_paper():
    recipe = settings("wmt14-base.toml")
    model, train, decode = recipe.model, recipe.train, recipe.decode
    assert isinstance(model, TranslatorConfig)
    assert (model.layers, model.decoder_layers, model.width, model.hidden, model.heads) == (6, 6, 512, 2048, 8)
    assert (model.norm, model.activation, model.tied) == ("post", "relu", "all")
    assert (model.dropout, model.attention_dropout, train.label_smoothing) == (0.1, 0.0, 0.1)
    assert (train.betas, train.epsilon, train.weight_decay, train.clip) == ((0.9, 0.98), 1e-9, 0.0, 0.0)
    assert (train.schedule, train.learning_rate, train.warmup, train.steps) == ("noam", 1.0, 4000, 100_000)
    assert (train.batch_tokens * train.accumulate, train.average) == (25_000, 5)
    assert (recipe.tokenizer.kind, recipe.tokenizer.joint) == ("bpe", True)
    assert (decode.beam, decode.length_penalty, decode.penalty) == (4, 0.6, "paper")


def test_big_is_base_with_the_paper_s_changes():
    base, big = settings("wmt14-base.toml"), settings("wmt14-big.toml")
    changed = {"width": 1024, "hidden": 4096, "heads": 16, "dropout": 0.3}
    assert big.model == base.model.model_copy(update=changed)
    changed = {"steps": 300_000, "average": 20, "validate_every": 600}
    assert big.train == base.train.model_copy(update=changed)
    assert (big.tokenizer, big.decode) == (base.tokenizer, base.decode)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("125m", 125e6),
        ("350m", 350e6),
        ("760m", 760e6),
        ("1.3b", 1.3e9),
        ("2.7b", 2.7e9),
        ("6.7b", 6.7e9),
        ("13b", 13e9),
        ("175b", 175e9),
    ],
)
def test_the_eight_sizes_of_gpt3_have_the_paper_s_numbers_of_parameters(name: str, size: float):
    """Table 2.1 of Brown et al. 2020 rounds them; the feed-forward is four times as wide as the rest."""
    recipe = settings(f"gpt3-{name}.toml")
    assert parameters(recipe) == pytest.approx(size, rel=0.02)
    assert recipe.model.hidden == 4 * recipe.model.width
    assert recipe.train.steps * recipe.train.batch_tokens == 300e9
    assert recipe.train.warmup * recipe.train.batch_tokens == pytest.approx(375e6, rel=0.01)
