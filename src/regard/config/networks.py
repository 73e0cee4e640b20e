"""The networks: one class of settings for each family. The sizes are ours; what else a default says is its paper's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PositiveFloat, model_validator

from regard.config.base import Config, Count, Depth, Share, Whole

Placement = Literal["post", "pre"]
Activation = Literal["relu", "gelu", "gelu-tanh", "swish"]
Initial = Literal["xavier", "scaled", "normal", "normal-scaled"]  # Glorot's bound, or N(0, 0.02)
Position = Literal["learned", "halves", "interleaved", "rotary", "alibi", "shaw", "t5", "none"]
Epsilon = Annotated[float, Field(gt=0, lt=1)]
Base = Annotated[float, Field(gt=1)]


class NetworkConfig(Config):
    """What every network is made of."""

    width: Count = 128  # of the vectors between the sublayers
    hidden: Count = 512  # of the feed-forward's inner layer
    heads: Count = 4
    layers: Depth = 3
    dropout: Share = 0.1  # of sublayer outputs and embedding sums
    activation_dropout: Share = 0.0  # of the feed-forward's inner layer
    attention_dropout: Share = 0.0  # of attention weights; the fused kernel takes none, so this costs time

    @model_validator(mode="after")
    def width_splits(self) -> Self:
        if self.width % self.heads:
            raise ValueError(
                f"model.width={self.width} does not split into model.heads={self.heads}: make it a multiple"
            )
        if self.width % 2 and getattr(self, "position", "") in ("halves", "interleaved", "spread"):
            raise ValueError(f"model.width={self.width} is odd, and sines and cosines come in pairs: make it even")
        return self


class TranslatorConfig(NetworkConfig):
    """The encoder–decoder of Vaswani et al. 2017."""

    family: Literal["translator"] = "translator"
    source_vocabulary: Whole = 0  # filled in from the tokenizer
    target_vocabulary: Whole = 0
    layers: Depth = 3  # of the encoder, and of the decoder unless decoder_layers says otherwise
    decoder_layers: Depth = 3
    norm: Placement = "post"  # LayerNorm after each sublayer (the paper) or before it (most since)
    activation: Literal["relu", "gelu", "swish"] = "relu"
    position: Literal["halves", "interleaved", "spread", "learned", "none"] = "halves"  # three sinusoidal, or not
    position_base: Base = 10_000.0  # n of the sinusoids: wavelengths run from 2π to n·2π
    position_offset: Whole = 0  # what the first token counts as; in a learned table, rows before it
    max_positions: Count = 1024  # rows of the learned table; sinusoids know no end
    initial: Initial = "xavier"  # of matrices; scaled: what a sublayer adds starts √(2 · layers) smaller
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


class BartConfig(TranslatorConfig):
    """Lewis et al. 2020, BART: the Translator with GELU and learned positions, which it counts from 2."""

    family: Literal["bart"] = "bart"  # pyright: ignore[reportIncompatibleVariableOverride]
    activation: Literal["relu", "gelu", "swish"] = "gelu"
    position: Literal["halves", "interleaved", "spread", "learned", "none"] = "learned"
    position_offset: Whole = 2
    initial: Initial = "normal"
    scale_embedding: bool = False
    embedding_norm: bool = True
    output_bias: bool = True


class StackConfig(NetworkConfig):
    """A network of one stack, and what may be chosen about its blocks."""

    norm: Placement = "pre"  # before each sublayer, and once more at the end; or after each
    norm_kind: Literal["layer", "rms"] = "layer"  # rms divides by the root of the mean square and subtracts no mean
    epsilon: Epsilon = 1e-5  # what a norm adds to the variance, or to the mean square
    activation: Activation = "gelu"
    gated: bool = False  # a second matrix gates the feed-forward's inner layer; with activation=swish it is SwiGLU
    position: Position = "learned"  # added to the tokens; or told to attention: rotary, alibi, shaw and t5
    position_base: Base = 10_000.0  # of sinusoids and of rotary
    initial: Initial = "normal"  # of matrices; scaled: what a sublayer adds starts √(2 · layers) smaller

    @model_validator(mode="after")
    def heads_turn_in_pairs(self) -> Self:
        if self.position == "rotary" and self.width // self.heads % 2:
            raise ValueError(
                f"model.position=rotary turns features in pairs, and model.width={self.width} over "
                f"model.heads={self.heads} is odd: make it even"
            )
        return self


class DecoderConfig(StackConfig):
    """What all GPTs have."""

    vocabulary: Whole = 0  # filled in from the tokenizer
    activation: Activation = "gelu-tanh"
    max_positions: Count = 1024  # tokens it can look back over, where positions are learned
    tied: bool = True  # the output projection is the embeddings' matrix
    absent: tuple[Whole, ...] = ()  # ids that an imported vocabulary lacks: their probability is 0


class GptConfig(DecoderConfig):
    """Radford et al. 2018, "Improving language understanding by generative pre-training"."""

    family: Literal["gpt"] = "gpt"
    norm: Placement = "post"
    max_positions: Count = 512


class Gpt2Config(DecoderConfig):
    """Radford et al. 2019, "Language models are unsupervised multitask learners"."""

    family: Literal["gpt2"] = "gpt2"
    initial: Initial = "normal-scaled"


class Gpt3Config(DecoderConfig):
    """Brown et al. 2020, "Language models are few-shot learners"; how wide its bands are, the paper does not say."""

    family: Literal["gpt3"] = "gpt3"
    max_positions: Count = 2048
    initial: Initial = "normal-scaled"
    band: Count = 256  # tokens back that every second layer can look


class DalleConfig(StackConfig):
    """Ramesh et al. 2021, "Zero-shot text-to-image generation"."""

    family: Literal["dalle"] = "dalle"
    text_vocabulary: Whole = 0  # ids of the text, filled in from its tokenizer; those of pictures follow them
    image_vocabulary: Whole = 0  # codes that pictures are made of
    text_length: Count = 64  # tokens of each text, padding included; the picture stands behind it
    grid: tuple[Count, Count] = (8, 8)  # rows and columns of a picture's codes
    activation: Activation = "gelu-tanh"
    initial: Initial = "normal-scaled"
    tied: bool = False
    sparse: bool = False  # every code looks at the text, and in its picture along rows and columns by turns (the paper)

    @property
    def vocabulary(self) -> int:
        return self.text_vocabulary + self.image_vocabulary

    @property
    def max_positions(self) -> int:
        return self.text_length + self.grid[0] * self.grid[1]


class EncoderConfig(StackConfig):
    """What all BERTs have: a body, and heads for what they are used for."""

    vocabulary: Whole = 0  # filled in from the tokenizer
    token_types: Whole = 0  # of segments, each with a vector added to its tokens; 0 tells none apart
    max_positions: Count = 512
    position_offset: Whole = 0  # rows of the learned table before the first token's
    norm: Placement = "post"
    epsilon: Epsilon = 1e-12
    pooling: Literal["tanh", "relu"] = "tanh"  # what follows the classifier's first matrix
    fills: bool = True  # has the head that says which token a mask hides
    classes: Whole = 0  # that a text is of one of, filled in from the data; 0 has no classifier
    tags: Whole = 0  # that each token gets one of, filled in from the data; 0 has no tagger


class BertConfig(EncoderConfig):
    """Devlin et al. 2019, "BERT: pre-training of deep bidirectional transformers for language understanding"."""

    family: Literal["bert"] = "bert"
    token_types: Whole = 2


class RobertaConfig(EncoderConfig):
    """Liu et al. 2019, "RoBERTa: a robustly optimized BERT pretraining approach"; it counts positions from 2."""

    family: Literal["roberta"] = "roberta"
    token_types: Whole = 1
    position_offset: Whole = 2
    epsilon: Epsilon = 1e-5


class DistilbertConfig(EncoderConfig):
    """Sanh et al. 2019, "DistilBERT, a distilled version of BERT"."""

    family: Literal["distilbert"] = "distilbert"
    pooling: Literal["tanh", "relu"] = "relu"


class VitConfig(StackConfig):
    """Dosovitskiy et al. 2021, "An image is worth 16x16 words"."""

    family: Literal["vit"] = "vit"
    picture: tuple[Count, Count] = (224, 224)  # height and width in pixels, filled in from the data
    channels: Count = 3  # filled in from the data
    patch: Count = 16  # height and width of one
    classes: Whole = 0  # filled in from the data
    summary: Literal["class", "mean"] = "class"  # what is classified: a token of its own, or the mean of the patches
    epsilon: Epsilon = 1e-12
    mean: tuple[float, ...] = (0.5,)  # what of a brightness of 0 to 1 counts as 0, and how far from it as 1:
    deviation: tuple[PositiveFloat, ...] = (0.5,)  # for all channels or for each; imported ones have their own

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        return self.picture[0] // self.patch, self.picture[1] // self.patch

    @model_validator(mode="after")
    def patches_fit(self) -> Self:
        if any(side % self.patch for side in self.picture):
            height, width = self.picture
            raise ValueError(
                f"model.picture of {height} × {width} pixels does not split into patches of model.patch={self.patch}: "
                "choose a patch that divides both"
            )
        return self

    @model_validator(mode="after")
    def channels_are_alike_or_each_told(self) -> Self:
        for name in ("mean", "deviation"):
            if len(getattr(self, name)) not in (1, self.channels):
                raise ValueError(
                    f"model.{name} of {len(getattr(self, name))} numbers does not fit model.channels={self.channels}: "
                    "give one for all, or one for each"
                )
        return self


class ClipConfig(VitConfig):
    """Radford et al. 2021, "Learning transferable visual models from natural language supervision".

    Two networks of these sizes, one for pictures and one for texts.
    """

    family: Literal["clip"] = "clip"  # pyright: ignore[reportIncompatibleVariableOverride]
    vocabulary: Whole = 0  # filled in from the tokenizer
    max_positions: Count = 64  # tokens of a text
    classes: Count = 128  # how long the vectors are that pictures and texts become

    @property
    def reader(self) -> BertConfig:
        """The network for texts."""
        alike = {*StackConfig.model_fields, "vocabulary", "max_positions", "classes"}
        return BertConfig.model_validate({**self.model_dump(include=alike), "token_types": 0, "fills": False})


def a_translator_unless_said(given: Any) -> Any:
    return {"family": "translator", **given} if isinstance(given, Mapping) else given


ModelConfig = Annotated[
    TranslatorConfig
    | BartConfig
    | BertConfig
    | RobertaConfig
    | DistilbertConfig
    | GptConfig
    | Gpt2Config
    | Gpt3Config
    | VitConfig
    | DalleConfig
    | ClipConfig,
    Field(discriminator="family"),
    BeforeValidator(a_translator_unless_said),
]
