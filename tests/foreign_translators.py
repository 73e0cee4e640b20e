"""Folders as other people have them: Hugging Face's classes with random parameters, and vocabularies unlike ours."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from counting import pairs
from regard.run import Run

MANY = (">>fra<<", ">>deu<<", ">>cmn_Hans<<", ">>por_BR<<")
SIZES: dict[str, Any] = {
    "d_model": 12,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 20,
    "decoder_ffn_dim": 20,
    "max_position_embeddings": 40,
    "forced_eos_token_id": None,
}


def learned(texts: list[str], kind: str, **options: Any) -> bytes:
    """A vocabulary as other people have it: no bytes, Unicode's NFKC, and sentencepiece's usual ids."""
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        model_type=kind,
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=3,
        **options,
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    processor = SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(id) for id in range(len(processor))]


def marian(folder: Path, models: tuple[bytes, bytes], two: bool = False, tags: Sequence[str] = ()) -> Any:
    """As the OPUS models are: </s> is 0, <pad> is last and starts the decoder, a piece or two has no id."""
    from transformers import MarianConfig, MarianMTModel

    source, target = (pieces_of(model)[3:] for model in models)
    sets = [source[:-2], target] if two else [list(dict.fromkeys([*source[:-2], *target, *tags]))]
    tables = [{piece: id for id, piece in enumerate(["</s>", "<unk>", *names, "<pad>"])} for names in sets]
    for name, table in zip(("vocab.json", "target_vocab.json"), tables, strict=False):
        (folder / name).write_text(json.dumps(table))
    for name, model in zip(("source.spm", "target.spm"), models, strict=True):
        (folder / name).write_bytes(model)
    size, target_size = len(tables[0]), len(tables[-1])
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "MarianTokenizer", "separate_vocabs": two, "model_max_length": 40})
    )
    pad: dict[str, Any] = {"pad_token_id": size - 1, "decoder_start_token_id": size - 1}
    if two:  # then both sides must have <pad> at one id
        for name in ("vocab.json", "target_vocab.json"):
            table = json.loads((folder / name).read_text())
            del table["<pad>"]
            moved = {piece: id + (id > 1) for piece, id in table.items()}
            (folder / name).write_text(json.dumps(moved | {"<pad>": 2}))
        pad = {"pad_token_id": 2, "decoder_start_token_id": 2}
        pad |= {"decoder_vocab_size": target_size, "share_encoder_decoder_embeddings": False}
    return MarianMTModel(
        MarianConfig(**SIZES, **pad, vocab_size=size, eos_token_id=0, activation_function="swish", scale_embedding=True)
    )


def pegasus(folder: Path, models: tuple[bytes, bytes]) -> Any:
    """<pad>, </s>, masks, and then sentencepiece's ids moved up; the decoder starts from <pad>."""
    from transformers import PegasusConfig, PegasusForConditionalGeneration

    texts = [pair.source for pair in pairs(60, seed=4)]
    model = learned(texts, "unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    (folder / "spiece.model").write_bytes(model)
    (folder / "tokenizer_config.json").write_text(json.dumps({"offset": 5}))
    size = len(pieces_of(model)) + 5
    given: dict[str, Any] = {"pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": 1}
    return PegasusForConditionalGeneration(
        PegasusConfig(**SIZES, **given, vocab_size=size, activation_function="relu", scale_embedding=True)
    )


def fairseq(folder: Path, models: tuple[bytes, bytes]) -> dict[str, Any]:
    """<s> <pad> </s> <unk> as fairseq has them; the decoder starts from </s>; languages and made-up words last."""
    names = ["<s>", "<pad>", "</s>", "<unk>", *pieces_of(models[0])[3:]]
    (folder / "sentencepiece.bpe.model").write_bytes(models[0])
    (folder / "vocab.json").write_text(json.dumps({piece: id for id, piece in enumerate(names)}))
    languages = ["__de__", "__en__"]
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": languages}))
    given = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
    return {**SIZES, **given, "vocab_size": len(names) + 4}


def m2m_100(folder: Path, models: tuple[bytes, bytes]) -> Any:
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    return M2M100ForConditionalGeneration(M2M100Config(**fairseq(folder, models)))


def hundred(folder: Path, models: tuple[bytes, bytes]) -> Any:
    """M2M100 as its own tokenizer saves it: the languages are told by nothing but the name of their list."""
    from transformers import M2M100Config, M2M100ForConditionalGeneration, M2M100Tokenizer

    given = fairseq(folder, models)
    (folder / "special_tokens_map.json").unlink()
    M2M100Tokenizer(str(folder / "vocab.json"), str(folder / "sentencepiece.bpe.model")).save_pretrained(folder)
    return M2M100ForConditionalGeneration(M2M100Config(**given | {"vocab_size": given["vocab_size"] + 104}))


def bart(folder: Path, models: tuple[bytes, bytes]) -> Any:
    from transformers import BartConfig, BartForConditionalGeneration

    return BartForConditionalGeneration(BartConfig(**fairseq(folder, models), scale_embedding=False))


def foreign(kind: str, folder: Path, models: tuple[bytes, bytes], lively: bool = False) -> Any:
    """A folder of that kind with random parameters, none of them 0 or 1, and the model that is in it."""
    folder.mkdir()
    makers = {"marian": marian, "pegasus": pegasus, "m2m_100": m2m_100, "bart": bart}
    makers["marian-two"] = lambda folder, models: marian(folder, models, two=True)
    makers["marian-many"] = lambda folder, models: marian(folder, models, tags=MANY)
    makers["m2m_100-many"] = hundred
    model = makers[kind](folder, models).eval()
    with torch.no_grad():
        for parameter in (parameter for parameter in model.parameters() if parameter.requires_grad):
            parameter.add_(torch.randn_like(parameter) * 0.3)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.add_(torch.randn_like(model.final_logits_bias))
        if lively:
            enliven(model)
    model.save_pretrained(folder)
    return model


def enliven(model: Any) -> None:
    """Let what it writes differ from source to source and from step to step, and come to an end at times."""
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 and parameter.requires_grad:
            torch.nn.init.normal_(parameter, std=0.5 if name == "model.shared.weight" else 1.5)
    model.model.shared.weight[model.config.eos_token_id] *= 2


def their_ids(run: Run, side: str) -> torch.Tensor:
    """For each of our ids, the row that it took; −1 for what is a copy."""
    assert run.folder
    told = json.loads((run.folder / "origin" / "rows.json").read_text())[side]
    rows = torch.tensor(told["rows"])
    rows[torch.tensor(told["copies"], dtype=torch.long)] = -1
    return rows
