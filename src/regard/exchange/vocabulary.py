"""Other people's sentencepiece vocabularies, put into our order of ids.

Ours begins with <pad> <unk> <s> </s>, and a decoder starts from <s>. Theirs have these anywhere, and many start from
<pad> or </s>. So each of our ids takes a row of their matrices; a few take a row that another has, and are copies:

    ours     <pad>  <unk>  <s>   </s>  ▁a  ▁b …  ▁z
    theirs   58100  1      58100 0     2   3  …  1      their decoder starts from 58100; ▁z is <unk> to it

The sentencepiece model is written anew with its pieces in that order. How it cuts text depends on pieces and scores
alone, so it cuts as before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.config.base import LARGEST
from regard.errors import RunError
from regard.exchange.folder import inside, read, read_json
from regard.extras import needed
from regard.tokens.imported import ImportedTokenizer
from regard.tokens.text import BOS, EOS, PAD, UNKNOWN, TextTokenizer

CONTROL = ("<pad>", "<unk>", "<s>", "</s>")
M2M = {  # the languages of each language_codes, in the order of their ids: Fan et al. 2021, and Tran et al. 2021
    "m2m100": "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr "
    "ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps "
    "pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu",
    "wmt21": "en ha is ja cs ru zh de",
}
SPECIAL = re.compile(r"<.+>|__\w+__|>>.+<<")  # what marks a language or stands for nothing, and is never read from text


@dataclass(frozen=True)
class Arrangement:
    """Which row of theirs each of our ids takes, and which of our ids are copies of another's row."""

    rows: tuple[int, ...]
    copies: frozenset[int]

    @classmethod
    def told(cls, told: Mapping[str, list[int]], size: int) -> Arrangement:
        """As it was written down for a vocabulary of so many ids, or a ValueError."""
        made = cls(tuple(told["rows"]), frozenset(told["copies"]))
        if len(made.rows) != size or sorted(made.rows[id] for id in made.own) != list(range(len(made.own))):
            raise ValueError("these are not the rows of such a vocabulary")
        return made

    @property
    def own(self) -> list[int]:
        """Our ids that are no copies."""
        return [id for id in range(len(self.rows)) if id not in self.copies]

    def ours(self, table: Tensor) -> Tensor:
        """Rows (or single numbers) in their order → ours."""
        return table[torch.tensor(self.rows)]

    def theirs(self, table: Tensor) -> Tensor:
        """The way back; what was a copy is left out."""
        result = torch.zeros(len(self.own), *table.shape[1:])
        result[torch.tensor([self.rows[id] for id in self.own])] = table[torch.tensor(self.own)]
        return result


@dataclass(frozen=True)
class Side:
    """A vocabulary as a folder has it: a sentencepiece model, and the ids that the network has for its pieces."""

    model: bytes
    ids: dict[str, int]


def sides(folder: Path) -> tuple[Side, Side]:
    """Source and target; the same object where they share one."""
    for name, reader in READERS.items():
        if inside(folder, name).is_file():
            return reader(folder)
    raise RunError(
        f"{folder} has none of {', '.join(READERS)}: its tokenizer is not sentencepiece, and regard reads no other of "
        "its kind"
    )


def marian(folder: Path) -> tuple[Side, Side]:
    """One table of ids for both sides, or two; a sentencepiece model for each side, which may be the same."""
    source = Side(read(folder, "source.spm"), table_of_ids(folder, "vocab.json"))
    two = inside(folder, "target_vocab.json").is_file()
    target = Side(read(folder, "target.spm"), table_of_ids(folder, "target_vocab.json") if two else source.ids)
    return (source, source) if source == target else (source, target)


def pegasus(folder: Path) -> tuple[Side, Side]:
    """Sentencepiece's own ids, moved up by 103 after <pad> and </s>, with masks in between."""
    model = read(folder, "spiece.model")
    offset = read_json(folder, "tokenizer_config.json").get("offset", 103)
    if not isinstance(offset, int) or not 0 <= offset <= LARGEST:
        raise RunError(f"{folder / 'tokenizer_config.json'} has offset={offset!r}, which is no number of ids")
    ids = {piece.piece: number + offset * (number > 1) for number, piece in enumerate(parsed(folder, model).pieces)}
    side = Side(model, ids)
    return side, side


def m2m(folder: Path) -> tuple[Side, Side]:
    """A table of ids; the languages' tokens, such as __en__, come after it, in a known order or in that of a list."""
    ids = table_of_ids(folder, "vocab.json")
    named = read_json(folder, "tokenizer_config.json") | read_json(folder, "special_tokens_map.json")
    special, codes = named.get("additional_special_tokens"), M2M.get(str(named.get("language_codes")), "")
    listed = [each for each in special if isinstance(each, str)] if isinstance(special, list) else []
    languages = [f"__{code}__" for code in codes.split()] or listed
    side = Side(
        read(folder, "sentencepiece.bpe.model"),
        ids | {language: len(ids) + number for number, language in enumerate(languages) if language not in ids},
    )
    return side, side


READERS: dict[str, Callable[[Path], tuple[Side, Side]]] = {
    "source.spm": marian,
    "spiece.model": pegasus,
    "sentencepiece.bpe.model": m2m,
}


def table_of_ids(folder: Path, name: str) -> dict[str, int]:
    ids = read_json(folder, name)
    if not ids or not all(isinstance(id, int) and 0 <= id <= LARGEST for id in ids.values()):
        raise RunError(f"{folder / name} is not a table of pieces and their ids: copy the folder again")
    return ids


def parsed(folder: Path, model: bytes) -> Any:
    """The sentencepiece model as the protocol buffer that it is."""
    needed("google.protobuf")
    try:
        return needed("sentencepiece.sentencepiece_model_pb2").ModelProto.FromString(model)
    except Exception as error:  # protobuf's own, whose place differs between its versions
        raise RunError(f"{folder} has a sentencepiece model that is damaged ({error}): copy it again") from None


def kind_of(tokenizer: TextTokenizer | ImportedTokenizer) -> str:
    """How it cuts: unigram or bpe; or as it did elsewhere."""
    if isinstance(tokenizer, ImportedTokenizer):
        return "imported"
    trained = parsed(Path(), tokenizer.processor.serialized_model_proto()).trainer_spec
    return "bpe" if trained.model_type == trained.BPE else "unigram"


def arrange(folder: Path, side: Side, size: int, roles: Mapping[str, int]) -> tuple[TextTokenizer, Arrangement]:
    """Our tokenizer for a side whose matrix has `size` rows; roles say which rows are pad, unknown, start and end."""
    if outside := {role: id for role, id in roles.items() if not 0 <= id < size}:
        raise RunError(f"{folder} has ids beyond its vocabulary of {size}: {outside}")
    proto = parsed(folder, side.model)
    first = (roles["pad"], roles["unknown"], roles["start"], roles["end"])
    copies = {BOS} if roles["start"] in (roles["pad"], roles["unknown"], roles["end"]) else set()
    if len(set(first)) + len(copies) < len(first):
        raise RunError(f"{folder} has one id for several of pad, unknown and end: {dict(roles)}")
    names = {id: piece for piece, id in side.ids.items()}
    rest = [id for id in range(size) if id not in first]
    pieces = [*CONTROL, *(name_of(id, names) for id in rest)]
    known, written = {piece.piece: piece for piece in proto.pieces}, set(pieces)
    unread = [name for name, piece in known.items() if piece.type != piece.UNKNOWN and name not in written]
    copies |= set(range(len(pieces), len(pieces) + len(unread)))
    tokenizer = in_order(proto, [*pieces, *unread], known)
    return tokenizer, Arrangement((*first, *rest, *[roles["unknown"]] * len(unread)), frozenset(copies))


def name_of(id: int, names: Mapping[int, str]) -> str:
    """The piece with that id; one that has no piece, or that of a control id of ours, gets a name of its own."""
    piece = names.get(id, "")
    return piece if piece and piece not in CONTROL else f"<{piece or 'unused'}:{id}>"


def in_order(proto: Any, pieces: list[str], known: Mapping[str, Any]) -> TextTokenizer:
    """The sentencepiece model with these pieces, in this order; those it does not know are never read from text."""
    kinds = type(proto).SentencePiece
    anew = type(proto)()
    anew.CopyFrom(proto)
    del anew.pieces[:]
    for id, piece in enumerate(pieces):
        if id == UNKNOWN:
            anew.pieces.add(piece=piece, score=0.0, type=kinds.UNKNOWN)
        elif piece in known and id > EOS:
            anew.pieces.add().CopyFrom(known[piece])
        elif id <= EOS or SPECIAL.fullmatch(piece):
            anew.pieces.add(piece=piece, score=0.0, type=kinds.CONTROL)
        elif proto.trainer_spec.model_type == proto.trainer_spec.UNIGRAM:
            anew.pieces.add(piece=piece, score=0.0, type=kinds.UNUSED)
        else:  # BPE merges by what is in its vocabulary, used or not
            raise RunError(
                f"its vocabulary has {piece}, which one of its two BPE models does not: "
                "regard takes two sentencepiece models with one table of ids only if they are unigram"
            )
    trained = anew.trainer_spec
    trained.pad_id, trained.unk_id, trained.bos_id, trained.eos_id = PAD, UNKNOWN, BOS, EOS
    trained.pad_piece, trained.unk_piece, trained.bos_piece, trained.eos_piece = CONTROL
    try:
        return TextTokenizer(anew.SerializeToString())
    except (RuntimeError, ValueError, IndexError) as error:
        raise RunError(f"its sentencepiece model cannot be put into our order: {error}") from None
