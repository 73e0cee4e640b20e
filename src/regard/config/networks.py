"""The networks: one class of settings for each family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from regard.config.base import Config, Count, Depth, Share, Whole


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
