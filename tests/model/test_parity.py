"""The same parameters give the same logits elsewhere: torch.nn.Transformer, and Hugging Face's Marian and Pegasus.

Every size differs from every other, every parameter is stirred (no bias is 0, no norm is 1), and the batch is padded.
"""

from __future__ import annotations

from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from references import HUGGING_FACE, TORCH_DECODER, TORCH_ENCODER, hugging_face_sizes, renamed
from regard.config import TranslatorConfig
from regard.model import build
from regard.model.mask import causal
from regard.model.translator import Translator

WIDTH, HIDDEN, HEADS, LAYERS, DECODER_LAYERS = 18, 22, 3, 2, 4
SOURCES, TARGETS = 29, 31  # sizes of the two vocabularies, where there are two
LENGTHS, TARGET_LENGTHS = [7, 3, 1, 5, 6], [5, 8, 4, 1, 7]
Norm = Literal["post", "pre"]


def make(
    norm: Norm, tied: Literal["all", "target", "none"], activation: Literal["relu", "gelu"] = "relu"
) -> Translator:
    config = TranslatorConfig(
        source_vocabulary=SOURCES,
        target_vocabulary=SOURCES if tied == "all" else TARGETS,
        width=WIDTH,
        hidden=HIDDEN,
        heads=HEADS,
        layers=LAYERS,
        decoder_layers=DECODER_LAYERS,
        norm=norm,
        tied=tied,
        activation=activation,
    )
    model = build(config)
    assert isinstance(model, Translator)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model.eval()


def batch(lengths: list[int], vocabulary: int) -> tuple[Tensor, Tensor]:
    """Ids (B, T) with padding 0 at the end, and which of them are tokens."""
    tokens = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return torch.randint(3, vocabulary, tokens.shape) * tokens, tokens


def torch_transformer(model: Translator, norm: Norm, activation: str) -> nn.Transformer:
    """torch's own; after the last layer it norms once more by default, which is right for pre-norm alone."""
    sizes: dict[str, Any] = {"d_model": WIDTH, "nhead": HEADS, "dim_feedforward": HIDDEN, "activation": activation}
    layout: dict[str, Any] = {"batch_first": True, "norm_first": norm == "pre"}
    last = [nn.LayerNorm(WIDTH) if norm == "pre" else None for _ in range(2)]
    encoder_layer = nn.TransformerEncoderLayer(**sizes, **layout)
    decoder_layer = nn.TransformerDecoderLayer(**sizes, **layout)
    reference = nn.Transformer(
        d_model=WIDTH,
        nhead=HEADS,
        custom_encoder=nn.TransformerEncoder(encoder_layer, LAYERS, last[0], enable_nested_tensor=False),
        custom_decoder=nn.TransformerDecoder(decoder_layer, DECODER_LAYERS, last[1]),
        **layout,
    )
    reference.encoder.load_state_dict(renamed(model.encoder.state_dict(), TORCH_ENCODER))
    reference.decoder.load_state_dict(renamed(model.decoder.state_dict(), TORCH_DECODER))
    return reference.eval()


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_logits_are_those_of_torch_nn_transformer(norm: Norm, activation: Literal["relu", "gelu"]):
    model = make(norm, "none", activation)
    (source, readable), (target, _) = batch(LENGTHS, SOURCES), batch(TARGET_LENGTHS, TARGETS)
    reference = torch_transformer(model, norm, activation)
    with torch.no_grad():
        decoded = reference(
            model.source_position(model.source_embedding(source)),
            model.target_position(model.target_embedding(target)),
            tgt_mask=~causal(target.size(1)),
            src_key_padding_mask=~readable,
            memory_key_padding_mask=~readable,
        )
        expected = decoded @ model.output.table.weight.T
        logits = model(source, target, readable)
    assert logits.shape == (5, 8, TARGETS)
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)


THEIR_OWN = {  # their table of positions, which must then be ours; and a bias of zeros on the logits
    "model.encoder.embed_positions.weight",
    "model.decoder.embed_positions.weight",
    "final_logits_bias",
}


def assert_equal_logits(model: Translator, reference: nn.Module) -> None:
    parameters = renamed(model.state_dict(), HUGGING_FACE)
    if model.config.tied == "all":
        parameters["model.shared.weight"] = model.source_embedding.table.weight
    missing, unexpected = reference.load_state_dict(parameters, strict=False)
    assert set(missing) == THEIR_OWN
    assert not unexpected
    targets = model.config.target_vocabulary
    (source, readable), (target, _) = batch(LENGTHS, SOURCES), batch(TARGET_LENGTHS, targets)
    with torch.no_grad():
        logits = model(source, target, readable)
        expected = reference.eval()(source, readable.long(), decoder_input_ids=target, use_cache=False).logits
    assert logits.shape == (5, 8, targets)
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)


def test_logits_of_post_norm_are_those_of_marian():
    from transformers import MarianConfig, MarianMTModel

    model = make("post", "all")
    assert_equal_logits(model, MarianMTModel(MarianConfig(**hugging_face_sizes(model.config))))


def test_logits_of_two_vocabularies_are_those_of_marian():
    from transformers import MarianConfig, MarianMTModel

    model = make("post", "target")
    two = {"decoder_vocab_size": TARGETS, "share_encoder_decoder_embeddings": False}
    assert_equal_logits(model, MarianMTModel(MarianConfig(**hugging_face_sizes(model.config), **two)))


def test_logits_of_pre_norm_are_those_of_pegasus():
    from transformers import PegasusConfig, PegasusForConditionalGeneration

    model = make("pre", "all")
    sizes = hugging_face_sizes(model.config)
    assert_equal_logits(model, PegasusForConditionalGeneration(PegasusConfig(**sizes)))


def test_positions_are_marian_s_positions():
    from transformers import MarianConfig, MarianMTModel

    model = make("post", "all")
    reference = MarianMTModel(MarianConfig(**hugging_face_sizes(model.config)))
    theirs = reference.state_dict()["model.encoder.embed_positions.weight"]
    torch.testing.assert_close(model.source_position(torch.zeros(1, 40, WIDTH))[0], theirs)
