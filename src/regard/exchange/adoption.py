"""Folders of Hugging Face's transformers as runs, from safetensors alone; here Marian, Pegasus, M2M100 and BART.

What a folder brought with it is kept in the run's `origin/`, so that the way in and out again changes no number. The
networks of one stack are in stack_in.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard import __version__
from regard.config import DecodeConfig, Settings, TranslatorConfig, validate
from regard.errors import RunError
from regard.exchange import stack_in, tokenizer_in
from regard.exchange.folder import CONFIG, GENERATION, ORIGIN, ROWS, inside, keep, read_json, whole, written_whole
from regard.exchange.huggingface import BIAS, EMBEDDINGS, FAMILIES, OUTPUT, POSITIONS, SHARED, THEIR_BIAS
from regard.exchange.names import HUGGING_FACE, elsewhere
from regard.exchange.stacks import STACKS
from regard.exchange.stored import Stored
from regard.exchange.vocabulary import READERS, Arrangement, Side, arrange, kind_of, sides
from regard.model import build, parameters
from regard.model.gpt import NEVER
from regard.model.position import sinusoids
from regard.model.translator import Translator
from regard.run import Run
from regard.tokens.imported import ImportedTokenizer
from regard.tokens.text import TextTokenizer

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}
Vocabulary = tuple[TextTokenizer | ImportedTokenizer, Arrangement]


def adopt(folder: Path, out: Path) -> Run:
    """A folder of theirs as a run of ours. Nothing in it is executed, and nothing outside of it is read."""
    given = read_json(folder, CONFIG)
    kind = given.get("model_type")
    if isinstance(kind, str) and kind in STACKS:
        return stack_in.adopt(folder, out, STACKS[kind], given)
    if isinstance(kind, str) and kind in FAMILIES:
        return adopt_translator(folder, out, kind, given)
    known = ", ".join((*FAMILIES, *STACKS))
    raise RunError(f"{folder} is not a model that regard imports: its {CONFIG} should have a model_type of {known}")


def adopt_translator(folder: Path, out: Path, kind: str, given: Mapping[str, Any]) -> Run:
    described = description(kind, given)
    stored = Stored(folder)
    shapes = stored.shapes
    if not any(shape[:1] == (whole(folder, described, "vocab_size"),) for shape in shapes.values()):
        raise RunError(
            f"{stored.path} has no matrix of {described['vocab_size']} rows, which {folder / CONFIG} calls vocab_size"
        )
    (reads, source_rows), (writes, target_rows) = vocabularies(folder, kind, described)
    bias = bias_in(stored, target_rows)
    biased = bool(target_rows.copies or bias.any())
    settings = settings_for(folder, kind, described, reads, writes, biased)
    assert isinstance(settings.model, TranslatorConfig)  # what settings are of that name no family
    with torch.device("meta"):  # takes no memory, whatever sizes the settings claim
        expected = parameters.shapes(build(settings.model))
    origins = {name: names_there(name, shapes, described) for name in expected if name != BIAS}
    rows = {EMBEDDINGS["source"]: source_rows, EMBEDDINGS["target"]: target_rows, OUTPUT: target_rows}
    check_shapes(stored, expected, origins, rows)
    if settings.model.position == "halves":
        check_positions(stored, settings.model)
    model = build(settings.model)
    fill(model, stored, origins, rows)
    if model.output_bias is not None:
        model.output_bias.data.copy_(target_rows.ours(bias))
        model.output_bias.data[torch.tensor(sorted(target_rows.copies), dtype=torch.long)] = NEVER
    run = Run(settings, model.eval(), {"source": reads, "target": writes})
    with written_whole(out) as place:
        run.save(place)
        keep(folder, place)
        keep_rows(place, source_rows, target_rows)
    run.folder = out
    return run


def description(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A config.json with what it may leave out."""
    usual = {
        "activation_function": "gelu",
        "scale_embedding": False,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "max_position_embeddings": 1024,
    }
    return {**usual, **FAMILIES[kind].defaults, **given}


def bias_in(stored: Stored, rows: Arrangement) -> Tensor:
    """The bias of the logits in the order of their ids; zeros where the file has none."""
    size = len(rows.own)
    if THEIR_BIAS not in stored.shapes:
        return torch.zeros(size)
    if (shape := stored.shapes[THEIR_BIAS]) != (1, size):
        raise RunError(f"{stored.path} has a {THEIR_BIAS} of {shape}, and {size} ids in its vocabulary")
    return stored.load(THEIR_BIAS).flatten()


def fill(model: Translator, stored: Stored, origins: Mapping[str, list[str]], rows: Mapping[str, Arrangement]) -> None:
    """Copy their parameters into the model, one after the other, so that a large file is in memory once."""
    own = dict(model.named_parameters())
    with torch.no_grad():
        for name, parts in origins.items():
            tensor = torch.cat([stored.load(part) for part in parts])
            own[name].copy_(rows[name].ours(tensor) if name in rows else tensor)


def vocabularies(folder: Path, kind: str, described: Mapping[str, Any]) -> tuple[Vocabulary, Vocabulary]:
    """Of source and target; those of sentencepiece where there are such."""
    older = FAMILIES[kind].older
    if older is None or any(inside(folder, name).is_file() for name in READERS):
        return arranged(folder, described, *sides(folder))
    size, start = (whole(folder, described, name) for name in ("vocab_size", "decoder_start_token_id"))
    joint = tokenizer_in.arranged(folder, older, FAMILIES[kind].specials, size, start)
    return joint, joint


def arranged(folder: Path, described: Mapping[str, Any], source: Side, target: Side) -> tuple[Vocabulary, Vocabulary]:
    size = whole(folder, described, "vocab_size")
    two = not described["share_encoder_decoder_embeddings"]
    target_size = whole(folder, described, "decoder_vocab_size") if two and "decoder_vocab_size" in described else size

    def side(given: Side, size: int) -> Vocabulary:
        unknown = given.ids.get("<unk>")
        if unknown is None:
            raise RunError(f"{folder} has no <unk> in its vocabulary: regard needs one")
        roles = {
            "pad": whole(folder, described, "pad_token_id"),
            "unknown": unknown,
            "start": whole(folder, described, "decoder_start_token_id"),
            "end": whole(folder, described, "eos_token_id"),
        }
        return arrange(folder, given, size, roles)

    first = side(source, size)
    return first, first if source is target and size == target_size else side(target, target_size)


def settings_for(
    folder: Path,
    kind: str,
    described: Mapping[str, Any],
    source: TextTokenizer | ImportedTokenizer,
    target: TextTokenizer | ImportedTokenizer,
    biased: bool,
) -> Settings:
    where, family, joint = str(folder / CONFIG), FAMILIES[kind], source is target
    for name in ("attention_heads", "ffn_dim"):
        both = [described.get(f"{side}_{name}") for side in ("encoder", "decoder")]
        if both[0] != both[1]:
            raise RunError(
                f"{where} has {name} of {both[0]} in the encoder and {both[1]} in the decoder: ours are alike"
            )
    if described["activation_function"] not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise RunError(f"{where} has activation_function={described['activation_function']!r}: regard has {known}")
    shared = bool(described["share_encoder_decoder_embeddings"])
    if not described["tie_word_embeddings"] and shared:
        raise RunError(f"{where} ties the embeddings of both sides but not the output, which no setting of ours does")
    tied = "none" if not described["tie_word_embeddings"] else "all" if shared and joint else "target"
    model = {
        "family": family.family,
        "source_vocabulary": len(source),
        "target_vocabulary": len(target),
        "width": described.get("d_model"),
        "hidden": described.get("encoder_ffn_dim"),
        "heads": described.get("encoder_attention_heads"),
        "layers": described.get("encoder_layers"),
        "decoder_layers": described.get("decoder_layers"),
        "activation": ACTIVATIONS[described["activation_function"]],
        "scale_embedding": bool(described["scale_embedding"]),
        "max_positions": described["max_position_embeddings"],
        "dropout": described.get("dropout", 0.1),
        "attention_dropout": described.get("attention_dropout", 0.0),
        "activation_dropout": described.get("activation_dropout", 0.0),
        "tied": tied,
        "output_bias": biased,
        "position_offset": family.offset(whole(folder, described, "pad_token_id")),
        **family.settings,
    }
    given = {
        "version": __version__,
        "data": {"source": f"imported from {kind}", **languages(source, joint)},
        "tokenizer": {"kind": kind_of(source), "size": max(300, len(source), len(target)), "joint": joint},
        "model": model,
        "decode": decoding(folder, described),
    }
    return validate(Settings, given, where)


def languages(source: TextTokenizer | ImportedTokenizer, joint: bool) -> dict[str, Any]:
    """What a vocabulary's tags say: __fr__ goes before what is French, >>fr<< before what is to become French."""
    told = source.pieces(source.tags.values())
    if len(told) < 2:
        return {}
    if joint and all(tag.startswith("__") for tag in told):
        return {"languages": source.languages, "tags": "both"}
    if joint and len(told) == 2:  # as a run of ours that goes both ways comes back
        return {"languages": source.languages, "both_ways": True}
    return {"languages": source.languages, "tags": "target"}


def decoding(folder: Path, described: Mapping[str, Any]) -> dict[str, Any]:
    """Their search in our words, where they say something that we have a word for."""
    said = {**described, **read_json(folder, GENERATION)}
    length = said.get("max_length")
    found = {
        "beam": said.get("num_beams"),
        "length_penalty": said.get("length_penalty"),
        "max_length": length - 1 if isinstance(length, int) and length > 1 else None,
    }
    known = {name: value for name, value in found.items() if value is not None}
    return validate(DecodeConfig, known, str(folder / GENERATION)).model_dump()


def names_there(name: str, shapes: Mapping[str, Any], described: Mapping[str, Any]) -> list[str]:
    """Where a parameter of ours is in their file, which has a tied matrix under one of its names."""
    names = elsewhere(name, HUGGING_FACE)
    if name in EMBEDDINGS.values() and described["share_encoder_decoder_embeddings"] and SHARED in shapes:
        return [SHARED]
    if name == EMBEDDINGS["target"] and names[0] not in shapes and described["tie_word_embeddings"]:
        return elsewhere(OUTPUT, HUGGING_FACE)
    return names


def check_shapes(
    stored: Stored,
    expected: Mapping[str, tuple[int, ...]],
    origins: Mapping[str, list[str]],
    rows: Mapping[str, Arrangement],
) -> None:
    """Before a number of their file is read: it must have all that we expect, in the shapes that we expect."""
    for name, parts in origins.items():
        height = len(rows[name].own) if name in rows else expected[name][0] // len(parts)
        shape = (height, *expected[name][1:])
        for part in parts:
            if stored.shapes.get(part) != shape:
                raise RunError(
                    f"{stored.path} does not hold the model that {CONFIG} describes: "
                    f"{part} should be {shape} and is {stored.shapes.get(part, 'missing')}"
                )


def check_positions(stored: Stored, config: TranslatorConfig) -> None:
    size = (config.max_positions, config.width)
    for name in POSITIONS:
        (there,) = elsewhere(name, HUGGING_FACE)
        if there not in stored.shapes:
            continue
        if stored.shapes[there] != size or not torch.allclose(
            stored.load(there), sinusoids(torch.arange(config.max_positions), config.width), atol=1e-3
        ):
            raise RunError(f"{stored.path} has positions in {there} that are not the sinusoids of its kind")


def keep_rows(run: Path, source: Arrangement, target: Arrangement) -> None:
    told = {"source": source, "target": target}
    (run / ORIGIN / ROWS).write_text(
        json.dumps({side: {"rows": each.rows, "copies": sorted(each.copies)} for side, each in told.items()})
    )
