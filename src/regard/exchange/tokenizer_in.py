"""Other people's tokenizers as the `tokenizers` library has them, read from a folder and put into our order of ids.

    tokenizer.json                 as it is
    vocab.txt                      WordPiece: BERT, DistilBERT
    vocab.json and merges.txt      BPE: over bytes in GPT-2, RoBERTa and BART, over letters in the first GPT

Ours begins with <pad> <unk> <s> </s>. As with sentencepiece (vocabulary.py), each of our ids takes a row of their
matrices, and one that they lack takes the row of another and is a copy. How text is cut depends on the tokens and not
on their ids, so it is cut as before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.errors import RunError
from regard.exchange.folder import inside, read, read_json
from regard.exchange.vocabulary import Arrangement, table_of_ids
from regard.tokens.imported import COPIES, ImportedTokenizer
from regard.tokens.text import BOS, EOS, PAD, UNKNOWN

Described = dict[str, Any]  # what a tokenizer.json holds
Specials = Mapping[str, str]  # the tokens that have a role: "cls" is [CLS]
Older = Callable[[Path, Specials], Described]  # reads a folder that has no tokenizer.json yet

FILE, SETTINGS, MAP = "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"
NAMED = ("pad", "unk", "bos", "eos", "cls", "sep", "mask")  # and _token, in their files
ROLES = {PAD: ("pad",), UNKNOWN: ("unk",), BOS: ("cls", "bos", "eos"), EOS: ("sep", "eos")}  # the first that there is


def arranged(
    folder: Path, older: Older, usual: Specials, size: int, start: int | None = None
) -> tuple[ImportedTokenizer, Arrangement]:
    """The folder's tokenizer for matrices of `size` rows, and the row that each of our ids takes.

    `start` is what a decoder reads first, where that is another than what opens a text.
    """
    specials = {**usual, **named_in(folder)}
    described = read_json(folder, FILE) or older(folder, specials)
    try:
        ids = ids_of(described)
        roles = {id: ids[specials[name]] for id, name in roles_of(specials, ids).items()}
        rows = rows_for(folder, size, roles | ({} if start is None else {BOS: start}), max(ids.values()))
        names = {id: token for token, id in ids.items()}
        tokens = [names.get(row, f"<unused:{row}>") for row in rows.rows]
        for id in rows.copies:
            tokens[id] = COPIES[id]
        apart = {*specials.values(), *(token for token in tokens if token not in ids)}
        return ImportedTokenizer(json.dumps(in_order(described, tokens, apart), ensure_ascii=False)), rows
    except RunError:
        raise
    except Exception as error:  # the library raises Exception itself
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise RunError(f"{folder} has a tokenizer that cannot be read ({reason}): copy it again") from None


def named_in(folder: Path) -> dict[str, str]:
    """The special tokens that the folder names, either as texts or as objects with their content."""
    told = {**read_json(folder, MAP), **read_json(folder, SETTINGS)}
    found = {name: told.get(f"{name}_token") for name in NAMED}
    texts = {name: each.get("content") if isinstance(each, dict) else each for name, each in found.items()}
    return {name: text for name, text in texts.items() if isinstance(text, str)}


def ids_of(described: Described) -> dict[str, int]:
    vocabulary = described["model"]["vocab"]
    if isinstance(vocabulary, list):  # a unigram model's, with scores
        vocabulary = {token: id for id, (token, _) in enumerate(vocabulary)}
    return {**vocabulary, **{each["content"]: each["id"] for each in described.get("added_tokens") or ()}}


def roles_of(specials: Specials, ids: Mapping[str, int]) -> dict[int, str]:
    """For each of our first ids that they have, what they call its role."""
    there = {id: [name for name in names if specials.get(name) in ids] for id, names in ROLES.items()}
    return {id: names[0] for id, names in there.items() if names}


def rows_for(folder: Path, size: int, roles: Mapping[int, int], last: int) -> Arrangement:
    """Our first ids by their roles, the others in their order; whoever has no row of its own takes that of the end."""
    if max(last, *roles.values(), 0) >= size:
        raise RunError(f"{folder} has ids beyond its vocabulary of {size}: its tokenizer is another network's")
    if EOS not in roles and UNKNOWN not in roles:
        raise RunError(f"{folder} names neither an end nor an unknown token in {SETTINGS}: regard needs one of them")
    own: dict[int, int] = {}
    for id in (EOS, UNKNOWN, BOS, PAD):
        if id in roles and roles[id] not in own.values():
            own[id] = roles[id]
    first = [roles.get(id, roles[EOS if EOS in roles else UNKNOWN]) for id in range(EOS + 1)]
    rest = [row for row in range(size) if row not in own.values()]
    return Arrangement((*first, *rest), frozenset(id for id in range(EOS + 1) if id not in own))


def in_order(described: Described, tokens: Sequence[str], apart: set[str]) -> Described:
    """The same tokenizer with these tokens as 0, 1, 2 …; those `apart` are never read from text."""
    ids = {token: id for id, token in enumerate(tokens)}
    model = dict(described["model"])
    if isinstance(model["vocab"], list):
        scores = dict(model["vocab"])
        model["vocab"] = [[token, scores.get(token, min(scores.values()))] for token in tokens]
        model["unk_id"] = UNKNOWN
    else:
        model["vocab"] = ids
    known = {each["content"]: each for each in described.get("added_tokens") or ()}
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    added = [
        {**plain, "content": token, **known.get(token, {}), "id": id, **({"special": True} if token in apart else {})}
        for token, id in ids.items()
        if token in apart or token in known
    ]
    put = described.get("post_processor")
    return {
        **described,
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "post_processor": put and processing(put, ids),
        "model": model,
    }


def processing(put: Described, ids: Mapping[str, int]) -> Described:
    """What is put around a text, by the new ids of its tokens."""
    match put:
        case {"type": "Sequence", "processors": [*parts]}:
            return {**put, "processors": [processing(each, ids) for each in parts]}
        case {"special_tokens": {**tokens}}:
            told = {name: {**each, "ids": [ids[token] for token in each["tokens"]]} for name, each in tokens.items()}
            return {**put, "special_tokens": told}
        case {"sep": [str(sep), _], "cls": [str(cls), _]}:
            return {**put, "sep": [sep, ids[sep]], "cls": [cls, ids[cls]]}
        case _:
            return put


# ------------------------------------------------------------------------------------- folders without tokenizer.json


def wordpiece(folder: Path, specials: Specials) -> Described:
    """vocab.txt, a token a line                                                               Devlin et al. 2019"""
    lines = text_of(folder, "vocab.txt").removesuffix("\n").split("\n")
    told = read_json(folder, SETTINGS)
    return {
        "version": "1.0",
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": told.get("tokenize_chinese_chars", True),
            "strip_accents": told.get("strip_accents"),
            "lowercase": told.get("do_lower_case", True),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": around(specials),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": specials["unk"],
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {line.removesuffix("\r"): id for id, line in enumerate(lines)},
        },
    }


def byte_level(folder: Path, specials: Specials) -> Described:
    """vocab.json and merges.txt, over the bytes of UTF-8 drawn as letters                     Radford et al. 2019"""
    spaced = bool(read_json(folder, SETTINGS).get("add_prefix_space", False))
    bytewise = {"type": "ByteLevel", "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "normalizer": None,
        "pre_tokenizer": {**bytewise, "add_prefix_space": spaced},
        "post_processor": around(specials),
        "decoder": {**bytewise, "add_prefix_space": True},
        "model": {"type": "BPE", "unk_token": None, **merging(folder)},
    }


def letters(folder: Path, specials: Specials) -> Described:
    """vocab.json and merges.txt, over small letters, where </w> ends a word                    Radford et al. 2018"""
    ending = "</w>"
    return {
        "version": "1.0",
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": {"type": "BPEDecoder", "suffix": ending},
        "model": {"type": "BPE", "unk_token": specials["unk"], "end_of_word_suffix": ending, **merging(folder)},
    }


def merging(folder: Path) -> Described:
    lines = text_of(folder, "merges.txt").split("\n")
    merges = [line.split(" ") for line in lines if line and not line.startswith("#version")]
    return {"vocab": table_of_ids(folder, "vocab.json"), "merges": merges}


def around(specials: Specials) -> Described | None:
    return opened_and_closed(specials) if {"cls", "sep"} <= specials.keys() else None


def opened_and_closed(specials: Specials) -> Described:
    """A text between two tokens, such as [CLS] and [SEP]; two texts have one more between them."""
    cls, first, sep, second, end = (
        {"SpecialToken": {"id": specials["cls"], "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": specials["sep"], "type_id": 0}},
        {"Sequence": {"id": "B", "type_id": 1}},
        {"SpecialToken": {"id": specials["sep"], "type_id": 1}},
    )
    tokens = {token: {"id": token, "ids": [0], "tokens": [token]} for token in (specials["cls"], specials["sep"])}
    return {
        "type": "TemplateProcessing",
        "single": [cls, first, sep],
        "pair": [cls, first, sep, second, end],
        "special_tokens": tokens,
    }


def text_of(folder: Path, name: str) -> str:
    if not inside(folder, name).is_file():
        raise RunError(f"{folder} has no {FILE} and no {name}: copy the tokenizer's files into it, too")
    try:
        return read(folder, name).decode()
    except UnicodeDecodeError:
        raise RunError(f"{folder / name} is not UTF-8: copy it again") from None
