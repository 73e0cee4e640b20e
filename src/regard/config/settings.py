"""A whole run's settings: data, tokenizer, model, train, decode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from regard.config.base import LARGEST, Config, Count, Share, Whole
from regard.config.networks import ModelConfig, TranslatorConfig

FORMAT = 1  # of a run folder; raised when an older regard could no longer read it


UNLESS_SAID = (("text", "gpt2", ""), ("labelled", "bert", "classify"), ("pictures", "vit", ""))  # data, family, task


class DataConfig(Config):
    """Where the text comes from, and for translators which way it is translated."""

    source: str = ""  # file of source sentences, one a line; or a TSV of pairs, and target stays empty
    target: str = ""  # file of their translations
    valid_source: str = ""  # the same two for validation; without them a part of the corpus is set aside
    valid_target: str = ""
    translated_by: tuple[str, ...] = ()  # runs whose translations of the training pairs, either way, join these
    alignments: str = ""  # gold links between the words of each training pair, 0-0 1-2, for train.guided_alignment
    languages: tuple[str, ...] = ()  # names of source and target language, such as en,de; needed by both_ways and tags
    both_ways: bool = False  # learn target → source as well, in one model
    tags: Literal["none", "target", "both"] = "none"  # which of its many languages an imported network is told
    valid_size: Count = 1000  # sentences to set aside when no validation files are given, at most a tenth
    max_tokens: Count = 256  # longer training sentences are left out, and counted
    text: tuple[str, ...] = ()  # files of plain text, for networks that read and write but one
    valid_text: tuple[str, ...] = ()  # the same for validation; without them the last part of the text is set aside
    valid_share: Annotated[float, Field(gt=0, lt=1)] = 0.1  # how much that is
    documents: Literal["files", "blank-lines", "lines"] = (
        "files"  # what parts texts: a file's end; blank lines; all lines
    )
    block: Whole = 0  # tokens that are read at once; 0 is model.max_positions
    labelled: str = ""  # TSV of text, tab, label, for networks that tell texts apart
    valid_labelled: str = ""
    pictures: str = ""  # folder of a folder for each class, TSV of path and caption, .npz, IDX file; digits; shapes
    valid_pictures: str = ""  # without it, or without valid_labelled, valid_share of each class is set aside
    picture_size: tuple[Count, ...] = ()  # height and width that pictures are brought to; if empty, they must be alike
    shift: Whole = 0  # each time a picture is learned from, it is moved by up to so many pixels,
    flip: bool = False  # mirrored or not,
    erase: Whole = 0  # and a square of it, so many pixels along its side, is made noise
    labels: tuple[str, ...] = ()  # names of the classes, filled in from the data
    tagged: str = ""  # words with a tag each, word, tab, tag on a line and a blank line after each sentence
    valid_tagged: str = ""  # the same for validation; without it valid_share of the sentences is set aside

    @field_validator("text", "valid_text", "translated_by", mode="before")
    @classmethod
    def one_path_is_a_list_of_one(cls, given: Any) -> Any:
        return (given,) if isinstance(given, str) else given

    @field_validator("picture_size", mode="after")
    @classmethod
    def a_size_is_height_and_width(cls, given: tuple[int, ...]) -> tuple[int, ...]:
        if len(given) not in (0, 2):
            raise ValueError(f"data.picture_size={list(given)} should be height and width, such as [32, 32]")
        return given

    @property
    def asks_language(self) -> bool:
        """Whether a language is told by a tag, so that it must be asked for."""
        return self.both_ways or self.tags != "none"

    @model_validator(mode="after")
    def both_ways_need_names(self) -> Self:
        if self.languages and len(self.languages) != 2 and self.tags == "none":
            raise ValueError(f"data.languages={','.join(self.languages)} should name two languages, such as en,de")
        if len(set(self.languages)) != len(self.languages):
            raise ValueError(f"data.languages={','.join(self.languages)} names one language twice")
        if self.both_ways and not self.languages:
            raise ValueError("data.both_ways needs the languages' names: add --languages en,de")
        if self.tags != "none" and self.both_ways:
            raise ValueError(f"data.both_ways has its tags already: leave out data.tags={self.tags}")
        if self.tags != "none" and len(self.languages) < 2:
            raise ValueError(f"data.tags={self.tags} needs the names of two languages or more in data.languages")
        return self


class TokenizerConfig(Config):
    """How text becomes ids."""

    # characters: each one that the text has, whatever size is; imported: another's, which came with a run
    kind: Literal["unigram", "bpe", "characters", "imported"] = "unigram"
    size: Annotated[int, Field(ge=300, le=LARGEST)] = 4000  # pieces at most; 256 are bytes: no text is unknown
    joint: bool = True  # one vocabulary for both languages, or one for each
    sampling: Share = 0.0  # cut words anew each epoch: unigram's α (0.1 to 0.5), BPE's dropout (0.05 to 0.1); 0 never
    learn_from: Count = 1_000_000  # sentences that the pieces are learned from, at most; of more, a fixed random choice
    codes: Count = 256  # patterns that pictures are written in
    colours: Count = 64  # and pairs of colours
    patch: Count = 4  # pixels along the side of what becomes a pattern and its colours
    codec_steps: Count = 1000  # in which what codes lose is learned to be put right


class TrainConfig(Config):
    """What to learn, how long and how fast."""

    task: str = ""  # of those that the family can learn; its first where none is named
    steps: Count = 2000  # optimizer steps, not epochs
    until: Whole = 0  # the last step taken, where a time limit ended training before its schedule; 0 is all steps
    batch_tokens: Count = 4096  # tokens in a batch, padding included, on its longer side
    accumulate: Count = 1  # batches a step
    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"  # of matmuls; auto: as the machine likes
    threads: Whole = 0  # of a CPU that compute; 0 is all of torch's, or under a time limit one where that is faster
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
    choose_by: Literal["loss", "bleu", "chrf", "accuracy", "f1"] = (
        "loss"  # which figure says that a checkpoint is the best
    )
    patience: Whole = 0  # validations without a better figure before training stops; 0 is never
    ema: Share = 0.0  # decay of a running mean of the parameters, which is then validated and kept; 0 is none
    average: Count = 1  # checkpoints whose mean becomes the model
    average_of: Literal["last", "best"] = "last"  # those up to the best one, or the best ones
    tune_length: bool = False  # in the end, choose decode.length_penalty by the BLEU of the validation set
    log_every: Count = 50  # steps between lines of metrics.jsonl
    tensorboard: bool = False  # write the same figures for TensorBoard, too; needs the extra of that name
    seed: Whole = 1
    start_from: str = ""  # a run whose tokenizer is taken over, and of whose parameters all that fit
    teacher: str = ""  # a run that fills in words and teaches this one to, which starts from every other layer of it
    temperature: Annotated[float, Field(gt=0)] = 2.0  # that softens what a teacher says
    hide: Annotated[float, Field(gt=0, lt=1)] = 0.15  # share of the tokens that are to be found again, of task fill
    whole_words: bool = False  # hide all tokens of a word or none
    noise: tuple[Literal["mask", "delete", "infill", "permute", "rotate"], ...] = ("infill", "permute")  # to be undone
    noise_share: Annotated[float, Field(gt=0, lt=1)] = 0.3  # share of the tokens that noise masks or deletes
    unsaid: Annotated[float, Field(ge=0, lt=1)] = 0.1  # share of captions left out, of task paint: see decode.guidance

    @model_validator(mode="after")
    def a_short_training_warms_up_shortly(self) -> Self:
        if "warmup" not in self.model_fields_set:  # nor is it there afterwards: nobody gave it
            object.__setattr__(self, "warmup", min(self.warmup, self.steps // 10))
        return self

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
    guidance: Annotated[float, Field(ge=0, le=100)] = 1.0  # of pictures: how much more likely a caption makes a code
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
    model: ModelConfig = TranslatorConfig()
    train: TrainConfig = TrainConfig()
    decode: DecodeConfig = DecodeConfig()

    @model_validator(mode="after")
    def a_length_is_tuned_for_a_plain_beam(self) -> Self:
        if self.train.tune_length and (self.decode.samples or self.decode.coverage):
            raise ValueError(
                "train.tune_length chooses a length penalty for a beam without coverage: leave it out, or "
                "decode.samples and decode.coverage"
            )
        return self

    @model_validator(mode="before")
    @classmethod
    def the_data_say_what_is_learned(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        data, model, train = (given.get(section, {}) for section in ("data", "model", "train"))
        if not all(isinstance(section, Mapping) for section in (data, model, train)) or "family" in model:
            return given
        for name, family, task in UNLESS_SAID:
            if data.get(name):
                return {**given, "model": {**model, "family": family}, "train": {"task": task, **train}}
        return given

    @model_validator(mode="after")
    def parts_fit(self) -> Self:
        if getattr(self.model, "tied", "") == "all" and not self.tokenizer.joint:
            raise ValueError(
                "model.tied=all shares one matrix, but tokenizer.joint=false makes two vocabularies: "
                "set model.tied=target"
            )
        if self.data.both_ways and not self.tokenizer.joint:
            raise ValueError("data.both_ways reads and writes both languages: it needs tokenizer.joint=true")
        if self.data.tags == "both" and not self.tokenizer.joint:
            raise ValueError("data.tags=both reads and writes every language: it needs tokenizer.joint=true")
        return self
