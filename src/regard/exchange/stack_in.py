"""A folder of one of their networks of one stack as a run: BERT, RoBERTa, DistilBERT, GPT, GPT-2, ViT.

The header of its parameters must show the network that config.json describes before a number is read. What our network
has no place for (a pooler that nothing asks, masks that older files keep) waits in `origin/` for the way back.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from regard import __version__
from regard.config import Settings, validate
from regard.errors import RunError
from regard.exchange import tokenizer_in
from regard.exchange.folder import CONFIG, ORIGIN, ROWS, keep, read_json, whole, written_whole
from regard.exchange.names import elsewhere, renamed, returned
from regard.exchange.stacks import ROWS_OF, Head, Stack
from regard.exchange.stored import Stored
from regard.exchange.vocabulary import Arrangement
from regard.model import build
from regard.model.gpt import NEVER
from regard.run import TEXT, Run
from regard.tokens.imported import ImportedTokenizer

BY_ID = ("embedding.table.weight", "output.table.weight", "output_bias")  # ours that have a row for each id
MOST = 1 << 20  # classes, whatever a header says
PREPROCESSOR, PREPROCESSED = "preprocessor_config.json", ("image_mean", "image_std")
STORED, REST = "stored.json", "rest.safetensors"  # in origin/: what their file said of itself, and what is not ours


def adopt(folder: Path, out: Path, row: Stack, given: Mapping[str, Any]) -> Run:
    described = {**row.usual, **shades(folder), **given}
    head, stored = head_of(folder, row, described), Stored(folder)
    theirs = settings_for(folder, row, head, described, stored)
    with torch.device("meta"):  # takes no memory, whatever sizes the settings claim
        expected = renamed(dict(build(theirs.model).named_parameters()), row.names)
    check(stored, row, expected)
    doubled = twice(stored, row, expected)
    tokenizer, rows = vocabulary(folder, row, described)
    settings = with_vocabulary(theirs, tokenizer, rows)
    run = Run(settings, build(settings.model).eval(), {TEXT: tokenizer} if tokenizer else {})
    fill(run.model, stored, row, rows)
    ours = {*doubled, *(spelled(name, row, stored.shapes) for name in expected)}
    with written_whole(out) as place:
        run.save(place)
        keep(folder, place)
        origin = place / ORIGIN
        (origin / STORED).write_text(json.dumps({"types": stored.types, "metadata": stored.metadata}))
        (origin / ROWS).write_text(json.dumps({"rows": rows.rows, "copies": sorted(rows.copies)}))
        save_file({name: stored.raw(name) for name in stored.shapes if name not in ours}, origin / REST)
    run.folder = out
    return run


def shades(folder: Path) -> dict[str, Any]:
    """What a folder for pictures subtracts from their brightness and divides it by, where it says so."""
    told = read_json(folder, PREPROCESSOR)
    if told.get("do_normalize", True) is False:
        return {"image_mean": [0.0], "image_std": [1.0]}
    return {name: told[name] for name in PREPROCESSED if name in told}


def head_of(folder: Path, row: Stack, described: Mapping[str, Any]) -> Head:
    """What the class that the folder names has on top; where it names none, nothing."""
    match described.get("architectures"):
        case [str(held), *_]:
            name = held.removeprefix(row.named)
        case _:
            held = name = "Model"
    if name not in row.heads:
        known = ", ".join(f"{row.named}{each}" for each in row.heads)
        raise RunError(
            f"{folder} holds a {held}, whose head regard does not have: it takes {known}; "
            "AutoModel of transformers loads and saves the network without its head"
        )
    return row.heads[name]


def settings_for(folder: Path, row: Stack, head: Head, described: Mapping[str, Any], stored: Stored) -> Settings:
    """Our settings of their network, with their number of ids."""
    where = str(folder / CONFIG)
    for name, value in row.demanded.items():
        if described.get(name, value) != value:
            raise RunError(
                f"{where} has {name}={described[name]!r}, and regard knows such a network with {value!r} alone"
            )
    for name in {row.sizes["width"], row.sizes.get("max_positions"), "pad_token_id"} & row.usual.keys():
        whole(folder, described, name)  # those that are reckoned with
    try:
        model = row.ours(described)
    except ValueError as error:
        raise RunError(f"{where} has {error}") from None
    model |= dict.fromkeys((each.counted for each in row.heads.values() if each.counted), 0)
    labels: list[str] = []
    if head.counted in ROWS_OF:
        (output,) = elsewhere(ROWS_OF[head.counted], row.names)
        count = stored.shapes.get(spelled(output, row, stored.shapes), (1,))[0]
        labels = labels_in(described, min(count, MOST))
    given = {
        "version": __version__,
        "data": {"source": f"imported from {row.named}", "labels": labels},
        "model": model | ({head.counted: len(labels) or True} if head.counted else {}),
        "train": {"task": head.task},
    }
    return validate(Settings, given, where)


def labels_in(described: Mapping[str, Any], count: int) -> list[str]:
    """What their classes are called, by number; as transformers calls them where that is not said."""
    told = described.get("id2label")
    names = told if isinstance(told, dict) else {}
    return [str(names.get(str(number), f"LABEL_{number}")) for number in range(count)]


def spelled(name: str, row: Stack, found: Container[str]) -> str:
    """What a file calls a parameter: perhaps without the name of its network, perhaps with TensorFlow's for a norm."""
    for each in (name, name.removeprefix(row.body)):
        older = each.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        for form in (each, older):
            if form in found:
                return form
    return name


def check(stored: Stored, row: Stack, expected: Mapping[str, Tensor]) -> None:
    """Before a number of their file is read: it must have all that we expect, in the shapes that we expect."""
    for name, tensor in expected.items():
        there = spelled(name, row, stored.shapes)
        if (found := stored.shapes.get(there, "missing")) != tuple(tensor.shape):
            raise RunError(
                f"{stored.path} does not hold the model that {CONFIG} describes: "
                f"{there} should be {tuple(tensor.shape)} and is {found}"
            )


def twice(stored: Stored, row: Stack, expected: Container[str]) -> dict[str, str]:
    """Which parameters the file has once more, and under which name it has them first; they must be the same."""
    names = {name: spelled(first, row, stored.shapes) for name, first in row.again.items() if name not in expected}
    found = {name: first for name, first in names.items() if name in stored.shapes}
    for name, first in found.items():
        if stored.shapes[name] != stored.shapes.get(first) or not stored.load(name).equal(stored.load(first)):
            raise RunError(f"{stored.path} has {name} apart from {first}, where regard's networks have one for both")
    return found


def vocabulary(folder: Path, row: Stack, described: Mapping[str, Any]) -> tuple[ImportedTokenizer | None, Arrangement]:
    if row.older is None:
        return None, Arrangement((), frozenset())
    return tokenizer_in.arranged(folder, row.older, row.specials, whole(folder, described, "vocab_size"))


def with_vocabulary(settings: Settings, tokenizer: ImportedTokenizer | None, rows: Arrangement) -> Settings:
    """The settings for our number of ids, a few of which may be copies."""
    if tokenizer is None:
        return settings
    absent = {"absent": tuple(sorted(rows.copies))} if "absent" in type(settings.model).model_fields else {}
    kind = settings.tokenizer.model_copy(update={"kind": "imported", "size": max(300, len(tokenizer))})
    model = settings.model.model_copy(update={"vocabulary": len(tokenizer), **absent})
    return settings.model_copy(update={"tokenizer": kind, "model": model})


def fill(model: nn.Module, stored: Stored, row: Stack, rows: Arrangement) -> None:
    """Copy their parameters into the model, one after the other, so that a large file is in memory once."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parts = {each: stored.load(spelled(each, row, stored.shapes)) for each in elsewhere(name, row.names)}
            tensor = returned(parts, [name], row.names)[name]
            parameter.copy_(rows.ours(tensor) if name in BY_ID else tensor)
            if name == "output_bias":
                parameter[torch.tensor(sorted(rows.copies), dtype=torch.long)] = NEVER
