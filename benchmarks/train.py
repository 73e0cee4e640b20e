"""Training speed on a CPU, beside those who train the same network: tokens a second, and share of the matmul peak.

    .venv/bin/python benchmarks/train.py --sizes tiny,small,base --threads 2

Sides: regard; Hugging Face's MarianMTModel; torch.nn.Transformer; and Eole, if it can be imported. Eole 0.6 takes our
torch as it is, but brings much that is not needed here, so it stays out of the project's environment:

    .venv/bin/pip install --no-deps --target SOMEWHERE eole
    PYTHONPATH=SOMEWHERE .venv/bin/python benchmarks/train.py

All train on the same batches of Multi30k, English → German, joint vocabulary of 8,000, batches of 4,096 tokens (padding
included, on the longer side), in float32, with dropout 0.1 on embedding sums and sublayer outputs and nowhere else,
label smoothing 0.1, gradients clipped to norm 1, fused AdamW. They take turns step by step in one process, so that
number of threads, allocator (told to keep its pages, as `regard train` tells it) and a busy neighbour are the same for
all; the peak is taken in each round too, and is the best that any of several large float32 matmuls reached. Nobody is
compiled. What the others are given of the best they have:

    Marian    sdpa attention, a causal mask that the kernel knows by itself, no cache, logits of wanted positions alone
    torch     batch first, the same causal mask, no weights asked for, no last norm (its layers are post-norm), the
              same logits
    Eole      its encoder and decoder; on a CPU it multiplies its attention out, and its decoder is pre-norm only: as
              many matmuls, and one norm more in each stack

Before a size is timed, every side gets regard's parameters and must give regard's loss without dropout, and torch's
flop_counter counts its operations once. The rates printed are by one formula for all: a matmul of m × k by k × n is
2 m k n operations, and a backward pass is two forward passes. Padding is counted, since everyone computes it, but for
the output projection, which everyone computes for wanted positions alone. Attention counts whole, though half of it
may be masked, and what a kernel computes twice counts once; torch's count does not see our kernel for it. Rates and
ratios are medians over the rounds; a ratio is of two steps on one batch.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import math
import os
import platform
import random
import sys
import warnings
from collections.abc import Callable, Sequence
from datetime import date
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from regard import precision
from regard.config import TrainConfig, TranslatorConfig
from regard.data.batch import Example, PairBatch, collate, grouped
from regard.data.corpus import read_pairs
from regard.memory import keep_pages
from regard.model.position import sinusoids
from regard.model.translator import Translator
from regard.tokens.text import EOS, TextTokenizer
from regard.training.learner import Learner
from regard.training.objective import Translating, translation
from regard.trial import timed

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests"))  # where our parameters have the names that others give them
from references import (  # noqa: E402  # pyright: ignore[reportMissingImports]
    HUGGING_FACE,
    TORCH_DECODER,
    TORCH_ENCODER,
    hugging_face_sizes,
    renamed,
)

DATA = Path(os.environ.get("REGARD_DATA", ROOT.parent / "shared" / "data"))
SIZES = {
    "tiny": {"layers": 4, "width": 128, "hidden": 256, "heads": 4},
    "small": {"layers": 3, "width": 256, "hidden": 1024, "heads": 4},
    "base": {"layers": 6, "width": 512, "hidden": 2048, "heads": 8},
}
VOCABULARY, BUDGET = 8000, 4096
DROPOUT, SMOOTHING, CLIP = 0.1, 0.1, 1.0
LONGEST = 256  # tokens of a sentence
WARM_UP = 2  # steps of each side that are not timed
ROUNDS = {"tiny": 100, "small": 40, "base": 20}  # timed steps; where they are short, memory takes dozens to settle


# The sides: each computes the mean loss of a batch, in its own way, from parameters that were ours.


class Side(nn.Module):
    """A model, and how it comes to its loss. Those below are given `ours`, and copy its parameters."""

    norm = "post"  # of the model whose parameters it takes

    def loss(self, batch: PairBatch) -> Tensor:
        logits = F.linear(self.states(batch)[batch.wanted], self.table)  # (N, V)
        return F.cross_entropy(logits, batch.labels[batch.wanted], label_smoothing=SMOOTHING)

    def states(self, batch: PairBatch) -> Tensor:
        """What the decoder's last layer gives for every target position, (B, T, D)."""
        raise NotImplementedError

    table: Tensor  # (V, D): the output projection, tied to the embeddings


class Regard(Side):
    def __init__(self, ours: Translator):
        super().__init__()
        self.model = ours

    def loss(self, batch: PairBatch) -> Tensor:
        loss = translation(self.model, batch, SMOOTHING)
        return loss.total / loss.tokens


class Marian(Side):
    def __init__(self, ours: Translator):
        from transformers import MarianConfig, MarianMTModel

        super().__init__()
        sizes = {**hugging_face_sizes(ours.config), "max_position_embeddings": LONGEST}
        how: dict[str, Any] = {"dropout": DROPOUT, "attn_implementation": "sdpa"}
        whole = MarianMTModel(MarianConfig(**sizes, **how))
        table = {"model.shared.weight": ours.source_embedding.table.weight}
        whole.load_state_dict(renamed(ours.state_dict(), HUGGING_FACE) | table, strict=False)
        self.model = whole.model  # without the head, whose bias is 0, so that only wanted positions are projected
        self.table = whole.model.get_parameter("shared.weight")

    def states(self, batch: PairBatch) -> Tensor:
        found = self.model(batch.source, batch.readable.long(), decoder_input_ids=batch.target, use_cache=False)
        return found.last_hidden_state


class Embedded(Side):
    """What a side embeds with that brings none of its own: √D · E[id] + sinusoids, dropped out."""

    def __init__(self, ours: Translator):
        super().__init__()
        vocabulary, width = ours.config.source_vocabulary, ours.config.width
        self.embedding, self.dropout = nn.Embedding(vocabulary, width), nn.Dropout(DROPOUT)
        self.embedding.load_state_dict(ours.source_embedding.table.state_dict())
        self.table, self.scale = self.embedding.weight, math.sqrt(width)
        self.positions = sinusoids(torch.arange(LONGEST), width)

    def embed(self, ids: Tensor) -> Tensor:
        return self.dropout(self.embedding(ids) * self.scale + self.positions[: ids.size(1)])


class TorchTransformer(Embedded):
    def __init__(self, ours: Translator):
        super().__init__(ours)
        config = ours.config
        how: dict[str, Any] = {"batch_first": True, "dropout": DROPOUT}
        shape = (config.width, config.heads, config.hidden)
        encoder_layer, decoder_layer = (
            nn.TransformerEncoderLayer(*shape, **how),
            nn.TransformerDecoderLayer(*shape, **how),
        )
        self.encoder = nn.TransformerEncoder(encoder_layer, config.layers, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(decoder_layer, config.decoder_layers)
        self.model = nn.Transformer(
            config.width, config.heads, custom_encoder=self.encoder, custom_decoder=self.decoder, batch_first=True
        )
        self.encoder.load_state_dict(renamed(ours.encoder.state_dict(), TORCH_ENCODER))
        self.decoder.load_state_dict(renamed(ours.decoder.state_dict(), TORCH_DECODER))
        for module in self.model.modules():  # by default it drops attention weights and hidden features as well
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0

    def states(self, batch: PairBatch) -> Tensor:
        hidden = torch.zeros(batch.readable.shape).masked_fill_(~batch.readable, -torch.inf)  # as it would make itself
        length = batch.target.size(1)
        return self.model(
            self.embed(batch.source),
            self.embed(batch.target),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(length),
            tgt_is_causal=True,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
        )


class Eole(Embedded):
    norm = "pre"

    def __init__(self, ours: Translator):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it misses its kernels for GPUs
            from eole.config.models import (  # pyright: ignore[reportMissingImports]
                TransformerDecoderConfig,
                TransformerEncoderConfig,
            )
            from eole.decoders.transformer import TransformerDecoder  # pyright: ignore[reportMissingImports]
            from eole.encoders.transformer import TransformerEncoder  # pyright: ignore[reportMissingImports]

        super().__init__(ours)
        config = ours.config
        sizes = {"hidden_size": config.width, "heads": config.heads, "transformer_ff": config.hidden}
        sizes |= {"add_qkvbias": True, "add_ffnbias": True}
        running = argparse.Namespace(dropout=[DROPOUT], attention_dropout=[0.0])
        self.encoder = TransformerEncoder(TransformerEncoderConfig(layers=config.layers, **sizes), running)
        decoder = TransformerDecoderConfig(layers=config.decoder_layers, **sizes)
        decoder.with_cross_attn = True
        self.decoder = TransformerDecoder(decoder, running)
        for stack, own in ((self.encoder, ours.encoder), (self.decoder, ours.decoder)):
            parameters = renamed(own.state_dict(), EOLE if own is ours.encoder else EOLE | EOLE_DECODER)
            parameters = renamed(
                parameters, {"linear_q": "linear_query", "linear_k": "linear_keys", "linear_v": "linear_values"}
            )
            parameters |= {f"layer_norm.{name}": parameters.pop(f"norm.{name}") for name in ("weight", "bias")}
            missing, unexpected = stack.load_state_dict(parameters, strict=False)
            assert not unexpected, unexpected
            assert all(name.endswith("layer_scalar") for name in missing), missing
            for layer in stack.transformer_layers:
                layer.mlp.dropout_1.p = 0.0  # by default it drops hidden features as well

    def states(self, batch: PairBatch) -> Tensor:
        unreadable = ~batch.readable.unsqueeze(1)  # (B, 1, S)
        memory, _ = self.encoder(self.embed(batch.source), pad_mask=unreadable)
        unwanted = torch.zeros_like(batch.wanted).unsqueeze(1)  # (B, 1, T): padding at the end needs no mask
        found, _ = self.decoder(
            self.embed(batch.target), enc_out=memory, src_pad_mask=unreadable, tgt_pad_mask=unwanted
        )
        return found


EOLE = {
    "blocks.": "transformer_layers.",
    "self_attention.qkv.": "self_attn.linear_?.",
    "self_attention.output.": "self_attn.final_linear.",
    "cross_attention.qkv.": "context_attn.linear_?.",
    "cross_attention.output.": "context_attn.final_linear.",
    "feed_forward.inner.": "mlp.gate_up_proj.",
    "feed_forward.outer.": "mlp.down_proj.",
    "around_self.norm.": "input_layernorm.",
    "around_feed.norm.": "post_attention_layernorm.",
}
EOLE_DECODER = {"around_cross.norm.": "precontext_layernorm."}


SIDES: dict[str, type[Side]] = {"regard": Regard, "Marian": Marian, "torch": TorchTransformer, "Eole": Eole}


def fresh(config: TranslatorConfig, norm: str) -> Translator:
    """Our model with its norms there, and always the same parameters."""
    torch.manual_seed(1)
    return Translator(config.model_copy(update={"norm": norm}))


def installed(name: str) -> bool:
    needed = {"Marian": "transformers", "Eole": "eole"}
    return name not in needed or importlib.util.find_spec(needed[name]) is not None


# What a step computes.


def step_flops(config: TranslatorConfig, batch: PairBatch) -> int:
    """Operations of a training step's matmuls, by the formula that the docstring above describes."""
    (rows, s), t = batch.source.shape, batch.target.size(1)
    width, matrix, feed = config.width, config.width**2, 2 * config.width * config.hidden
    encoder = rows * s * (4 * matrix + feed) + 2 * rows * s * s * width
    decoder = rows * t * (6 * matrix + feed) + rows * s * 2 * matrix + 2 * rows * t * (t + s) * width
    output = batch.tokens * config.target_vocabulary * width
    forward = 2 * (config.layers * encoder + config.decoder_layers * decoder + output)
    return 3 * forward


def counted_flops(side: Side, batch: PairBatch) -> int:
    """The same as torch sees it, with attention multiplied out, since it has no formula for the CPU's fused kernel."""

    def addmm(_: torch.Size, a: torch.Size, b: torch.Size, **__: Any) -> int:
        return 2 * a[0] * a[1] * b[1]

    in_place = {torch.ops.aten.addmm_: addmm}  # which it would otherwise overlook
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False, custom_mapping=in_place) as counter:
        side.loss(batch).backward()
    side.zero_grad()
    return counter.get_total_flops()


def check(sides: dict[str, Side], config: TranslatorConfig, batch: PairBatch) -> dict[str, float]:
    """That every side computes what regard computes; for each, torch's count of its operations over the formula's."""
    shares = {}
    for name, side in sides.items():
        reference = Regard(fresh(config, side.norm))
        with torch.no_grad():
            torch.testing.assert_close(side.eval().loss(batch), reference.eval().loss(batch), rtol=1e-4, atol=1e-4)
        shares[name] = counted_flops(side.train(), batch) / step_flops(config, batch)
    return shares


# Taking turns.


def trainer(side: Side) -> Callable[[PairBatch], object]:
    """A step of this side, as a training loop takes it; ours is the one that `regard train` takes."""
    if isinstance(side, Regard):
        settings = TrainConfig(label_smoothing=SMOOTHING, clip=CLIP, optimizer="adamw")
        learner = Learner(
            side.model, settings, precision.choose("float32", torch.device("cpu"), 1), Translating(settings)
        )
        return lambda batch: learner.step([batch], rate=1e-4)
    optimizer = torch.optim.AdamW(side.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, weight_decay=0, fused=True)

    def step(batch: PairBatch) -> None:
        side.loss(batch).backward()
        nn.utils.clip_grad_norm_(side.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def peak_of_round(shapes: Sequence[tuple[int, int, int]] = ((1024, 1024, 1024), (2048, 2048, 2048), (4096, 512, 2048))):
    """GFLOP/s of the best of these float32 matmuls."""
    best = 0.0
    for m, k, n in shapes:
        a, b, out = torch.randn(m, k), torch.randn(k, n), torch.empty(m, n)
        for _ in range(2):  # the second finds its memory in place
            seconds = timed(lambda a=a, b=b, out=out: torch.mm(a, b, out=out))
            best = max(best, 2 * m * k * n / seconds / 1e9)
    return best


class Row(NamedTuple):
    """What one side did at one size."""

    size: str
    side: str
    tokens_per_second: float
    ratio: float  # of its speed to that of the fastest side that is not regard
    gflops: float  # billions of operations a second, by the formula
    share: float  # of the matmul peak
    counted: float  # operations by torch's count over operations by the formula


def measure(size: str, names: Sequence[str], batches: Sequence[PairBatch], vocabulary: int) -> tuple[list[Row], float]:
    """A row for each side, and the peak in GFLOP/s."""
    settings = {"source_vocabulary": vocabulary, "target_vocabulary": vocabulary, "dropout": DROPOUT, **SIZES[size]}
    config = TranslatorConfig.model_validate(settings)
    sides = {name: SIDES[name](fresh(config, SIDES[name].norm)) for name in names}
    counted = check(sides, config, batches[0])
    steps = {name: trainer(side) for name, side in sides.items()}

    seconds: dict[str, list[float]] = {name: [] for name in names}
    peaks = []
    for batch in batches:
        for name in names:
            seconds[name].append(timed(lambda step=steps[name], batch=batch: step(batch)))
        peaks.append(peak_of_round())
    batches, peak = batches[WARM_UP:], max(peaks[WARM_UP:])
    seconds = {name: each[WARM_UP:] for name, each in seconds.items()}

    def rate(name: str, amounts: Sequence[int]) -> float:
        return median(amount / took for amount, took in zip(amounts, seconds[name], strict=True))

    tokens, flops = [batch.tokens for batch in batches], [step_flops(config, batch) for batch in batches]
    peers = [name for name in names if name != "regard"] or names
    best = max(peers, key=lambda name: rate(name, tokens))
    rows = []
    for name in names:
        ratio = median(theirs / own for theirs, own in zip(seconds[best], seconds[name], strict=True))
        gflops = rate(name, flops) / 1e9
        rows.append(Row(size, name, rate(name, tokens), ratio, gflops, gflops / peak, counted[name]))
    return rows, peak


# Data, and what is printed.


def read_examples(folder: Path) -> tuple[list[Example], int]:
    """Multi30k as ids, English → German, and the size of its joint vocabulary."""
    pairs = read_pairs(folder / "train.en.gz", folder / "train.de.gz")
    tokenizer = TextTokenizer.learn((text for pair in pairs for text in pair), size=VOCABULARY)
    ids = [[[*tokenizer.encode(text), EOS] for text in pair] for pair in pairs]
    examples = [Example(source, target) for source, target in ids]
    return [example for example in examples if example.size <= LONGEST], len(tokenizer)


def random_batches(examples: Sequence[Example], count: int, seed: int = 1) -> list[PairBatch]:
    """So many of an epoch's batches, and again from the first if there are not as many."""
    draw = random.Random(seed)
    groups = grouped(examples, BUDGET, draw.sample(range(len(examples)), len(examples)))
    draw.shuffle(groups)
    return [collate([examples[i] for i in group]) for group in islice(cycle(groups), count)]


def conditions(threads: int, vocabulary: int, rounds: dict[str, int]) -> dict[str, Any]:
    """Under what the figures were found."""
    names = ("LD_PRELOAD", "GLIBC_TUNABLES", "OMP_NUM_THREADS", "KMP_AFFINITY", "GOMP_CPU_AFFINITY")
    set_by_user = {k: v for k, v in os.environ.items() if k in names or k.startswith("MALLOC_")}
    return {
        "date": date.today().isoformat(),
        "processor": processor(),
        "threads": threads,
        "torch": torch.__version__,
        "vocabulary": vocabulary,
        "rounds": rounds,
        "environment": set_by_user,
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def show(rows: Sequence[Row], peak: float) -> None:
    print(f"\n{rows[0].size}: {json.dumps(SIZES[rows[0].size])}; matmul peak {peak:.1f} GFLOP/s")
    print(f"  {'side':8} {'tokens/s':>10} {'× best peer':>12} {'GFLOP/s':>9} {'of peak':>8} {'counted/formula':>16}")
    for row in rows:
        print(
            f"  {row.side:8} {row.tokens_per_second:10,.0f} {row.ratio:12.2f} {row.gflops:9.1f} {row.share:8.0%} "
            f"{row.counted:16.3f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="tiny,small,base", help="of tiny, small and base, with commas between")
    parser.add_argument(
        "--sides", default="regard,Marian,torch,Eole", help="who takes part; who is missing is left out"
    )
    parser.add_argument("--rounds", type=int, help=f"timed steps of each side; unless it is said, {ROUNDS}")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of torch, for all sides")
    parser.add_argument("--data", type=Path, default=DATA / "multi30k", help="folder of train.en.gz and train.de.gz")
    parser.add_argument("--json", action="store_true", help="print one JSON object in the place of tables")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    keep_pages()
    logging.disable(logging.WARNING)
    names = [name for name in given.sides.split(",") if installed(name)]

    examples, vocabulary = read_examples(given.data)
    rounds = {size: given.rounds or ROUNDS[size] for size in given.sizes.split(",")}
    found = conditions(given.threads, vocabulary, rounds)
    if not given.json:
        print("; ".join(f"{name}: {value}" for name, value in found.items()))
    results = []
    for size, count in rounds.items():
        rows, peak = measure(size, names, random_batches(examples, WARM_UP + count), vocabulary)
        results.append({"size": size, "peak": peak, "sides": [row._asdict() for row in rows]})
        if not given.json:
            show(rows, peak)
    if given.json:
        print(json.dumps(found | {"results": results}, indent=2))


if __name__ == "__main__":
    main()
