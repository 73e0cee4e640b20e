"""Runs as folders of Hugging Face's transformers, and which of their networks are ours. The way in is adoption.py.

A folder that `AutoModelForSeq2SeqLM` and `AutoTokenizer` load with no code of ours. Post-norm is Marian's network,
pre-norm Pegasus's, and the parameters only change their names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from regard import __version__
from regard.config import TranslatorConfig
from regard.errors import ConfigError, RunError
from regard.exchange import positions, stack_out
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
from regard.exchange.names import HUGGING_FACE, elsewhere, renamed
from regard.exchange.stacks import IN_ANGLES
from regard.exchange.tokenizer_in import Older, Specials, byte_level
from regard.exchange.vocabulary import Arrangement
from regard.model.position import sinusoids
from regard.run import PARAMETERS, Run
from regard.tokens.text import BOS, EOS, PAD, TextTokenizer

SHARED, POSITIONS = "model.shared.weight", ("source_position.table", "target_position.table")
EMBEDDINGS = {"source": "source_embedding.table.weight", "target": "target_embedding.table.weight"}
OUTPUT, BIAS = "output.table.weight", "output_bias"
THEIR_BIAS = "final_logits_bias"


@dataclass(frozen=True)
class Family:
    """One of their networks: what it is called, and which settings of ours it has no choice about."""

    architecture: str
    settings: dict[str, Any]
    family: str = "translator"  # of ours
    offset: Callable[[int], int] = lambda pad: 0  # what its first token counts as, given the id of <pad>
    biased: bool = True  # whether its file has a bias of the logits
    two: bool = False  # whether source and target may have a matrix each
    positions: bool = False  # whether its file has the table of sinusoids
    names: Mapping[str, str] = field(default_factory=lambda: HUGGING_FACE)
    older: Older | None = None  # reads a tokenizer that is not sentencepiece, where it may have such
    specials: Specials = field(default_factory=dict)
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
        family="bart",
        offset=lambda pad: 2,
        older=byte_level,
        specials=IN_ANGLES,
    ),
}


def export(run: Run, out: Path, precision: str = "float32") -> None:
    """Write the folder: config.json, generation_config.json, model.safetensors and the tokenizer's files."""
    if precision != "float32":
        raise ConfigError(
            f"precision {precision!r} is not offered for huggingface: leave it out, and cast when loading"
        )
    family = run.settings.model.family
    if family in stack_out.KINDS:
        stack_out.export(run, out)
    elif isinstance(run.settings.model, TranslatorConfig):
        export_translator(run, out)
    else:
        raise ConfigError(f"transformers has no network just like model.family={family}: a run of it stays with regard")


def export_translator(run: Run, out: Path) -> None:
    tensors = {name: parameter.detach().float().cpu() for name, parameter in run.model.named_parameters()}
    config = run.translator
    if config.position == "interleaved":
        config, tensors = config.model_copy(update={"position": "halves"}), in_halves(tensors)
    kind = kind_for(config)
    family = FAMILIES[kind]
    with written_whole(out) as folder:
        if run.folder and inside(run.folder, f"{ORIGIN}/{ROWS}").is_file():
            tensors = as_they_had_them(tensors, run.folder)
            give_back(run.folder, folder, without=(CONFIG, ROWS))
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
        if not (folder / "README.md").exists():
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
        "suppress_tokens": run.target_tokenizer.unwritten,
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
    longest = positions.count(run.translator, run.settings.decode)
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
{before}batch = tokenizer(["{tag}…"], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**batch{how}), skip_special_tokens=True))
```
{note}"""
PAPER = """
This run divides a log-probability by ((5 + length) / 6)^α; transformers divides by length^α, and may therefore rank
finished translations in another order.
"""


def card(run: Run, kind: str) -> str:
    data, told = run.settings.data, {"tag": "", "before": "", "how": ""}
    if data.tags == "both":
        told["before"] = f'tokenizer.src_lang = "{data.languages[0]}"\n'
        told["how"] = f', forced_bos_token_id=tokenizer.get_lang_id("{data.languages[1]}")'
    elif run.source_tokenizer.languages:
        told["tag"] = f">>{run.source_tokenizer.languages[0]}<< "
    note = PAPER if run.settings.decode.penalty == "paper" else ""
    return CARD.format(architecture=FAMILIES[kind].architecture, version=__version__, note=note, **told)


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
