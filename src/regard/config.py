"""Every setting there is: its name, type, default and meaning, stated once.

A recipe (TOML) or `--set model.width=512` overrides defaults; a run's `config.json` holds them all, resolved.
Settings are frozen data: nothing in them is imported, evaluated or executed.

    Settings            a whole run
    ├── data            where the text comes from and which way it is translated
    ├── tokenizer       how text becomes ids
    ├── model           the network
    ├── train           how long and how fast to learn
    └── decode          how translations are searched for
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from regard.errors import ConfigError

LARGEST = 2**31 - 1  # no size that a machine could hold comes near it, and below it none overflows
Count = Annotated[int, Field(ge=1, le=LARGEST)]
Whole = Annotated[int, Field(ge=0, le=LARGEST)]
Depth = Annotated[int, Field(ge=1, le=1000)]  # building takes time for each layer, before any other check can act
Share = Annotated[float, Field(ge=0, lt=1)]

FORMAT = 1  # of a run folder; raised when an older regard could no longer read it


class Config(BaseModel):
    """Settings that cannot change once made, and that know every key they take."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DataConfig(Config):
    """Where the text comes from and which way it is translated."""

    source: str = ""  # file of source sentences, one a line; or a TSV of pairs, and target stays empty
    target: str = ""  # file of their translations
    valid_source: str = ""  # the same two for validation; without them a part of the corpus is set aside
    valid_target: str = ""
    alignments: str = ""  # gold links between the words of each training pair, 0-0 1-2, for train.guided_alignment
    languages: tuple[str, ...] = ()  # names of source and target language, such as en,de; needed by both_ways
    both_ways: bool = False  # learn target → source as well, in one model
    valid_size: Count = 1000  # sentences to set aside when no validation files are given, at most a tenth
    max_tokens: Count = 256  # longer training sentences are left out, and counted

    @model_validator(mode="after")
    def both_ways_need_names(self) -> Self:
        if self.languages and len(self.languages) != 2:
            raise ValueError(f"data.languages={','.join(self.languages)} should name two languages, such as en,de")
        if len(set(self.languages)) != len(self.languages):
            raise ValueError(f"data.languages={','.join(self.languages)} names one language twice")
        if self.both_ways and not self.languages:
            raise ValueError("data.both_ways needs the languages' names: add --languages en,de")
        return self


class TokenizerConfig(Config):
    """How text becomes ids."""

    kind: Literal["unigram", "bpe"] = "unigram"
    size: Annotated[int, Field(ge=300, le=LARGEST)] = 4000  # pieces at most; 256 are bytes: no text is unknown
    joint: bool = True  # one vocabulary for both languages, or one for each
    sampling: Share = 0.0  # cut words anew each epoch: unigram's α (0.1 to 0.5), BPE's dropout (0.05 to 0.1); 0 never
    learn_from: Count = 1_000_000  # sentences that the pieces are learned from, at most; of more, a fixed random choice


class TranslatorConfig(Config):
    """The encoder–decoder of Vaswani et al. 2017; the sizes are ours, the architecture is theirs."""

    family: Literal["translator"] = "translator"
    source_vocabulary: Whole = 0  # filled in from the tokenizer
    target_vocabulary: Whole = 0
    width: Count = 128  # of the vectors between the sublayers
    hidden: Count = 512  # of the feed-forward's inner layer
    heads: Count = 4
    layers: Depth = 3  # of the encoder, and of the decoder unless decoder_layers says otherwise
    decoder_layers: Depth = 3
    norm: Literal["post", "pre"] = "post"  # LayerNorm after each sublayer (the paper) or before it (most since)
    activation: Literal["relu", "gelu", "swish"] = "relu"
    position: Literal["halves", "interleaved", "spread", "learned", "none"] = "halves"  # three sinusoidal, or not
    position_base: Annotated[float, Field(gt=1)] = 10_000.0  # n of the sinusoids: wavelengths run from 2π to n·2π
    position_offset: Whole = 0  # what the first token counts as; in a learned table, rows before it
    max_positions: Count = 1024  # rows of the learned table; sinusoids know no end
    dropout: Share = 0.1  # of sublayer outputs and embedding sums
    activation_dropout: Share = 0.0  # of the feed-forward's inner layer
    attention_dropout: Share = 0.0  # of attention weights; the fused kernel takes none, so this costs time
    initial: Literal["xavier", "scaled"] = "xavier"  # scaled: what a sublayer adds starts √(2 · layers) smaller
    tied: Literal["all", "target", "none"] = "all"  # which embeddings share one matrix with the output projection
    scale_embedding: bool = True  # multiply embeddings by √width
    embedding_norm: bool = False  # LayerNorm of embedding and position together, as BART has it
    output_bias: bool = False  # add a bias to the logits, as Marian's and BART's imported runs have it

    @model_validator(mode="before")
    @classmethod
    def as_many_decoders_as_encoders(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "layers" in given and "decoder_layers" not in given:
            return {**given, "decoder_layers": given["layers"]}
        return given

    @model_validator(mode="after")
    def sizes_fit(self) -> Self:
        if self.width % self.heads:
            raise ValueError(
                f"model.width={self.width} does not split into model.heads={self.heads}: make it a multiple"
            )
        if self.width % 2 and self.position in ("halves", "interleaved", "spread"):
            raise ValueError(f"model.width={self.width} is odd, and sines and cosines come in pairs: make it even")
        return self


class TrainConfig(Config):
    """How long and how fast to learn."""

    steps: Count = 2000  # optimizer steps, not epochs
    until: Whole = 0  # the last step taken, where a time limit ended training before its schedule; 0 is all steps
    batch_tokens: Count = 4096  # tokens in a batch, padding included, on its longer side
    accumulate: Count = 1  # batches a step
    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"  # of matmuls; auto: as the machine likes
    start: Literal["random", "neighbours"] = "random"  # neighbours: embeddings from which words meet in the corpus
    optimizer: Literal["adamw", "muon"] = "adamw"  # muon turns the matrices and leaves the rest to adamw
    schedule: Literal["noam", "inverse-sqrt", "cosine", "stable", "constant"] = "cosine"
    warmup: Whole = 200  # steps over which the learning rate climbs to its peak
    learning_rate: Annotated[float, Field(gt=0)] = 2e-3  # that peak; for noam, the factor before its formula
    decay: Annotated[float, Field(gt=0, le=1)] = 0.4  # stable: last share of the steps, in which the rate falls to 0
    betas: tuple[Share, Share] = (0.9, 0.98)
    epsilon: Annotated[float, Field(gt=0)] = 1e-9
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    label_smoothing: Share = 0.1
    r_drop: Annotated[float, Field(ge=0)] = 0.0  # α that pulls two passes under dropout together; doubles the time
    guided_alignment: Annotated[float, Field(ge=0)] = 0.0  # λ that teaches a head data.alignments, 0.05 to 1; 0 is off
    clip: Annotated[float, Field(ge=0)] = 1.0  # largest norm of the gradient; 0 is no limit
    validate_every: Count = 250  # steps between validations, each with a checkpoint
    choose_by: Literal["loss", "bleu", "chrf"] = "loss"  # which figure says that a checkpoint is the best
    patience: Whole = 0  # validations without a better figure before training stops; 0 is never
    ema: Share = 0.0  # decay of a running mean of the parameters, which is then validated and kept; 0 is none
    average: Count = 1  # checkpoints whose mean becomes the model
    average_of: Literal["last", "best"] = "last"  # those up to the best one, or the best ones
    log_every: Count = 50  # steps between lines of metrics.jsonl
    tensorboard: bool = False  # write the same figures for TensorBoard, too; needs the extra of that name
    seed: Whole = 1

    @model_validator(mode="before")
    @classmethod
    def a_short_training_warms_up_shortly(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and isinstance(given.get("steps"), int) and "warmup" not in given:
            return {**given, "warmup": min(cls.model_fields["warmup"].default, max(0, given["steps"]) // 10)}
        return given

    @model_validator(mode="after")
    def warmup_fits(self) -> Self:
        if self.warmup > self.steps:
            raise ValueError(f"train.warmup={self.warmup} outlasts train.steps={self.steps}: lower it or train longer")
        return self


class DecodeConfig(Config):
    """How translations are searched for."""

    beam: Count = 5  # hypotheses kept at each step; 1 is greedy
    length_penalty: Annotated[float, Field(ge=-10, le=10)] = 1.0  # α: log-probability is divided by length^α
    penalty: Literal["length", "paper"] = "length"  # length^α, or ((5 + length) / 6)^α as in the paper
    max_length: Count = 256  # tokens, and never more than max_ratio × source + 10
    max_ratio: Annotated[float, Field(gt=0, le=1000)] = 3.0
    min_length: Whole = 0  # tokens before which no translation ends
    no_repeat: Whole = 0  # no sequence of so many tokens is written twice; 0 lets all be
    repetition_penalty: Annotated[float, Field(gt=0, le=1000)] = 1.0  # θ: logits of written tokens lose by it; 1 is off
    coverage: Annotated[float, Field(ge=0, le=1000)] = 0.0  # β: what a score loses for source that was not looked at
    groups: Count = 1  # parts of the beam, each of which shuns the tokens of those before it
    diversity: Annotated[float, Field(ge=0, le=1000)] = 0.5  # λ: the cost of a token that another group writes as well
    samples: Whole = 0  # draw so many translations of each sentence; 0 searches, with a beam
    temperature: Annotated[float, Field(ge=0.001, le=1000)] = 1.0  # of draws: below 1 keeps to the likely, above strays
    top_k: Whole = 0  # draw from the so many likeliest tokens; 0 is all
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0  # draw from the likeliest tokens that make up so much; 1 is all
    min_p: Share = 0.0  # draw tokens at least so likely, as a share of the likeliest; 0 is all
    seed: Whole = 1  # of draws: the same seed draws the same translations of a sentence

    @property
    def hypotheses(self) -> int:
        """How many are written side by side for each sentence."""
        return self.samples or self.beam

    @model_validator(mode="after")
    def counts_fit(self) -> Self:
        if self.beam % self.groups:
            raise ValueError(
                f"decode.beam={self.beam} does not split into decode.groups={self.groups}: make it a multiple"
            )
        if self.samples and self.groups > 1:
            raise ValueError(
                f"decode.samples={self.samples} are drawn without a beam, and decode.groups={self.groups} part one: "
                "choose one of the two"
            )
        if self.min_length > self.max_length:
            raise ValueError(
                f"decode.min_length={self.min_length} is more than decode.max_length={self.max_length} allows: lower it"
            )
        return self


class Settings(Config):
    """A whole run."""

    format: Annotated[int, Field(ge=1, le=FORMAT)] = FORMAT
    version: str = ""  # of the regard that wrote the run
    data: DataConfig = DataConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: TranslatorConfig = TranslatorConfig()
    train: TrainConfig = TrainConfig()
    decode: DecodeConfig = DecodeConfig()

    @model_validator(mode="after")
    def parts_fit(self) -> Self:
        if self.model.tied == "all" and not self.tokenizer.joint:
            raise ValueError(
                "model.tied=all shares one matrix, but tokenizer.joint=false makes two vocabularies: "
                "set model.tied=target"
            )
        if self.data.both_ways and not self.tokenizer.joint:
            raise ValueError("data.both_ways reads and writes both languages: it needs tokenizer.joint=true")
        return self


C = TypeVar("C", bound=Config)


def read_recipe(path: Path) -> dict[str, Any]:
    """The settings that a TOML file names, or those of a run's config.json."""
    try:
        text = path.read_text(encoding="utf-8")
        given = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        if not isinstance(given, dict):
            raise ValueError("there are no sections in it")
        return given
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist: give the path of a recipe, such as recipes/laptop.toml") from None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read as a recipe: {error.strerror}; give the path of a TOML file"
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not valid UTF-8 at byte {error.start}: save it as UTF-8 text") from None
    except (ValueError, RecursionError) as error:  # besides bad TOML: thousands of digits, or brackets within brackets
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise ConfigError(f"{path} is not a recipe in {kind}: {error}") from None


def override(given: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """`given` with each "model.width=512" put in; a value is read as TOML, and as plain text where it is none."""
    result = {key: dict(value) if isinstance(value, Mapping) else value for key, value in given.items()}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        section, _, key = name.strip().partition(".")
        if not (equals and section and key):
            raise ConfigError(
                f"--set {assignment} is not of the form section.key=value: write, say, --set model.width=512"
            )
        part = result.setdefault(section, {})
        if not isinstance(part, dict):
            raise ConfigError(f"--set {assignment} is not possible: {section} is a single setting and has no key {key}")
        part[key] = value_of(text.strip())
    return result


def value_of(text: str) -> Any:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float | str | list | dict) else text  # no setting is a date


def validate(kind: type[C], given: Mapping[str, Any], where: str) -> C:
    """`given` as settings of a kind, or a ConfigError that says in one sentence what is wrong `where`."""
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise ConfigError(f"{where}: {sentence(kind, error)}") from None


# What pydantic complains of, and how it is said here after the setting and its value.
COMPLAINTS = {
    "int": "should be a whole number",
    "float": "should be a number",
    "finite": "should be a finite number",
    "bool": "should be true or false",
    "string": "should be text: put it in quotes",
    "string_unicode": "is not valid Unicode text",
    "tuple": "should be a list: put its values in brackets, with commas between them",
    "model": "should be a section with settings of its own, not a single value",
    "missing": "lacks value number {number}",
    "too_long": "has too many values: it takes {max_length}",
    "literal": "should be {expected}",
    "greater_than": "should be greater than {gt}",
    "greater_than_equal": "should be at least {ge}",
    "less_than": "should be less than {lt}",
    "less_than_equal": "should be at most {le}",
}


def sentence(kind: type[Config], error: ValidationError) -> str:
    """The first complaint of a validation, in our words."""
    first = error.errors(include_url=False)[0]
    path, context = [str(part) for part in first["loc"]], first.get("ctx", {})
    match first["type"]:
        case "value_error":  # raised by a validator above, which names the settings itself
            return str(context["error"])
        case "extra_forbidden" | "invalid_key":
            return f"{'.'.join(path)} is no setting; {suggestion(kind, path)}"
        case "missing":  # of the values of one setting: every setting has a default
            context = {"number": int(path.pop()) + 1}
    complaint = COMPLAINTS.get(first["type"]) or COMPLAINTS.get(first["type"].split("_")[0])
    reason = complaint.format(**context) if complaint else f"is not possible: {first['msg']}"
    name = ".".join(path)
    return f"{name}{'=' if name else ''}{shown(first['input'])} {reason}"


def suggestion(kind: type[Config], path: list[str]) -> str:
    """What an unknown setting may have been meant to be: the same name in another section, or one much like it."""
    *sections, key = path
    known = fields_at(kind, sections)
    elsewhere = [[section, key] for section in kind.model_fields if key in fields_at(kind, [section])]
    close = [[*sections, name] for name in difflib.get_close_matches(key, known, n=1)]
    for meant in elsewhere + close:
        return f"did you mean {'.'.join(meant)}?"
    return f"known are {', '.join(known)}"


def fields_at(kind: type[Config], path: list[str]) -> list[str]:
    for part in path:
        inner = kind.model_fields[part].annotation
        if not (isinstance(inner, type) and issubclass(inner, Config)):
            return []
        kind = inner
    return list(kind.model_fields)


def shown(value: Any) -> str:
    """A value as it was given, cut where it is too long for a sentence."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of more digits than Python prints; lists within lists
        return f"(a very long {type(value).__name__})"
    return text if len(text) <= 60 else f"{text[:59]}…"


def to_json(config: Config) -> str:
    """As JSON; a file name that is no Unicode stays readable, its odd bytes as JSON's own escapes."""
    text = json.dumps(config.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"
    return text.encode(errors="backslashreplace").decode()
