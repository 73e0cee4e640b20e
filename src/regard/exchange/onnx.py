"""A run as two ONNX graphs, and the adapter that lets our own search run over them in onnxruntime.

encoder.onnx   source (B, S), readable (B, S) ──▶ memory (B, 2 L, H, S, d): keys and values for each decoder layer
decoder.onnx   target (B, 1), memory, readable, past (B, 2 L, H, P, d) ──▶ logits (B, 1, V), present, the next past

The memory is what the decoder's attentions would compute from the encoder's vectors, so it is computed once. The past
is what the decoder has seen of its own: empty at first, then the present of the step before.
Letters: B batch, S source tokens, L decoder layers, H heads, d width of a head, P tokens written, V vocabulary.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.errors import ConfigError, RunError
from regard.exchange import positions
from regard.exchange.folder import written_whole
from regard.extras import needed
from regard.model.position import Sinusoidal
from regard.model.translator import Translator
from regard.run import Run

ENCODER, DECODER = "encoder.onnx", "decoder.onnx"
OPSET = 17  # the first with LayerNormalization


class Encoder(nn.Module):
    def __init__(self, model: Translator):
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, readable: Tensor) -> Tensor:
        memory = self.model.encode(source, readable)  # (B, S, D)
        projected = [block.cross_attention.project(memory, memory)[1:] for block in self.model.decoder.blocks]  # type: ignore[operator]
        return torch.stack([each for pair in projected for each in pair], dim=1)  # (B, 2 L, H, S, d)


class Decoder(nn.Module):
    def __init__(self, model: Translator):
        super().__init__()
        self.model = model

    def forward(self, target: Tensor, memory: Tensor, readable: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        cache = self.model.cache()
        for block, own, read in zip(cache.blocks, past.split(2, 1), memory.split(2, 1), strict=True):
            block.own.pair, block.memory.pair = (own[:, 0], own[:, 1]), (read[:, 0], read[:, 1])
        states = self.model.decode(target, memory, readable, cache)  # the memory's keys are in the cache already
        present = [each for block in cache.blocks for each in block.own.pair or ()]
        return self.model.logits(states), torch.stack(present, dim=1)


def export(run: Run, out: Path, precision: str = "float32") -> None:
    """Write the two graphs, the tokenizers and the settings."""
    if precision != "float32":
        raise ConfigError(
            f"precision {precision!r} is not offered for onnx: leave it out, or quantize with onnxruntime"
        )
    needed("onnx")
    config, rows = run.translator, positions.count(run.translator, run.settings.decode)
    model = Translator(config)
    model.load_state_dict(run.model.state_dict())
    for position in (model.source_position, model.target_position):
        if isinstance(position, Sinusoidal):
            position.table = position.rows(rows)
    encoder, decoder = Encoder(model).eval(), Decoder(model).eval()
    source, readable = torch.tensor([[4 % len(run.source_tokenizer)] * 3] * 2), torch.ones(2, 3, dtype=torch.bool)
    past = torch.zeros(2, 2 * config.decoder_layers, config.heads, 1, config.width // config.heads)
    with written_whole(out) as folder, torch.inference_mode():
        draw(encoder, (source, readable), folder / ENCODER, ["source", "readable"], ["memory"])
        given = (source[:, :1], encoder(source, readable), readable, past)
        draw(decoder, given, folder / DECODER, ["target", "memory", "readable", "past"], ["logits", "present"])
        run.save_description(folder)


AXES = {
    "source": {0: "batch", 1: "source_tokens"},
    "readable": {0: "batch", 1: "source_tokens"},
    "memory": {0: "batch", 3: "source_tokens"},
    "target": {0: "batch"},
    "past": {0: "batch", 3: "written"},
    "logits": {0: "batch"},
    "present": {0: "batch", 3: "written_now"},
}


def draw(module: nn.Module, given: tuple[Tensor, ...], path: Path, inputs: list[str], outputs: list[str]) -> None:
    """Trace the module, by the older of torch's two ways, which needs no further package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sizes that become constants: those that must not are in AXES
        torch.onnx.export(
            module,
            given,
            path,
            input_names=inputs,
            output_names=outputs,
            dynamic_axes={name: AXES[name] for name in inputs + outputs},
            opset_version=OPSET,
            dynamo=False,
        )


class Past:
    """What the decoder has seen: the cache that search asks its model for."""

    def __init__(self) -> None:
        self.present: Tensor | None = None

    def select_own(self, rows: Tensor) -> None:
        if self.present is not None:
            self.present = self.present.index_select(0, rows)

    def select_memory(self, rows: Tensor) -> None:
        """The memory is handed to every step, and search keeps its rows in order."""


class OnnxTranslator:
    """The two graphs of a folder, with what `decoding.search` needs of a model: encode, decode, logits, cache.

    search(OnnxTranslator(folder), source, readable, config, limits)
    """

    def __init__(self, folder: Path, threads: int = 1):
        runtime = needed("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        options.log_severity_level = 3
        try:
            self.encoder, self.decoder = (
                runtime.InferenceSession(folder / name, options, providers=["CPUExecutionProvider"])
                for name in (ENCODER, DECODER)
            )
        except Exception as error:  # onnxruntime's errors share no other kind
            raise RunError(f"{folder} does not hold the graphs of a run: {str(error).splitlines()[0]}") from None
        _, self.keys, self.heads, _, self.width = self.decoder.get_inputs()[3].shape

    def encode(self, source: Tensor, readable: Tensor) -> Tensor:
        (memory,) = self.encoder.run(None, {"source": source.numpy(), "readable": readable.numpy()})
        return torch.from_numpy(memory)  # (B, 2 L, H, S, d)

    def decode(self, target: Tensor, memory: Tensor, readable: Tensor, cache: Past | None = None) -> Tensor:
        """Logits at once (B, T, V); without a cache the tokens are read one after the other."""
        cache, steps = cache or Past(), []
        rows = len(target) // len(memory)  # hypotheses of a sentence, which the graphs know nothing of
        memory, readable = memory.repeat_interleave(rows, 0), readable.repeat_interleave(rows, 0)
        if cache.present is None:
            cache.present = memory.new_zeros(len(memory), self.keys, self.heads, 0, self.width)
        for token in target.split(1, dim=1):
            given = {"target": token, "memory": memory, "readable": readable, "past": cache.present}
            logits, present = self.decoder.run(None, {name: each.numpy() for name, each in given.items()})
            cache.present = torch.from_numpy(present)
            steps.append(torch.from_numpy(logits))
        return torch.cat(steps, dim=1)

    def logits(self, x: Tensor) -> Tensor:
        return x

    def cache(self) -> Past:
        return Past()
