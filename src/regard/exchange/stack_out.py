"""A run of one stack as a folder of theirs: with the very files that it came with, or with files of ours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard import __version__
from regard.config import StackConfig
from regard.errors import ConfigError, RunError
from regard.exchange.folder import (
    CONFIG,
    GENERATION,
    ORIGIN,
    ROWS,
    give_back,
    inside,
    read_json,
    write_json,
    written_whole,
)
from regard.exchange.names import renamed
from regard.exchange.stack_in import BY_ID, PREPROCESSED, PREPROCESSOR, REST, STORED, spelled
from regard.exchange.stacks import STACKS, Head, Stack
from regard.exchange.stored import TYPES
from regard.exchange.tokenizer_out import write_tokenizer
from regard.exchange.vocabulary import Arrangement
from regard.model import build, parameters
from regard.run import PARAMETERS, TEXT, Run
from regard.tokens.text import BOS, EOS, PAD

KINDS = {row.family: kind for kind, row in STACKS.items()}  # by the family of ours
ROLES = {"pad": PAD, "bos": BOS, "eos": EOS}
LANCZOS = 1  # as their files number it
README = "README.md"


def export(run: Run, out: Path) -> None:
    kind = KINDS[run.settings.model.family]
    with written_whole(out) as folder:
        if run.folder and inside(run.folder, f"{ORIGIN}/{STORED}").is_file():
            give_back(run.folder, folder, without=(STORED, ROWS))
            as_it_came(run, run.folder, STACKS[kind], folder)
        else:
            as_trained(run, kind, folder)


def as_it_came(run: Run, place: Path, row: Stack, folder: Path) -> None:
    """The parameters under the names, in the order of ids and in the precision that their file had."""
    origin = place / ORIGIN
    told, rows = read_json(place, f"{ORIGIN}/{STORED}"), read_json(place, f"{ORIGIN}/{ROWS}")
    try:
        size = len(run.tokenizers[TEXT]) if TEXT in run.tokenizers else 0
        tensors = renamed(in_their_order(run, Arrangement.told(rows, size)), row.names)
        found = {spelled(name, row, told["types"]): tensor for name, tensor in tensors.items()}
        for name, first in row.again.items():
            if name in told["types"] and name not in found:
                found[name] = found[spelled(first, row, found)]
        kept = load_file(inside(place, f"{ORIGIN}/{REST}"))
        cast = {name: tensor.to(TYPES[told["types"][name]]) for name, tensor in found.items()} | kept
        if cast.keys() != told["types"].keys():
            raise ValueError("some are missing")
        write(cast, folder, told["metadata"])
    except (KeyError, TypeError, ValueError, OSError):
        raise RunError(f"{origin} does not fit the run: import it again") from None


def as_trained(run: Run, kind: str, folder: Path) -> None:
    """A new folder, with the head of the run's task alone."""
    config, row = run.settings.model, STACKS[kind]
    assert isinstance(config, StackConfig)
    name, head = next((name, head) for name, head in row.heads.items() if suits(head, run))
    if reason := row.lack(config):
        raise ConfigError(f"no network of transformers is this run's: {row.named}{name} {reason}; keep the run")
    without = {each.counted: 0 for each in row.heads.values() if each.counted not in ("", head.counted)}
    with torch.device("meta"):
        wanted = parameters.shapes(build(config.model_copy(update=without)))
    rows = order_of(run, row)
    ours = {each: tensor for each, tensor in in_their_order(run, rows).items() if each in wanted}
    bare = row.body if name == "Model" else ""
    tensors = {each.removeprefix(bare): tensor for each, tensor in renamed(ours, row.names).items()}
    write(tensors, folder, {"format": "pt"})
    described = row.theirs(config)
    seen = {each: described.pop(each) for each in PREPROCESSED if each in described}
    if seen:
        write_json(folder, PREPROCESSOR, preprocessor(config, seen))
    if TEXT in run.tokenizers:
        described |= {f"{role}_token_id": row.order[id] for role, id in ROLES.items()}
        write_tokenizer(run, rows, row.closed, described[row.sizes["max_positions"]], folder)
    if run.task == "write":
        write_json(folder, GENERATION, generation(run, row))
    labels = dict(enumerate(run.settings.data.labels))
    named = {"id2label": labels, "label2id": {label: id for id, label in labels.items()}} if labels else {}
    first = {"model_type": kind, "architectures": [row.named + name]}
    write_json(folder, CONFIG, {**first, **described, **named, "dtype": "float32"})
    (folder / README).write_text(card(run, row.named + name), encoding="utf-8")


def suits(head: Head, run: Run) -> bool:
    return head.task == run.task and (not head.counted or bool(getattr(run.settings.model, head.counted)))


def order_of(run: Run, row: Stack) -> Arrangement:
    """Their row of each of our ids: the first few may be elsewhere, the others stay."""
    size = len(run.tokenizers[TEXT]) if TEXT in run.tokenizers else 0
    return Arrangement((*row.order, *range(len(row.order), size))[:size], frozenset())


def in_their_order(run: Run, rows: Arrangement) -> dict[str, Tensor]:
    tensors = {name: parameter.detach().float().cpu() for name, parameter in run.model.named_parameters()}
    return {name: rows.theirs(tensor) if name in BY_ID else tensor for name, tensor in tensors.items()}


def write(tensors: Mapping[str, Tensor], folder: Path, metadata: dict[str, str]) -> None:
    save_file({name: tensor.contiguous().clone() for name, tensor in tensors.items()}, folder / PARAMETERS, metadata)


def preprocessor(config: Any, seen: Mapping[str, Any]) -> dict[str, Any]:
    """How a picture is to be made numbers: to its size, 0 … 1, and by mean and deviation."""
    height, width = config.picture
    return {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": height, "width": width},
        "resample": LANCZOS,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        **{name: list(numbers) * (config.channels if len(numbers) == 1 else 1) for name, numbers in seen.items()},
    }


def generation(run: Run, row: Stack) -> dict[str, Any]:
    """How it draws, in their words."""
    decode = run.settings.decode
    return {
        **{f"{role}_token_id": row.order[id] for role, id in ROLES.items()},
        "do_sample": True,
        "temperature": decode.temperature,
        "top_k": decode.top_k,
        "top_p": decode.top_p,
        "suppress_tokens": sorted(order_of(run, row).rows[id] for id in run.tokenizers[TEXT].unwritten),
        "renormalize_logits": True,  # what is never written leaves its probability to the others
    }


CARD = """# {architecture}, of regard {version}

```python
from transformers import {reader}, {architecture}

reader, model = {reader}.from_pretrained("."), {architecture}.from_pretrained(".")
print(model(**reader({example}, return_tensors="pt")))
```
{note}"""
TYPED = """
The tokenizer is regard's, and gives text the ids that it has there; a typed {start} or {end} has a meaning here that it
does not have there.
"""
FITTED = """
regard cuts a picture of another shape at its longer sides; transformers squeezes it.
"""


def card(run: Run, architecture: str) -> str:
    told = {"reader": "AutoImageProcessor", "example": "picture", "note": FITTED}
    if TEXT in run.tokenizers:
        start, end = run.tokenizers[TEXT].pieces([BOS, EOS])
        told = {"reader": "AutoTokenizer", "example": '"A text."', "note": TYPED.format(start=start, end=end)}
    return CARD.format(architecture=architecture, version=__version__, **told)
