"""A run as a folder that CTranslate2 loads: its TransformerSpec, filled from our parameters.

model.bin                 the parameters, in the precision asked for
config.json               which tokens open and close a sentence; </s> is added to a source by CTranslate2
shared_vocabulary.json    the pieces in the order of our ids; or source_ and target_vocabulary.json
source.spm, target.spm    the tokenizers, for sentencepiece; .json, for tokenizers, where they came from elsewhere
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import ConfigError
from regard.exchange import positions
from regard.exchange.folder import written_whole
from regard.exchange.names import CTRANSLATE2, renamed
from regard.extras import needed
from regard.model.translator import Translator
from regard.run import Run
from regard.tokens.text import BOS, EOS, UNKNOWN, TextTokenizer

PRECISIONS = ("float32", "int8", "int8_float32", "int8_bfloat16", "bfloat16", "int16", "float16", "int8_float16")
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "swish": "SWISH"}


def export(run: Run, out: Path, precision: str = "float32") -> None:
    """Write the folder; the float32 of ours is only converted, so float32 gives the very tokens of our search."""
    if precision not in PRECISIONS:
        raise ConfigError(f"precision {precision!r} is unknown to CTranslate2: choose from {', '.join(PRECISIONS)}")
    spec = specification(run.model, positions.count(run.translator, run.settings.decode))
    source, target = run.source_tokenizer, run.target_tokenizer
    spec.register_source_vocabulary(source.names)
    spec.register_target_vocabulary(target.names)
    unknown, bos, eos = (target.names[id] for id in (UNKNOWN, BOS, EOS))
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = unknown, bos, eos
    spec.config.decoder_start_token, spec.config.add_source_eos = bos, True
    spec.validate()
    spec.optimize(quantization=precision)
    with written_whole(out) as folder:
        spec.save(str(folder))
        for name, tokenizer in (("source", source), ("target", target)):
            tokenizer.save(folder / f"{name}{'.spm' if isinstance(tokenizer, TextTokenizer) else '.json'}")


def specification(model: Translator, rows: int) -> Any:
    """The network as CTranslate2 describes it, with positions written out as a table of so many rows."""
    specs, config = needed("ctranslate2.specs"), model.config
    if config.position == "none":
        raise ConfigError("model.position=none cannot be told to CTranslate2, which always adds positions")
    activation = getattr(specs.common_spec.Activation, ACTIVATIONS[config.activation])
    spec = specs.TransformerSpec.from_config(
        (config.layers, config.decoder_layers),
        config.heads,
        pre_norm=config.norm == "pre",
        activation=activation,
        layernorm_embedding=config.embedding_norm,
    )
    parameters = {name: parameter.detach().float().cpu() for name, parameter in model.named_parameters()}
    parameters |= written_out(model, rows)
    for path, tensor in renamed(memory_apart(parameters), CTRANSLATE2).items():
        place, _, attribute = path.rpartition("/")
        copied = tensor.contiguous().clone()  # what is quantized is quantized in place
        setattr(specs.model_spec.index_spec(spec, place), attribute, copied.numpy())
    for stack in (spec.encoder, spec.decoder):
        stack.scale_embeddings = float(model.source_embedding.scale)
    return spec


def written_out(model: Translator, rows: int) -> dict[str, Tensor]:
    """What our named parameters leave unsaid: a matrix that is tied has each of its names, positions are a table."""
    tied = {
        "target_embedding.table.weight": model.target_embedding.table.weight,
        "output.table.weight": model.output.table.weight,
        "source_position.table": positions.table(model.source_position, rows),
        "target_position.table": positions.table(model.target_position, rows),
    }
    return {name: tensor.detach().float().cpu() for name, tensor in tied.items()}


def memory_apart(parameters: dict[str, Tensor]) -> dict[str, Tensor]:
    """Queries of a cross-attention apart from the keys and values, which come from another place."""
    result: dict[str, Tensor] = {}
    for name, tensor in parameters.items():
        if ".cross_attention.qkv." not in name:
            result[name] = tensor
            continue
        third = tensor.size(0) // 3
        query, memory = torch.split(tensor, [third, 2 * third])
        result[name.replace(".qkv.", ".query.")], result[name.replace(".qkv.", ".memory.")] = query, memory
    return result
