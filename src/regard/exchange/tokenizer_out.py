"""Our tokenizers as a `tokenizer.json`, which the `tokenizers` library and transformers read.

The library has what ours are made of: unigram models and merges, bytes for what has no token, and replacements that
normalise as we do. So text gets the ids that it has here; only a special token that somebody types is text here and
none there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regard.exchange.folder import write_json
from regard.exchange.tokenizer_in import FILE, SETTINGS, Described, ids_of, in_order, opened_and_closed
from regard.exchange.vocabulary import Arrangement
from regard.run import TEXT, Run
from regard.tokens.characters import CharacterTokenizer
from regard.tokens.imported import ImportedTokenizer
from regard.tokens.text import BOS, EOS, PAD, SPACES, UNKNOWN, TextTokenizer

TYPED_BYTES = {  # <0x41> that somebody types is six characters: after the first of them the text is cut
    "type": "Split",
    "pattern": {"Regex": "<(?=0x[0-9A-F]{2}>)"},
    "behavior": "MergedWithPrevious",
    "invert": False,
}
BELOW = 1000.0  # what no text is to be cut into scores so much less than the least likely token


def write_tokenizer(run: Run, rows: Arrangement, closed: bool, longest: int, folder: Path) -> None:
    """tokenizer.json, each of our ids in its row of theirs, and tokenizer_config.json."""
    tokenizer = run.tokenizers[TEXT]
    described = described_as(tokenizer, run.settings.tokenizer.kind, lines=run.task == "write")
    names = {id: token for token, id in ids_of(described).items()}
    tokens = {row: names[id] for id, row in enumerate(rows.rows)}
    roles = {"pad": PAD, "unk": UNKNOWN, "cls": BOS, "sep": EOS, "bos": BOS, "eos": EOS, "mask": tokenizer.mask}
    specials = {role: names[id] for role, id in roles.items()}
    around = opened_and_closed(specials)
    if not closed:
        around["single"], around["pair"] = around["single"][:-1], around["pair"][:-1]
    apart = {names[id] for id in tokenizer.control}
    in_rows = [tokens[row] for row in range(len(tokens))]
    write_json(folder, FILE, in_order({**described, "post_processor": around}, in_rows, apart))
    told = {f"{role}_token": token for role, token in specials.items()}
    rest = {"model_max_length": longest, "clean_up_tokenization_spaces": False}
    write_json(folder, SETTINGS, {"tokenizer_class": "PreTrainedTokenizerFast", **told, **rest})


def described_as(tokenizer: Any, kind: str, lines: bool) -> Described:
    match tokenizer:
        case ImportedTokenizer():
            return tokenizer.described
        case CharacterTokenizer():
            return by_character(tokenizer)
        case TextTokenizer():
            model = merges(tokenizer) if kind == "bpe" else unigram(tokenizer)
            how = line_by_line() if lines else as_one_line()
            return {"version": "1.0", **how, "pre_tokenizer": TYPED_BYTES, "model": model}
        case other:
            raise TypeError(f"{type(other).__name__} is no tokenizer of text")


def by_character(tokenizer: CharacterTokenizer) -> Described:
    """BPE without a merge: characters, and bytes for those that are no tokens."""
    pieces = [*tokenizer.pieces(range(tokenizer.first)), *tokenizer.characters]
    return {
        "version": "1.0",
        "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": bpe({piece: id for id, piece in enumerate(pieces)}, []),
    }


def unigram(tokenizer: TextTokenizer) -> Described:
    processor = tokenizer.processor
    spelled = {id for id in range(len(tokenizer)) if id in tokenizer.control or processor.is_byte(id)}
    scores = [processor.get_score(id) for id in range(len(tokenizer))]
    least = min(score for id, score in enumerate(scores) if id not in spelled) - BELOW
    pieces = tokenizer.pieces(range(len(tokenizer)))
    vocabulary = [[piece, least if id in spelled else scores[id]] for id, piece in enumerate(pieces)]
    return {"type": "Unigram", "unk_id": UNKNOWN, "vocab": vocabulary, "byte_fallback": True}


def merges(tokenizer: TextTokenizer) -> Described:
    """sentencepiece joins any two tokens whose join is one, the likeliest first: so each cut of a token is a merge."""
    processor = tokenizer.processor
    ids = {piece: id for id, piece in enumerate(tokenizer.pieces(range(len(tokenizer))))}
    plain = {piece: id for piece, id in ids.items() if id not in tokenizer.control and not processor.is_byte(id)}
    ranked = sorted(plain, key=lambda piece: -processor.get_score(plain[piece]))
    cuts = [(piece[:at], piece[at:]) for piece in ranked for at in range(1, len(piece))]
    return bpe(ids, [[left, right] for left, right in cuts if left in plain and right in plain])


def bpe(ids: dict[str, int], merges: list[list[str]]) -> Described:
    return {
        "type": "BPE",
        "unk_token": "<unk>",
        "fuse_unk": True,
        "byte_fallback": True,
        "vocab": ids,
        "merges": merges,
    }


def as_one_line() -> Described:
    """`tokens.text.normalise`, a ▁ in front and for each space; and the way back."""
    return {
        "normalizer": sequence(
            replaced(SPACES.pattern, " "), replaced(r"\A | \z", ""), NFC, PREPENDED, replaced(" ", "▁")
        ),
        "decoder": decoded(),
    }


def line_by_line() -> Described:
    """`tokens.lines.Lines`: the same for each line, and the byte of a line break between them."""
    return {
        "normalizer": sequence(
            replaced(SPACES.pattern.replace("\n", ""), " "),
            replaced(" ?\n ?", "\n"),
            replaced(r"\A | \z", ""),
            NFC,
            PREPENDED,
            replaced(" ", "▁"),
            replaced("\n(?=[^\n])", "\n▁"),
            replaced("\\A▁\n", "\n"),
        ),
        "decoder": decoded({"type": "Replace", "pattern": {"String": "\n "}, "content": "\n"}),
    }


NFC = {"type": "NFC"}
PREPENDED = {"type": "Prepend", "prepend": "▁"}


def sequence(*parts: Described) -> Described:
    return {"type": "Sequence", "normalizers": list(parts)}


def replaced(pattern: str, content: str) -> Described:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def decoded(*last: Described) -> Described:
    spaces = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    first = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    return {"type": "Sequence", "decoders": [spaces, {"type": "ByteFallback"}, {"type": "Fuse"}, first, *last]}
