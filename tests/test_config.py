"""Settings: what is valid, and that every mistake is told in one full sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as fuzz
from hypothesis import strategies as st
from pydantic import ValidationError

from regard.config import Config, DecodeConfig, Settings, TranslatorConfig, override, read_recipe, to_json, validate
from regard.errors import ConfigError
from regard.model import FAMILIES


def complaint(given: Any, kind: type[Config] = Settings) -> str:
    with pytest.raises(ConfigError) as caught:
        validate(kind, given, "my.toml")
    return str(caught.value)


def translator(given: dict[str, Any]) -> TranslatorConfig:
    model = validate(Settings, {"model": given}, "my.toml").model
    assert isinstance(model, TranslatorConfig)
    return model


def test_the_defaults_are_valid():
    assert validate(Settings, {}, "nothing") == Settings()
    assert validate(Settings, Settings().model_dump(), "defaults") == Settings()


@pytest.mark.parametrize("name", Settings.model_fields)
def test_settings_are_frozen(name: str):
    settings = Settings()
    with pytest.raises(ValidationError, match="frozen"):
        setattr(settings, name, getattr(settings, name))


def test_settings_of_a_section_are_frozen():
    settings = Settings()
    with pytest.raises(ValidationError, match="frozen"):
        settings.model.width = 512


def test_as_many_decoders_as_encoders_unless_said():
    assert translator({"layers": 5}).decoder_layers == 5
    assert translator({"layers": 5, "decoder_layers": 2}).decoder_layers == 2


# What is wrong, told


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"model": {"widht": 512}}, "model.widht is no setting; did you mean model.width?"),
        ({"modle": {"width": 512}}, "modle is no setting; did you mean model?"),
        ({"width": 512}, "width is no setting; did you mean model.width?"),
        ({"train": {"beam": 4}}, "train.beam is no setting; did you mean decode.beam?"),
        (
            {"tokenizer": {"xyz": 1}},
            "tokenizer.xyz is no setting; known are kind, size, joint, sampling, learn_from, codes, colours, patch, "
            "codec_steps",
        ),
        ({"xyz": 1}, "xyz is no setting; known are format, version, data, tokenizer, model, train, decode"),
        (
            {"tokenizer": {"": 1}},
            "tokenizer. is no setting; known are kind, size, joint, sampling, learn_from, codes, colours, patch, "
            "codec_steps",
        ),
        ({3: 4}, "3 is no setting; known are format, version, data, tokenizer, model, train, decode"),
    ],
)
def test_an_unknown_setting_is_told_with_what_was_meant(given: Any, sentence: str):
    assert complaint(given) == f"my.toml: {sentence}"


def test_an_unknown_setting_of_one_section_alone():
    """A request to translate brings settings of decoding, without their section."""
    assert complaint({"beams": 4}, DecodeConfig) == "my.toml: beams is no setting; did you mean beam?"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"model": {"width": "wide"}}, "model.width='wide' should be a whole number"),
        ({"model": {"width": 1.5}}, "model.width=1.5 should be a whole number"),
        ({"model": {"width": [1]}}, "model.width=[1] should be a whole number"),
        ({"model": {"width": None}}, "model.width=None should be a whole number"),
        ({"model": {"layers": "six"}}, "model.layers='six' should be a whole number"),
        ({"model": {"dropout": "high"}}, "model.dropout='high' should be a number"),
        ({"train": {"steps": float("inf")}}, "train.steps=inf should be a finite number"),
        ({"train": {"learning_rate": float("nan")}}, "train.learning_rate=nan should be a finite number"),
        ({"data": {"both_ways": "maybe"}}, "data.both_ways='maybe' should be true or false"),
        ({"data": {"source": 2024}}, "data.source=2024 should be text: put it in quotes"),
        (
            {"data": {"languages": "en,de"}},
            "data.languages='en,de' should be a list: put its values in brackets, with commas between them",
        ),
        ({"data": {"languages": ["en", 3]}}, "data.languages.1=3 should be text: put it in quotes"),
        ({"train": {"betas": [0.9]}}, "train.betas=[0.9] lacks value number 2"),
        ({"train": {"betas": [0.1, 0.2, 0.3]}}, "train.betas=[0.1, 0.2, 0.3] has too many values: it takes 2"),
        ({"model": 3}, "model=3 should be a section with settings of its own, not a single value"),
        ({"model": None}, "model=None should be a section with settings of its own, not a single value"),
        ([1, 2], "[1, 2] should be a section with settings of its own, not a single value"),
        (
            {"model": {"width": list(range(100))}},
            "model.width=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, … should be a whole number",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_told_with_the_right_one(given: Any, sentence: str):
    assert complaint(given) == f"my.toml: {sentence}"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"model": {"width": 0}}, "model.width=0 should be at least 1"),
        ({"model": {"layers": 1001}}, "model.layers=1001 should be at most 1000"),
        ({"model": {"width": 10**5000}}, "model.width=(a very long int) should be at most 2147483647"),
        ({"model": {"dropout": 1.0}}, "model.dropout=1.0 should be less than 1.0"),
        ({"model": {"dropout": -0.1}}, "model.dropout=-0.1 should be at least 0.0"),
        ({"model": {"position_base": 1}}, "model.position_base=1 should be greater than 1.0"),
        ({"tokenizer": {"size": 299}}, "tokenizer.size=299 should be at least 300"),
        ({"train": {"betas": [0.9, 2]}}, "train.betas.1=2 should be less than 1.0"),
        ({"train": {"seed": -1}}, "train.seed=-1 should be at least 0"),
        ({"format": 2}, "format=2 should be at most 1"),
    ],
)
def test_a_value_out_of_range_is_told_with_the_limit(given: Any, sentence: str):
    assert complaint(given) == f"my.toml: {sentence}"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"model": {"norm": "middle"}}, "model.norm='middle' should be 'post' or 'pre'"),
        ({"model": {"tied": True}}, "model.tied=True should be 'all', 'target' or 'none'"),
        ({"decode": {"penalty": []}}, "decode.penalty=[] should be 'length' or 'paper'"),
    ],
)
def test_a_bad_choice_is_told_with_the_good_ones(given: Any, sentence: str):
    assert complaint(given) == f"my.toml: {sentence}"


@pytest.mark.parametrize("given", ["gtp", "", 3, ["gpt"], None])
def test_an_unknown_family_is_told_with_the_known_ones(given: Any):
    *most, last = (repr(name) for name in FAMILIES)
    expected = f"my.toml: model.family={given!r} should be {', '.join(most)} or {last}"
    assert complaint({"model": {"family": given}}) == expected


def test_a_model_is_a_translator_unless_its_family_is_said():
    assert validate(Settings, {"model": {"width": 64}}, "").model.family == "translator"
    for family in FAMILIES:
        model = validate(Settings, {"model": {"family": family}}, "").model
        assert model.family == family
        assert validate(Settings, Settings(model=model).model_dump(), "").model == model


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"widht": 8}, "model.widht is no setting; did you mean model.width?"),
        ({"decoder_layers": 8}, "model.decoder_layers is no setting; did you mean model.layers?"),
        ({"steps": 8}, "model.steps is no setting; did you mean train.steps?"),
        ({"width": "wide"}, "model.width='wide' should be a whole number"),
        ({"gpt": 8}, "model.gpt is no setting; known are "),
        ({"width": 9, "heads": 2}, "model.width=9 does not split into model.heads=2: make it a multiple"),
        ({"width": 7, "heads": 1, "position": "halves"}, "model.width=7 is odd, and sines and cosines come in pairs"),
        (
            {"width": 9, "heads": 3, "position": "rotary"},
            "model.position=rotary turns features in pairs, and model.width=9 over model.heads=3 is odd: make it even",
        ),
    ],
)
def test_a_family_is_told_what_is_wrong_with_its_own_settings(given: Any, sentence: str):
    assert complaint({"model": {"family": "gpt2", **given}}).startswith(f"my.toml: {sentence}")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"model": {"width": 10, "heads": 4}},
            "model.width=10 does not split into model.heads=4: make it a multiple",
        ),
        (
            {"model": {"width": 9, "heads": 3}},
            "model.width=9 is odd, and sines and cosines come in pairs: make it even",
        ),
        (
            {"train": {"warmup": 300, "steps": 200}},
            "train.warmup=300 outlasts train.steps=200: lower it or train longer",
        ),
        ({"data": {"languages": ["en"]}}, "data.languages=en should name two languages, such as en,de"),
        (
            {"data": {"languages": ["en", "de", "fr"]}},
            "data.languages=en,de,fr should name two languages, such as en,de",
        ),
        ({"data": {"languages": ["en", "en"]}}, "data.languages=en,en names one language twice"),
        ({"data": {"tags": "target"}}, "data.tags=target needs the names of two languages or more in data.languages"),
        (
            {"data": {"tags": "both", "languages": ["en", "de", "fr"], "both_ways": True}},
            "data.both_ways has its tags already: leave out data.tags=both",
        ),
        (
            {
                "data": {"tags": "both", "languages": ["en", "de", "fr"]},
                "tokenizer": {"joint": False},
                "model": {"tied": "target"},
            },
            "data.tags=both reads and writes every language: it needs tokenizer.joint=true",
        ),
        ({"data": {"both_ways": True}}, "data.both_ways needs the languages' names: add --languages en,de"),
        (
            {"tokenizer": {"joint": False}},
            "model.tied=all shares one matrix, but tokenizer.joint=false makes two vocabularies: set model.tied=target",
        ),
        (
            {
                "data": {"both_ways": True, "languages": ["en", "de"]},
                "tokenizer": {"joint": False},
                "model": {"tied": "target"},
            },
            "data.both_ways reads and writes both languages: it needs tokenizer.joint=true",
        ),
    ],
)
def test_settings_that_cannot_go_together_are_told(given: Any, sentence: str):
    assert complaint(given) == f"my.toml: {sentence}"


def test_an_odd_width_goes_with_learned_positions():
    assert validate(Settings, {"model": {"width": 9, "heads": 3, "position": "learned"}}, "").model.width == 9


# --set


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("model.width=512", 512),
        ("model.width = 512", 512),
        ("train.steps=100_000", 100_000),
        ("train.learning_rate=3e-4", 3e-4),
        ("train.learning_rate=-0.5", -0.5),
        ("data.both_ways=true", True),
        ("model.norm=pre", "pre"),
        ('model.norm="pre"', "pre"),
        ("data.source=my corpus/a.en", "my corpus/a.en"),
        ("data.source=a=b.en", "a=b.en"),
        ("data.source=", ""),
        ("data.source=2024-01-31", "2024-01-31"),
        ("data.source=07:30:00", "07:30:00"),
        ("data.source=C:\\texts\\new.en", "C:\\texts\\new.en"),
        ("train.betas=[0.8, 0.95]", [0.8, 0.95]),
        ('data.languages=["en", "de"]', ["en", "de"]),
        ("data.languages=en,de", "en,de"),
        (f"model.width={'1' * 5000}", "1" * 5000),
        (f"model.width={'[' * 5000}", "[" * 5000),
    ],
)
def test_what_is_set_is_read_as_toml_and_else_as_text(assignment: str, value: Any):
    section, _, key = assignment.partition("=")[0].strip().partition(".")
    assert override({}, [assignment]) == {section: {key: value}}


def test_what_is_set_goes_over_the_recipe_and_the_last_word_holds():
    recipe = {"model": {"width": 512, "heads": 8}, "version": "x"}
    result = override(recipe, ["model.width=64", "train.steps=5", "model.width=128"])
    assert result == {"model": {"width": 128, "heads": 8}, "version": "x", "train": {"steps": 5}}
    assert recipe == {"model": {"width": 512, "heads": 8}, "version": "x"}, "what was given stays as it was"


def test_what_is_set_becomes_settings():
    assignments = ["train.betas=[0.8, 0.95]", 'data.languages=["en", "de"]', "data.both_ways=true", "model.layers=2"]
    settings = validate(Settings, override({}, assignments), "--set")
    assert settings.train.betas == (0.8, 0.95)
    assert settings.data.languages == ("en", "de")
    assert settings.data.both_ways is True
    assert settings.model == translator({"layers": 2})


@pytest.mark.parametrize(
    "assignment", ["model.width", "width=512", "model.=512", ".width=512", "=512", "", "=", "model"]
)
def test_what_is_set_in_no_known_form_is_told(assignment: str):
    with pytest.raises(ConfigError) as caught:
        override({}, [assignment])
    assert str(caught.value) == (
        f"--set {assignment} is not of the form section.key=value: write, say, --set model.width=512"
    )


def test_what_is_set_below_a_single_setting_is_told():
    with pytest.raises(ConfigError) as caught:
        override({"version": "x"}, ["version.major=3"])
    assert str(caught.value) == (
        "--set version.major=3 is not possible: version is a single setting and has no key major"
    )


# Recipes on disk


def told_of(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read_recipe(path)
    return str(caught.value)


def test_a_recipe_is_read(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text('[model]\nwidth = 64  # small\n[data]\nsource = "größe.en"\n', encoding="utf-8")
    assert read_recipe(path) == {"model": {"width": 64}, "data": {"source": "größe.en"}}


def test_a_recipe_that_does_not_exist_is_told(tmp_path: Path):
    path = tmp_path / "none.toml"
    assert told_of(path) == f"{path} does not exist: give the path of a recipe, such as recipes/laptop.toml"


def test_a_recipe_that_is_a_folder_is_told(tmp_path: Path):
    assert told_of(tmp_path) == f"{tmp_path} cannot be read as a recipe: Is a directory; give the path of a TOML file"


def test_a_recipe_that_is_not_utf8_is_told(tmp_path: Path):
    path = tmp_path / "latin.toml"
    path.write_bytes(b"# gr\xf6\xdfe")
    assert told_of(path) == f"{path} is not valid UTF-8 at byte 4: save it as UTF-8 text"


def test_a_recipe_that_is_not_toml_is_told(tmp_path: Path):
    path = tmp_path / "mine.yaml"
    path.write_text("model:\n  width: 64\n")
    assert told_of(path) == (
        f"{path} is not a recipe in TOML: Expected '=' after a key in a key/value pair (at line 1, column 6)"
    )


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "1" * 5000], ids=["brackets", "digits"])
def test_a_recipe_made_to_break_the_parser_is_told(tmp_path: Path, text: str):
    path = tmp_path / "odd.toml"
    path.write_text(text)
    assert told_of(path).startswith(f"{path} is not a recipe in TOML: ")


@pytest.mark.parametrize("text", ["[1, 2]", "{", "17"])
def test_a_json_that_is_no_recipe_is_told(tmp_path: Path, text: str):
    path = tmp_path / "config.json"
    path.write_text(text)
    assert told_of(path).startswith(f"{path} is not a recipe in JSON: ")


# To disk and back

PATHS = st.text(st.characters(), max_size=20)  # surrogates too: how Python shows a file name that is no UTF-8
SETTINGS = st.fixed_dictionaries(
    {
        "version": st.text(max_size=9),
        "data": st.fixed_dictionaries({"source": PATHS, "languages": st.sampled_from([(), ("en", "de"), ("é", "中")])}),
        "tokenizer": st.fixed_dictionaries(
            {"kind": st.sampled_from(["unigram", "bpe"]), "size": st.integers(300, 9999)}
        ),
        "model": st.fixed_dictionaries(
            {"layers": st.integers(1, 9), "dropout": st.floats(0, 1, exclude_max=True)},
            optional={"decoder_layers": st.integers(1, 9), "norm": st.sampled_from(["post", "pre"])},
        ),
        "train": st.fixed_dictionaries({"learning_rate": st.floats(0, exclude_min=True, allow_infinity=False)}),
        "decode": st.fixed_dictionaries({"length_penalty": st.floats(-10, 10)}),
    }
)


@given(SETTINGS)
@example({"data": {"source": "caf\udce9.en"}})
@fuzz(max_examples=60)
def test_settings_survive_the_way_through_json(given: dict[str, Any]):
    settings = validate(Settings, given, "given")
    text = to_json(settings).encode("utf-8").decode("utf-8")
    assert validate(Settings, json.loads(text), "config.json") == settings


def test_json_holds_every_setting():
    written = json.loads(to_json(Settings()))
    assert list(written) == list(Settings.model_fields)
    for name, section in written.items():
        kind = Settings.model_fields[name].annotation
        if isinstance(kind, type) and issubclass(kind, Config):
            assert list(section) == list(kind.model_fields)


# Nothing given makes anything but a ConfigError


def told(action: Callable[[], Any]) -> str | None:
    try:
        action()
    except ConfigError as error:
        return str(error)
    return None


NAMES = [*Settings.model_fields] + [
    field
    for section in Settings.model_fields.values()
    if isinstance(section.annotation, type) and issubclass(section.annotation, Config)
    for field in section.annotation.model_fields
]
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=5)
    | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(
            st.text(st.characters(), max_size=5) | st.integers() | st.sampled_from(NAMES), inner, max_size=3
        )
    ),
    max_leaves=8,
)


SECTIONS = st.dictionaries(
    st.sampled_from([*Settings.model_fields]),
    ODD | st.dictionaries(st.sampled_from(NAMES), ODD, max_size=4),
    max_size=4,
)


@given(SECTIONS | ODD)
@example({"model": 3})
@example({"model": None})
@example({"model": {"width": [1]}})
@example({"model": {"layers": {"layers": 1}}})
@example({"model": {"layers": None, "decoder_layers": 3}})
@example({"data": {"languages": "en,de"}})
@example({"data": {"languages": {"en": "de"}}})
@example({"data": {"languages": [None, None]}})
@example({"train": {"betas": "0.9,0.98"}})
@example({"train": {"betas": []}})
@example({"model": {"width": 10**5000, "heads": 7}})
@example({"model": {"position_base": 10**400}})
@example({"train": {"seed": -(10**5000)}})
@example({"format": 10**5000})
@example({"\ud800": 1})
@example({"model": {"\ud800": 1}})
@example({(): {}})
@example({"model": {"{": "}"}})
@fuzz(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_given_is_valid_or_told(given: Any):
    sentence = told(lambda: validate(Settings, given, "given"))
    assert sentence is None or sentence.startswith("given: ")
    assert len(sentence or "") < 600


@given(st.dictionaries(st.sampled_from(NAMES), ODD, max_size=3), st.lists(st.text(max_size=20), max_size=3))
@example({}, ["model.width=\n"])
@example({}, ["model.width=1\nvalue=2"])
@example({"model": []}, ["model.width=1"])
@fuzz(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_set_is_taken_or_told(given: dict[str, Any], assignments: list[str]):
    sentence = told(lambda: override(given, assignments))
    assert sentence is None or sentence.startswith("--set ")
