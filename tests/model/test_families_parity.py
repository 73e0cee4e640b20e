"""Each family is Hugging Face's network: our parameters in a folder of theirs give our logits, and come back unchanged.

Every size differs from every other, every parameter is stirred (no bias is 0, no norm is 1), and text is padded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.config import (
    BartConfig,
    BertConfig,
    DistilbertConfig,
    Gpt2Config,
    GptConfig,
    RobertaConfig,
    VitConfig,
)
from regard.exchange.names import BERT, DISTILBERT, GPT, GPT2, HUGGING_FACE, ROBERTA, VIT, renamed, returned
from regard.model import build
from regard.model.network import Network

WIDTH, HIDDEN, HEADS, LAYERS, VOCABULARY, POSITIONS = 18, 22, 3, 2, 29, 13
SIZES: dict[str, Any] = {"width": WIDTH, "hidden": HIDDEN, "heads": HEADS, "layers": LAYERS}
TEXT: dict[str, Any] = {**SIZES, "vocabulary": VOCABULARY, "max_positions": POSITIONS}
CLASSES, TAGS = 5, 7
LENGTHS = torch.tensor([7, 3, 1, 11])
HF_BERT = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": HIDDEN,
    "max_position_embeddings": POSITIONS,
    "type_vocab_size": 2,
}
HF_ROBERTA = HF_BERT | {
    "max_position_embeddings": POSITIONS + 2,
    "type_vocab_size": 1,
    "pad_token_id": 1,
    "layer_norm_eps": 1e-5,
}
HF_DISTILBERT = {
    "vocab_size": VOCABULARY,
    "dim": WIDTH,
    "n_layers": LAYERS,
    "n_heads": HEADS,
    "hidden_dim": HIDDEN,
    "max_position_embeddings": POSITIONS,
}
HF_GPT = {
    "vocab_size": VOCABULARY,
    "n_embd": WIDTH,
    "n_layer": LAYERS,
    "n_head": HEADS,
    "n_positions": POSITIONS,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def stirred(config: Any) -> Any:
    model = build(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model.eval()


def theirs(model: Network, architecture: str, table: Mapping[str, str], folder: Path, sizes: dict[str, Any]) -> Any:
    """Their network of a folder that holds our parameters; it must need no other, and save all of them again."""
    import transformers

    kind = getattr(transformers, architecture)
    described = {"model_type": kind.config_class.model_type, "architectures": [architecture], **sizes}
    folder.joinpath("config.json").write_text(json.dumps(described))
    ours = {name: parameter.detach() for name, parameter in model.named_parameters()}
    given = {name: tensor.contiguous() for name, tensor in renamed(ours, table).items()}
    save_file(given, folder / "model.safetensors", metadata={"format": "pt"})
    reference, told = kind.from_pretrained(folder, output_loading_info=True)
    assert not any(told.values()), told
    reference.save_pretrained(folder / "again")
    saved = load_file(folder / "again" / "model.safetensors")
    back = returned(saved, ours, table)
    assert back.keys() == ours.keys()
    for name, tensor in back.items():
        assert tensor.equal(ours[name]), name
    return reference.eval()


def text() -> tuple[Tensor, Tensor, Tensor]:
    """Ids (B, T) with padding 1 at the end, which of them are tokens, and of which segment each is."""
    readable = torch.arange(11) < LENGTHS.unsqueeze(1)
    ids = torch.randint(3, VOCABULARY, readable.shape).where(readable, torch.tensor(1))
    return ids, readable, torch.randint(2, readable.shape)


def close(logits: Tensor, expected: Tensor, shape: tuple[int, ...]) -> None:
    assert logits.shape == shape
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)


BERTS = pytest.mark.parametrize(
    ("config", "start", "table", "sizes"),
    [
        (BertConfig, "Bert", BERT, HF_BERT),
        (RobertaConfig, "Roberta", ROBERTA, HF_ROBERTA),
        (DistilbertConfig, "DistilBert", DISTILBERT, HF_DISTILBERT),
    ],
    ids=["bert", "roberta", "distilbert"],
)


def segments(model: Network, types: Tensor) -> dict[str, Tensor]:
    return {"token_type_ids": types % model.config.token_types} if model.config.token_types else {}


@BERTS
@torch.no_grad()
def test_masked_tokens(tmp_path: Path, config: type, start: str, table: dict[str, str], sizes: dict[str, Any]):
    model = stirred(config(**TEXT))
    reference = theirs(model, f"{start}ForMaskedLM", table, tmp_path, sizes)
    ids, readable, types = text()
    given = segments(model, types)
    expected = reference(ids, readable.long(), **given).logits
    close(model(ids, readable, *given.values())[readable], expected[readable], (22, VOCABULARY))
    states = model.states(ids, readable, *given.values())[readable]
    matrix, bias = model.output.table.weight, model.output_bias
    close(model.before_output(states) @ matrix.T + bias, expected[readable], (22, VOCABULARY))


@BERTS
@torch.no_grad()
def test_classes_of_texts(tmp_path: Path, config: type, start: str, table: dict[str, str], sizes: dict[str, Any]):
    model = stirred(config(**TEXT, classes=CLASSES, fills=False))
    labels = {"id2label": {i: str(i) for i in range(CLASSES)}}
    reference = theirs(model, f"{start}ForSequenceClassification", table, tmp_path, {**sizes, **labels})
    ids, readable, types = text()
    given = segments(model, types)
    expected = reference(ids, readable.long(), **given).logits
    close(model.classify(model.states(ids, readable, *given.values())), expected, (4, CLASSES))


@BERTS
@torch.no_grad()
def test_tags_of_tokens(tmp_path: Path, config: type, start: str, table: dict[str, str], sizes: dict[str, Any]):
    model = stirred(config(**TEXT, tags=TAGS, fills=False))
    labels = {"id2label": {i: str(i) for i in range(TAGS)}}
    reference = theirs(model, f"{start}ForTokenClassification", table, tmp_path, {**sizes, **labels})
    ids, readable, types = text()
    given = segments(model, types)
    expected = reference(ids, readable.long(), **given).logits
    close(model.tag(model.states(ids, readable, *given.values()))[readable], expected[readable], (22, TAGS))


@torch.no_grad()
def test_the_first_segment_is_meant_where_none_is_said():
    model, (ids, readable, types) = stirred(BertConfig(**TEXT)), text()
    assert model(ids, readable).equal(model(ids, readable, torch.zeros_like(types)))
    assert not torch.allclose(model(ids, readable), model(ids, readable, torch.ones_like(types)))


@torch.no_grad()
def test_gpt(tmp_path: Path):
    """Their feed-forward is always four times as wide as the rest."""
    sizes: dict[str, Any] = TEXT | {"hidden": 4 * WIDTH}
    model = stirred(GptConfig(**sizes))
    reference = theirs(model, "OpenAIGPTLMHeadModel", GPT, tmp_path, HF_GPT)
    ids, readable, _ = text()
    close(model(ids)[readable], reference(ids, attention_mask=readable.long()).logits[readable], (22, VOCABULARY))


@pytest.mark.parametrize("tied", [True, False])
@torch.no_grad()
def test_gpt2(tmp_path: Path, tied: bool):
    model = stirred(Gpt2Config(**TEXT, tied=tied))
    sizes = HF_GPT | {"n_inner": HIDDEN, "tie_word_embeddings": tied}
    reference = theirs(model, "GPT2LMHeadModel", GPT2, tmp_path, sizes)
    ids, readable, _ = text()
    close(model(ids)[readable], reference(ids, attention_mask=readable.long()).logits[readable], (22, VOCABULARY))


@torch.no_grad()
def test_bart(tmp_path: Path):
    sizes: dict[str, Any] = {**SIZES, "decoder_layers": 3, "max_positions": POSITIONS}
    model = stirred(BartConfig(source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY, **sizes))
    named = {
        "vocab_size": VOCABULARY,
        "d_model": WIDTH,
        "encoder_layers": LAYERS,
        "decoder_layers": 3,
        "encoder_attention_heads": HEADS,
        "decoder_attention_heads": HEADS,
        "encoder_ffn_dim": HIDDEN,
        "decoder_ffn_dim": HIDDEN,
        "max_position_embeddings": POSITIONS,
        "forced_eos_token_id": None,
    }
    table = HUGGING_FACE | {"source_embedding.table.": "model.shared.", "output_bias": "final_logits_bias¹"}
    reference = theirs(model, "BartForConditionalGeneration", table, tmp_path, named)
    source, readable, _ = text()
    target = torch.randint(3, VOCABULARY, (4, 6))
    expected = reference(source, readable.long(), decoder_input_ids=target, use_cache=False).logits
    close(model(source, target, readable), expected, (4, 6, VOCABULARY))


@torch.no_grad()
def test_vit(tmp_path: Path):
    model = stirred(VitConfig(**SIZES, picture=(8, 20), patch=4, channels=2, classes=CLASSES))
    named = {
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": HIDDEN,
        "image_size": [8, 20],
        "patch_size": 4,
        "num_channels": 2,
        "id2label": {i: str(i) for i in range(CLASSES)},
    }
    reference = theirs(model, "ViTForImageClassification", VIT, tmp_path, named)
    pictures = torch.randn(3, 2, 8, 20)
    close(model(pictures), reference(pictures).logits, (3, CLASSES))
