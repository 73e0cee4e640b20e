"""Runs as folders of Hugging Face's transformers, and such folders as runs.

Out: a folder that `AutoModelForSeq2SeqLM` and `AutoTokenizer` load with no code of ours. Post-norm is Marian's network,
pre-norm Pegasus's, and the parameters only change their names. In: Marian, Pegasus, M2M100 and BART, from safetensors
alone. What a folder brought with it is kept in the run's `origin/`, so that the way in and out again changes no number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from regard import __version__
from regard.config import DecodeConfig, Settings, TranslatorConfig, validate
from regard.decoding.translate import never_written
from regard.errors import ConfigError, RunError
from regard.exchange import positions
from regard.exchange.folder import inside, read, read_json, write_json, written_whole
from regard.exchange.names import HUGGING_FACE, elsewhere, renamed
from regard.exchange.vocabulary import Arrangement, Side, arrange, kind_of, sides
from regard.model import build, parameters
from regard.model.position import sinusoids
from regard.model.translator import Translator
from regard.run import PARAMETERS, Run
from regard.tokens.text import BOS, EOS, PAD, TextTokenizer

CONFIG, GENERATION, ORIGIN, ROWS = "config.json", "generation_config.json", "origin", "rows.json"
TOKENIZER_FILES = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "source.spm",
    "target.spm",
    "vocab.json",
    "target_vocab.json",
    "spiece.model",
    "sentencepiece.bpe.model",
)
SHARED, POSITIONS = "model.shared.weight", ("source_position.table", "target_position.table")
EMBEDDINGS = {"source": "source_embedding.table.weight", "target": "target_embedding.table.weight"}
OUTPUT, BIAS = "output.table.weight", "output_bias"
THEIR_BIAS = "final_logits_bias"
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}
NEVER = -1e4  # the bias of an id that their vocabulary does not have: its probability is 0


@dataclass(frozen=True)
class Family:
    """One of their networks: what it is called, and which settings of ours it has no choice about."""

    architecture: str
    settings: dict[str, Any]
    offset: Callable[[int], int] = lambda pad: 0  # what its first token counts as, given the id of <pad>
    biased: bool = True  # whether its file has a bias of the logits
    two: bool = False  # whether source and target may have a matrix each
    positions: bool = False  # whether its file has the table of sinusoids
    names: Mapping[str, str] = field(default_factory=lambda: HUGGING_FACE)
    defaults: dict[str, Any] = field(default_factory=dict)  # of its config.json, which may leave them out


FAMILIES = {
    "marian": Family(
        "MarianMTModel",
        {"norm": "post", "position": "halves", "position_base": 1e4, "embedding_norm": False},
        two=True,
    ),
    "pegasus": Family(
        "PegasusForConditionalGeneration",
        {"norm": "pre", "position": "halves", "position_base": 1e4, "embedding_norm": False},
        positions=True,
    ),
    "m2m_100": Family(
        "M2M100ForConditionalGeneration",
        {"norm": "pre", "position": "spread", "position_base": 1e4, "embedding_norm": False},
        offset=lambda pad: pad + 1,
        biased=False,
        defaults={"activation_function": "relu", "scale_embedding": True},
    ),
    "bart": Family(
        "BartForConditionalGeneration",
        {"norm": "post", "position": "learned", "embedding_norm": True},
        offset=lambda pad: 2,
    ),
}


# Out


def export(run: Run, out: Path, precision: str = "float32") -> None:
    """Write the folder: config.json, generation_config.json, model.safetensors and the tokenizer's files."""
    if precision != "float32":
        raise ConfigError(
            f"precision {precision!r} is not offered for huggingface: leave it out, and cast when loading"
        )
    tensors = {name: parameter.detach().float().cpu() for name, parameter in run.model.named_parameters()}
    config = run.settings.model
    if config.position == "interleaved":
        config, tensors = config.model_copy(update={"position": "halves"}), in_halves(tensors)
    kind = kind_for(config)
    family = FAMILIES[kind]
    with written_whole(out) as folder:
        if run.folder and inside(run.folder, f"{ORIGIN}/{ROWS}").is_file():
            tensors = as_they_had_them(tensors, run.folder)
            for name in (GENERATION, *TOKENIZER_FILES):
                if inside(run.folder, f"{ORIGIN}/{name}").is_file():
                    (folder / name).write_bytes(read(run.folder, f"{ORIGIN}/{name}"))
            described = read_json(run.folder, f"{ORIGIN}/{CONFIG}")
        else:
            described = describe(kind, config, positions.count(config, run.settings.decode))
            write_json(folder, GENERATION, generation(run))
            write_tokenizer(run, folder)
        if config.position_offset != family.offset(described.get("pad_token_id", PAD)):
            raise ConfigError(
                f"{family.architecture} does not count from model.position_offset={config.position_offset}"
            )
        shared = config.tied == "all" or (
            described.get("share_encoder_decoder_embeddings", True)
            and torch.equal(*(tensors[name] for name in EMBEDDINGS.values()))
        )
        if not shared:
            described["share_encoder_decoder_embeddings"] = False
        write_json(folder, CONFIG, described)
        save_file(
            as_saved(family, tensors, shared, rows_of(config, described)),
            folder / PARAMETERS,
            metadata={"format": "pt"},
        )
        (folder / "README.md").write_text(card(run, kind), encoding="utf-8")


def kind_for(config: TranslatorConfig) -> str:
    """The one of their networks that is ours; a ConfigError says what each that comes near it lacks."""
    lacks = {kind: lack(family, config) for kind, family in FAMILIES.items()}
    for kind, reason in lacks.items():
        if not reason:
            return kind
    near = [kind for kind in lacks if FAMILIES[kind].settings["norm"] == config.norm]
    told = "; ".join(f"{FAMILIES[kind].architecture} {lacks[kind]}" for kind in near)
    raise ConfigError(f"no network of transformers is this run's: {told}; try --format ctranslate2 or onnx")


def lack(family: Family, config: TranslatorConfig) -> str:
    for name, value in family.settings.items():
        if getattr(config, name) != value:
            return f"has no model.{name}={getattr(config, name)}"
    if config.tied != "all" and not family.two:
        return f"shares one matrix between both sides, unlike model.tied={config.tied}"
    return ""


def sizes(config: TranslatorConfig, rows: int) -> dict[str, Any]:
    """What their configurations call our sizes, with ids and scale as we have them."""
    return {
        "vocab_size": config.source_vocabulary,
        "d_model": config.width,
        "encoder_layers": config.layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.hidden,
        "decoder_ffn_dim": config.hidden,
        "activation_function": config.activation,
        "scale_embedding": config.scale_embedding,
        "max_position_embeddings": rows,
        "pad_token_id": PAD,
        "eos_token_id": EOS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": None,
    }


def describe(kind: str, config: TranslatorConfig, rows: int) -> dict[str, Any]:
    """The config.json of a run trained here."""
    two: dict[str, Any] = {}
    if FAMILIES[kind].two:
        two = {"decoder_vocab_size": config.target_vocabulary, "tie_word_embeddings": config.tied != "none"}
    return {
        "model_type": kind,
        "architectures": [FAMILIES[kind].architecture],
        **sizes(config, rows),
        "bos_token_id": BOS,
        "is_encoder_decoder": True,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "dtype": "float32",
        **two,
    }


def generation(run: Run) -> dict[str, Any]:
    """Our search in their words: early stopping is our rule, and they count <s> into a length."""
    decode = run.settings.decode
    beams = {"num_beams": decode.beam, "length_penalty": decode.length_penalty, "early_stopping": True}
    return {
        "decoder_start_token_id": BOS,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "pad_token_id": PAD,
        "max_length": decode.max_length + 1,
        "suppress_tokens": never_written(run).tolist(),
        "renormalize_logits": True,  # what is never written leaves its probability to the others
        **(beams if decode.beam > 1 else {}),
    }


def write_tokenizer(run: Run, folder: Path) -> None:
    """Marian's tokenizer: the pieces in our order, and sentencepiece models that drop superfluous spaces themselves."""
    joint = run.source_tokenizer is run.target_tokenizer
    for name, vocabulary, tokenizer in (
        ("source.spm", "vocab.json", run.source_tokenizer),
        ("target.spm", "vocab.json" if joint else "target_vocab.json", run.target_tokenizer),
    ):
        lenient = TextTokenizer(tokenizer.processor.serialized_model_proto())
        lenient.processor.override_normalizer_spec(remove_extra_whitespaces=True)
        lenient.save(folder / name)
        write_json(folder, vocabulary, {piece: id for id, piece in enumerate(tokenizer.pieces(range(len(tokenizer))))})
    control = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    longest = positions.count(run.settings.model, run.settings.decode)
    rest = {"model_max_length": longest, "clean_up_tokenization_spaces": False}
    named = {"tokenizer_class": "MarianTokenizer", **control, **rest, "separate_vocabs": not joint}
    write_json(folder, "tokenizer_config.json", named)


def as_saved(family: Family, tensors: dict[str, Tensor], shared: bool, rows: int) -> dict[str, Tensor]:
    """Under their names, each as often as they save it."""
    bias = tensors.get(BIAS)
    rest = {name: tensor for name, tensor in tensors.items() if name != BIAS}
    matrix = tensors[EMBEDDINGS["source"]] if shared else tensors[EMBEDDINGS["target"]]  # what logits are made with
    if shared:
        rest = {name: tensor for name, tensor in rest.items() if name not in EMBEDDINGS.values()}
    result = renamed(rest, family.names) | ({SHARED: matrix} if shared else {})
    if family.biased:
        result[THEIR_BIAS] = (torch.zeros(matrix.size(0)) if bias is None else bias).unsqueeze(0)
    if family.positions:
        table = sinusoids(torch.arange(rows), matrix.size(1))
        result |= {elsewhere(name, family.names)[0]: table.clone() for name in POSITIONS}
    return {name: tensor.contiguous() for name, tensor in result.items()}


def rows_of(config: TranslatorConfig, described: Mapping[str, Any]) -> int:
    """How many positions the folder says that it has."""
    rows = described.get("max_position_embeddings", config.max_positions)
    if not isinstance(rows, int) or not 0 < rows <= positions.MOST:
        raise ConfigError(f"max_position_embeddings={rows!r} is no number of positions between 1 and {positions.MOST}")
    return rows


def in_halves(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same network with its features in another order: those that a sine is added to first, then the cosines'.

    Every sum, norm and product over the features is the same in any order, so all that has them is reordered alike.
    """

    def reordered(name: str, tensor: Tensor) -> Tensor:
        axis = 1 if name.endswith((".table.weight", "qkv.weight", "inner.weight")) else 0
        if name.endswith(("qkv.bias", "inner.bias", BIAS)):
            return tensor
        width = tensor.size(axis)
        return tensor.index_select(axis, torch.cat([torch.arange(0, width, 2), torch.arange(1, width, 2)]))

    return {name: reordered(name, tensor) for name, tensor in tensors.items()}


CARD = """# {architecture}, a translator of regard {version}

```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

folder = "."
tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder)
batch = tokenizer(["{tag}…"], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))
```
{note}"""
PAPER = """
This run divides a log-probability by ((5 + length) / 6)^α; transformers divides by length^α, and may therefore rank
finished translations in another order.
"""


def card(run: Run, kind: str) -> str:
    tag = next((f">>{language}<< " for language in run.source_tokenizer.languages), "")
    note = PAPER if run.settings.decode.penalty == "paper" else ""
    return CARD.format(architecture=FAMILIES[kind].architecture, version=__version__, tag=tag, note=note)


def as_they_had_them(tensors: dict[str, Tensor], run: Path) -> dict[str, Tensor]:
    """Embeddings and bias in the order of ids that the folder came with."""
    told = read_json(run, f"{ORIGIN}/{ROWS}")
    try:
        both = {side: tensors.get(name, tensors[EMBEDDINGS["source"]]) for side, name in EMBEDDINGS.items()}
        arranged = {side: Arrangement.told(told[side], len(matrix)) for side, matrix in both.items()}
    except (KeyError, TypeError, ValueError):
        raise RunError(f"{run / ORIGIN / ROWS} does not fit the run: import it again") from None
    by_name = {EMBEDDINGS[side]: arranged[side] for side in EMBEDDINGS} | {
        OUTPUT: arranged["target"],
        BIAS: arranged["target"],
    }
    return {name: by_name[name].theirs(tensor) if name in by_name else tensor for name, tensor in tensors.items()}


# In


def adopt(folder: Path, out: Path) -> Run:
    """A folder of theirs as a run of ours. Nothing in it is executed, and nothing outside of it is read."""
    kind, described = description(folder)
    path = parameter_file(folder)
    shapes = shapes_in(path)
    if not any(shape[:1] == (whole(folder, described, "vocab_size"),) for shape in shapes.values()):
        raise RunError(
            f"{path} has no matrix of {described['vocab_size']} rows, which {folder / CONFIG} calls vocab_size"
        )
    source, target = sides(folder)
    (reads, source_rows), (writes, target_rows) = arranged(folder, described, source, target)
    bias = bias_in(path, shapes, target_rows)
    biased = bool(target_rows.copies or bias.any())
    settings = settings_for(folder, kind, described, reads, writes, biased)
    with torch.device("meta"):  # takes no memory, whatever sizes the settings claim
        expected = parameters.shapes(build(settings.model))
    origins = {name: names_there(name, shapes, described) for name in expected if name != BIAS}
    rows = {EMBEDDINGS["source"]: source_rows, EMBEDDINGS["target"]: target_rows, OUTPUT: target_rows}
    check_shapes(path, shapes, expected, origins, rows)
    if settings.model.position == "halves":
        check_positions(path, shapes, settings.model)
    model = build(settings.model)
    fill(model, path, origins, rows)
    if model.output_bias is not None:
        model.output_bias.data.copy_(target_rows.ours(bias))
        model.output_bias.data[torch.tensor(sorted(target_rows.copies), dtype=torch.long)] = NEVER
    run = Run(settings, reads, writes, model.eval())
    with written_whole(out) as place:
        run.save(place)
        keep_origin(folder, place, source_rows, target_rows)
    run.folder = out
    return run


def description(folder: Path) -> tuple[str, dict[str, Any]]:
    """Its kind and its config.json, with what that may leave out."""
    given = read_json(folder, CONFIG)
    kind = given.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise RunError(f"{folder} is not a model that regard imports: its {CONFIG} should have a model_type of {known}")
    usual = {
        "activation_function": "gelu",
        "scale_embedding": False,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "max_position_embeddings": 1024,
    }
    return kind, {**usual, **FAMILIES[kind].defaults, **given}


def bias_in(path: Path, shapes: Mapping[str, tuple[int, ...]], rows: Arrangement) -> Tensor:
    """The bias of the logits in the order of their ids; zeros where the file has none."""
    size = len(rows.own)
    if THEIR_BIAS not in shapes:
        return torch.zeros(size)
    if shapes[THEIR_BIAS] != (1, size):
        raise RunError(f"{path} has a {THEIR_BIAS} of {shapes[THEIR_BIAS]}, and {size} ids in its vocabulary")
    return load(path, THEIR_BIAS).flatten()


def parameter_file(folder: Path) -> Path:
    path = inside(folder, PARAMETERS)
    if path.is_file():
        return path
    if inside(folder, f"{PARAMETERS}.index.json").is_file():
        raise RunError(f"{folder} has its parameters in several files: save it again as one {PARAMETERS}")
    if any(folder.glob("*.bin")):
        raise RunError(
            f"{folder} has its parameters pickled in a .bin file, which could run code: save it as {PARAMETERS} first, "
            "with save_pretrained of transformers"
        )
    raise RunError(f"{folder} has no {PARAMETERS}: give the folder that save_pretrained of transformers wrote")


def shapes_in(path: Path) -> dict[str, tuple[int, ...]]:
    try:
        return parameters.shapes_in(path)
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path} cannot be read as parameters: {str(error).splitlines()[0]}") from None


def load(path: Path, name: str) -> Tensor:
    try:
        with safe_open(path, framework="pt") as file:
            return file.get_tensor(name).float()
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path} cannot be read as parameters: {str(error).splitlines()[0]}") from None


def fill(model: Translator, path: Path, origins: Mapping[str, list[str]], rows: Mapping[str, Arrangement]) -> None:
    """Copy their parameters into the model, one after the other, so that a large file is in memory once."""
    own = dict(model.named_parameters())
    with torch.no_grad():
        for name, parts in origins.items():
            tensor = torch.cat([load(path, part) for part in parts])
            own[name].copy_(rows[name].ours(tensor) if name in rows else tensor)


def arranged(
    folder: Path, described: Mapping[str, Any], source: Side, target: Side
) -> tuple[tuple[TextTokenizer, Arrangement], tuple[TextTokenizer, Arrangement]]:
    size = whole(folder, described, "vocab_size")
    two = not described["share_encoder_decoder_embeddings"]
    target_size = whole(folder, described, "decoder_vocab_size") if two and "decoder_vocab_size" in described else size

    def side(given: Side, size: int) -> tuple[TextTokenizer, Arrangement]:
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


def whole(folder: Path, described: Mapping[str, Any], name: str) -> int:
    value = described.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 24:
        raise RunError(f"{folder / CONFIG} has {name}={value!r}, which should be a whole number")
    return value


def settings_for(
    folder: Path,
    kind: str,
    described: Mapping[str, Any],
    source: TextTokenizer,
    target: TextTokenizer,
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
    languages = source.languages if joint and len(source.languages) == 2 else ()
    given = {
        "version": __version__,
        "data": {"source": f"imported from {kind}", "languages": languages, "both_ways": bool(languages)},
        "tokenizer": {"kind": kind_of(source), "size": max(300, len(source), len(target)), "joint": joint},
        "model": model,
        "decode": decoding(folder, described),
    }
    return validate(Settings, given, where)


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
    path: Path,
    found: Mapping[str, tuple[int, ...]],
    expected: Mapping[str, tuple[int, ...]],
    origins: Mapping[str, list[str]],
    rows: Mapping[str, Arrangement],
) -> None:
    """Before a number of their file is read: it must have all that we expect, in the shapes that we expect."""
    for name, parts in origins.items():
        height = len(rows[name].own) if name in rows else expected[name][0] // len(parts)
        shape = (height, *expected[name][1:])
        for part in parts:
            if found.get(part) != shape:
                raise RunError(
                    f"{path} does not hold the model that {CONFIG} describes: "
                    f"{part} should be {shape} and is {found.get(part, 'missing')}"
                )


def check_positions(path: Path, shapes: Mapping[str, tuple[int, ...]], config: TranslatorConfig) -> None:
    size = (config.max_positions, config.width)
    for name in POSITIONS:
        (there,) = elsewhere(name, HUGGING_FACE)
        if there not in shapes:
            continue
        if shapes[there] != size or not torch.allclose(
            load(path, there), sinusoids(torch.arange(config.max_positions), config.width), atol=1e-3
        ):
            raise RunError(f"{path} has positions in {there} that are not the sinusoids of its kind")


def keep_origin(folder: Path, run: Path, source: Arrangement, target: Arrangement) -> None:
    """The small files that the folder came with, for the way back."""
    origin = run / ORIGIN
    origin.mkdir()
    for name in (CONFIG, GENERATION, *TOKENIZER_FILES):
        if inside(folder, name).is_file():
            (origin / name).write_bytes(read(folder, name))
    told = {"source": source, "target": target}
    (origin / ROWS).write_text(
        json.dumps({side: {"rows": each.rows, "copies": sorted(each.copies)} for side, each in told.items()})
    )
