"""Folders as other people have them: networks of Hugging Face's with random parameters, and tokenizers for them.

Every size differs from every other, no bias is 0 and no norm is 1, and matrices have rows that no token has.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from conftest import DATA as DATA
from regard.run import TEXT, Run

TEXTS = [
    "It was tired, and the animal didn't cross the street.",
    "Two five one; seven six five four three two one!",
    "café naïve 日本 \N{CAT FACE}",
    "  two   spaces\n\nand lines ",
    "one",
]
WIDTH, HIDDEN, HEADS, LAYERS, POSITIONS, UNUSED = 18, 22, 3, 2, 40, 5
BERT = {
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": HIDDEN,
}
TEXTUAL = {**BERT, "max_position_embeddings": POSITIONS}
DISTILBERT = {
    "dim": WIDTH,
    "n_layers": LAYERS,
    "n_heads": HEADS,
    "hidden_dim": HIDDEN,
    "max_position_embeddings": POSITIONS,
}
GPT = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_positions": POSITIONS}
BART = {
    "d_model": WIDTH,
    "encoder_layers": LAYERS,
    "decoder_layers": 1,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": HIDDEN,
    "decoder_ffn_dim": HIDDEN,
    "max_position_embeddings": POSITIONS,
    "forced_eos_token_id": None,
}
VIT = {**BERT, "image_size": [8, 20], "patch_size": 4, "num_channels": 3}


def word_pieces(folder: Path) -> int:
    """vocab.txt as BERT has it: [PAD] first, the other special tokens after some that nobody uses."""
    letters = sorted({letter for text in TEXTS for letter in text.lower() if letter.isalnum()})
    words = [
        "the",
        "it",
        "was",
        "animal",
        "two",
        "##ed",
        "##al",
        "##ree",
        "tir",
        "st",
        "'",
        ".",
        ",",
        "!",
        ";",
        "[",
        "]",
    ]
    named = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens = list(dict.fromkeys([*named, *letters, *(f"##{letter}" for letter in letters), *words]))
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    return len(tokens)


def bytes_merged(folder: Path, first: list[str], last: list[str], kind: str) -> int:
    from tokenizers.implementations.byte_level_bpe import ByteLevelBPETokenizer

    learned = ByteLevelBPETokenizer()
    learned.train_from_iterator(iter(TEXTS), vocab_size=300, special_tokens=[*first], show_progress=False)
    learned.save_model(str(folder))
    vocabulary = json.loads((folder / "vocab.json").read_text())
    vocabulary |= {token: len(vocabulary) + place for place, token in enumerate(last)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}))
    return len(vocabulary)


def letters_merged(folder: Path) -> int:
    """As the first GPT has them: <unk>, and </w> at the end of each word."""
    from tokenizers.implementations.char_level_bpe import CharBPETokenizer

    learned = CharBPETokenizer(lowercase=True)
    learned.train_from_iterator(iter(TEXTS), vocab_size=150, special_tokens=["<unk>"], show_progress=False)
    learned.save_model(str(folder))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "OpenAIGPTTokenizer"}))
    return len(json.loads((folder / "vocab.json").read_text()))


FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>"]
Sizes = Callable[[Path], dict[str, Any]]


def of(count: Callable[[Path], int], sizes: dict[str, Any]) -> Sizes:
    return lambda folder: {**sizes, "vocab_size": count(folder) + UNUSED}


def ends(count: Callable[[Path], int], sizes: dict[str, Any]) -> Sizes:
    def described(folder: Path) -> dict[str, Any]:
        size = count(folder)
        return {**sizes, "vocab_size": size + UNUSED, "bos_token_id": size - 1, "eos_token_id": size - 1}

    return described


ROBERTA: dict[str, Any] = {**TEXTUAL, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
KINDS: dict[str, tuple[str, Sizes]] = {  # by a name for tests: the start of its classes' names, and its settings
    "bert": ("Bert", of(word_pieces, TEXTUAL)),
    "roberta": ("Roberta", of(lambda folder: bytes_merged(folder, FAIRSEQ, ["<mask>"], "RobertaTokenizer"), ROBERTA)),
    "distilbert": ("DistilBert", of(word_pieces, DISTILBERT)),
    "openai-gpt": ("OpenAIGPT", of(letters_merged, GPT)),
    "gpt2": (
        "GPT2",
        ends(lambda folder: bytes_merged(folder, [], ["<|endoftext|>"], "GPT2Tokenizer"), {**GPT, "n_inner": HIDDEN}),
    ),
    "bart": ("Bart", of(lambda folder: bytes_merged(folder, FAIRSEQ, ["<mask>"], "BartTokenizer"), BART)),
    "vit": ("ViT", lambda folder: dict(VIT)),
}


def foreign(kind: str, head: str, folder: Path, **settings: Any) -> Any:
    """A folder with a network of that kind and head, and that network."""
    import transformers

    folder.mkdir(parents=True)
    start, sizes = KINDS[kind]
    network = getattr(transformers, f"{start}{head}")
    model = network(network.config_class(**{**sizes(folder), **settings})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.add_(torch.randn_like(model.final_logits_bias))
    model.save_pretrained(folder)
    return model


def origin(run: Run) -> tuple[Tensor, set[int]]:
    """The row that each of our ids took, and which of these are copies."""
    assert run.folder
    told = json.loads((run.folder / "origin" / "rows.json").read_text())
    told = told.get("target", told)
    return torch.tensor(told["rows"]), set(told["copies"])


def own(run: Run) -> Tensor:
    """Our ids that have a row of their own."""
    rows, copies = origin(run)
    return torch.tensor([id for id in range(len(rows)) if id not in copies])


def texts_as_ids(run: Run, lengths: tuple[int, ...] = (7, 3, 1, 11)) -> tuple[Tensor, Tensor]:
    """Random ids (B, T) of our own, padded at the end, and which of them are tokens."""
    readable = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    ordinary = torch.tensor([id for id in own(run).tolist() if id not in run.tokenizers[TEXT].control])
    drawn = ordinary[torch.randint(len(ordinary), readable.shape)]
    return drawn.where(readable, torch.tensor(0)), readable
