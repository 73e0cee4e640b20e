"""How the cost of training grows: with the length of a sentence, and with the size of a corpus.

    .venv/bin/python benchmarks/growth.py --out docs/pictures

Prints two tables and draws growth.png. The model is the `tiny` of benchmarks/train.py (4 + 4 layers, width 128,
hidden 256, 4 heads, vocabulary of 8,000), in float32, with dropout, label smoothing, clipping and fused AdamW.

Length: a batch is 4,096 tokens a side, as one sentence of 4,096, or two of 2,048, and so on, so that nothing grows but
what each token looks at. Every point is a process of its own. Its memory is the peak of its resident set, as the
operating system keeps it, less the resident set before the first step: parameters, torch and Python are taken off;
gradients, optimizer state, activations, masks and what the allocator holds in reserve are left. Its time is the median
of the steps after the first. The model hands the decoder's causal mask to the fused kernel as a tensor, n² permissions;
the second series gives the kernel no mask tensor but lets it be causal by itself, which shows what the tensor costs.

Corpus: an epoch over the first so many pairs of Multi30k, English → German, with its shuffling, batching and padding.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config import TrainConfig, TranslatorConfig
from regard.data.batch import Example, PairBatch, collate, grouped
from regard.data.corpus import read_pairs
from regard.model.translator import Translator
from regard.precision import choose
from regard.tokens.text import EOS, TextTokenizer
from regard.training.learner import Learner
from regard.training.objective import Translating

DATA = Path(os.environ.get("REGARD_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
LENGTHS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
PAIRS = (1000, 2000, 4000, 8000, 16000)
VOCABULARY, BUDGET = 8000, 4096
MEBI = 2**20


def tiny(vocabulary: int = VOCABULARY) -> Learner:
    """The tiny model, ready to learn."""
    torch.manual_seed(1)
    sizes = {"layers": 4, "width": 128, "hidden": 256, "heads": 4}
    vocabularies = {"source_vocabulary": vocabulary, "target_vocabulary": vocabulary}
    model = Translator(TranslatorConfig.model_validate(sizes | vocabularies))
    return Learner(
        model, TrainConfig(), choose("float32", torch.device("cpu"), sizes["width"]), Translating(TrainConfig())
    )


def seconds_of(learner: Learner, batch: PairBatch) -> float:
    """What a step on a batch takes."""
    began = time.perf_counter()
    learner.step([batch], rate=1e-4)
    return time.perf_counter() - began


# A point of the first curve, in a process of its own.


class Point(NamedTuple):
    """What a step costs at a length."""

    seconds: float
    peak: float  # MiB over what the process had before


def point(length: int, steps: int, masked: bool) -> Point:
    if not masked:
        without_mask_tensors()
    draw = random.Random(length)
    source, target = (
        [[*draw.choices(range(EOS + 1, VOCABULARY), k=length - 1), EOS] for _ in range(BUDGET // length)] for _ in "st"
    )
    learner, batch = tiny(), collate([Example(*row) for row in zip(source, target, strict=True)])
    before = resident()
    seconds = [seconds_of(learner, batch) for _ in range(1 + steps)]
    return Point(median(seconds[1:]), (peak_resident() - before) / MEBI)


def without_mask_tensors() -> None:
    """From here on the fused kernel is causal by itself, and reads every source: no sentence of these is padded."""
    fused = F.scaled_dot_product_attention

    def unmasked(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0) -> Tensor:
        square = attn_mask is not None and attn_mask.dim() == 2  # a causal mask has no batch; one of padding has
        return fused(q, k, v, dropout_p=dropout_p, is_causal=square)

    F.scaled_dot_product_attention = unmasked


def resident() -> int:
    """Bytes of this process in memory now; where only the peak is known, the peak so far."""
    return status("VmRSS") or peak_resident()


def peak_resident() -> int:
    """The most they ever were. What getrusage tells on Linux may be the parent's, from before this program began."""
    unit = 1 if sys.platform == "darwin" else 1024
    return status("VmHWM") or unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def status(field: str) -> int:
    file = Path("/proc/self/status")
    lines = file.read_text().splitlines() if file.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), 0)


def point_in_a_process(length: int, steps: int, masked: bool) -> Point:
    options = ["--point", str(length), "--steps", str(steps), "--threads", str(torch.get_num_threads())]
    command = [sys.executable, __file__, *options, *([] if masked else ["--unmasked"])]
    return Point(*json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))


# The second curve.


class Epoch(NamedTuple):
    """What one epoch over a corpus costs."""

    steps: int
    seconds: float
    step: float  # seconds of the median step
    order: float  # seconds of all that is not a step: shuffling, batching, padding


def read_examples(folder: Path, most: int) -> list[Example]:
    pairs = read_pairs(folder / "train.en.gz", folder / "train.de.gz")[:most]
    tokenizer = TextTokenizer.learn((text for pair in pairs for text in pair), size=VOCABULARY)
    ids = [[[*tokenizer.encode(text), EOS] for text in pair] for pair in pairs]
    return [Example(source, target) for source, target in ids]


def epoch(examples: Sequence[Example]) -> Epoch:
    learner = tiny()
    seconds_of(learner, collate(examples[:16]))
    began = time.perf_counter()
    draw = random.Random(1)
    groups = grouped(examples, BUDGET, draw.sample(range(len(examples)), len(examples)))
    draw.shuffle(groups)
    seconds = [seconds_of(learner, collate([examples[i] for i in group])) for group in groups]
    took = time.perf_counter() - began
    return Epoch(len(groups), took, median(seconds), took - sum(seconds))


# Tables and picture.


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The power of x that the last doubling of it shows: 1 is linear, 2 is quadratic."""
    (a, b), (c, d) = torch.tensor([x[-2:], y[-2:]], dtype=torch.float64).log().tolist()
    return (d - c) / (b - a)


def draw_picture(
    folder: Path, lengths: Sequence[int], points: dict[bool, list[Point]], sizes: Sequence[int], epochs: Sequence[Epoch]
) -> None:
    from lectures import BLUE, GREEN, GREY, ORANGE, Pictures

    pictures = Pictures(folder)
    figure, (time_axes, memory_axes, corpus_axes) = pictures.pyplot.subplots(1, 3, figsize=(13.2, 4.4))
    series = ((True, ORANGE, "o-", "causal mask as a tensor"), (False, BLUE, "s--", "kernel causal by itself"))
    for axes, field in ((time_axes, "seconds"), (memory_axes, "peak")):
        for masked, colour, style, name in series:
            axes.plot(lengths, [getattr(each, field) for each in points[masked]], style, color=colour, label=name)
        axes.set(xlabel=f"tokens in a sentence, {BUDGET:,} in a batch")
    corpus_axes.plot(sizes, [each.seconds for each in epochs], "D-", color=GREEN, label="measured")
    line = [epochs[0].seconds * size / sizes[0] for size in sizes]
    corpus_axes.plot(sizes, line, ":", color=GREY, linewidth=1.5, label="in proportion to the first")
    corpus_axes.set(xlabel="sentence pairs in the corpus")
    time_axes.set_title("Time of a step, s")
    memory_axes.set_title("Memory of a step at its peak, MiB")
    memory_axes.set_ylim(bottom=min(each.peak for each in points[False]) / 4)  # a few doublings high, as its neighbours
    corpus_axes.set_title("Time of an epoch, s")
    for axes, ticks in ((time_axes, lengths), (memory_axes, lengths), (corpus_axes, sizes)):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(list(ticks), [f"{tick:,}" for tick in ticks], rotation=45, ha="right", rotation_mode="anchor")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.4g}")
        axes.minorticks_off()
        axes.legend(frameon=False, loc="upper left", fontsize=10.5)
    pictures.save(figure, "growth.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"), help="folder for the picture")
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, help=f"in tokens, divisors of {BUDGET}")
    parser.add_argument("--pairs", type=int, nargs="+", default=PAIRS, help="sizes of the corpus")
    parser.add_argument("--steps", type=int, default=3, help="timed steps of each length")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of torch")
    parser.add_argument("--data", type=Path, default=DATA / "multi30k", help="folder of train.en.gz and train.de.gz")
    parser.add_argument("--point", type=int, help=argparse.SUPPRESS)  # one length, measured in this process
    parser.add_argument("--unmasked", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.point:
        print(json.dumps(point(given.point, given.steps, masked=not given.unmasked)))
        return
    from lectures import table

    points: dict[bool, list[Point]] = {True: [], False: []}
    for length in given.lengths:
        for masked, found in points.items():
            found.append(point_in_a_process(length, given.steps, masked))
    table(
        f"A step of {BUDGET:,} tokens a side; {given.threads} threads, median of {given.steps}",
        ["tokens in a sentence", "s", "MiB at the peak", "s, no mask tensor", "MiB, no mask tensor"],
        [(n, *with_mask, *without) for n, with_mask, without in zip(given.lengths, *points.values(), strict=True)],
    )
    examples = read_examples(given.data, max(given.pairs))
    sizes = [min(size, len(examples)) for size in given.pairs]
    epochs = [epoch(examples[:size]) for size in sizes]
    table(
        f"An epoch over Multi30k, English → German; {given.threads} threads",
        ["pairs", "steps", "s", "s of the median step", "s outside the steps"],
        [(size, *each) for size, each in zip(sizes, epochs, strict=True)],
    )
    seconds = [each.seconds for each in points[True]]
    print(f"\nthe last doubling of the length multiplies a step's time by {seconds[-1] / seconds[-2]:.2f}")
    print(f"an epoch grows as the corpus to the power of {slope(sizes, [each.seconds for each in epochs]):.2f}")
    draw_picture(given.out, given.lengths, points, sizes, epochs)


if __name__ == "__main__":
    main()
