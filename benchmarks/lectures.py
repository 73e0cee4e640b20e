"""What the lectures claim and a machine can measure: printed as tables, drawn as pictures.

    .venv/bin/python benchmarks/lectures.py --out docs/pictures

The tests of tests/lectures measure with these same functions, on fewer points. The toy language has ten words, and its
translation is the sentence read backwards: every word has to be found by its place, so that order is all there is to
learn.
"""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from regard.config import DecodeConfig, TranslatorConfig
from regard.data.batch import Example, collate, pad
from regard.decoding.search import search
from regard.model.attention import Attention, attention_weights
from regard.model.mask import causal
from regard.model.position import sinusoids
from regard.model.translator import Translator
from regard.tokens.text import EOS, PAD
from regard.training.objective import translation

WORDS = range(EOS + 1, EOS + 11)  # the ids of the toy language
LONGEST = 8  # words of a training sentence


# The toy: a language of ten words, translated by reading it backwards.


def backwards(words: Sequence[int]) -> Example:
    return Example([*words, EOS], [*reversed(words), EOS])


def sentences(count: int, lengths: Sequence[int], seed: int) -> list[list[int]]:
    draw = random.Random(seed)
    return [draw.choices(WORDS, k=draw.choice(lengths)) for _ in range(count)]


def pupil(layers: int = 1, width: int = 64, position: str = "halves", seed: int = 1) -> Translator:
    """A translator of the toy language that knows nothing yet."""
    torch.manual_seed(seed)
    size = WORDS.stop
    return Translator(
        TranslatorConfig.model_validate(
            {
                "source_vocabulary": size,
                "target_vocabulary": size,
                "width": width,
                "hidden": 2 * width,
                "heads": 4,
                "layers": layers,
                "dropout": 0.0,
                "position": position,
            }
        )
    )


def learn(model: Translator, steps: int = 400, rate: float = 3e-3, rows: int = 64, seed: int = 1) -> list[float]:
    """Train on sentences of 1 to LONGEST words, none shown twice on purpose; the loss of every step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98))
    climb_and_fall = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 50, 2 * (steps - step) / steps)
    )
    losses = []
    model.train()
    for step in range(steps):
        words = sentences(rows, range(1, LONGEST + 1), seed=seed * 1_000_003 + step)
        loss = translation(model, collate([backwards(each) for each in words]))
        optimizer.zero_grad()
        (loss.total / loss.tokens).backward()
        optimizer.step()
        climb_and_fall.step()
        losses.append(loss.surprise.item() / loss.tokens)
    model.eval()
    return losses


def answers(model: Translator, sources: Iterable[Sequence[int]]) -> list[list[int]]:
    """What the model writes for sources as they are given, EOS included or not; greedy."""
    rows = pad([list(source) for source in sources])
    limits = [2 * rows.size(1) + 5] * len(rows)
    found = search(model, rows, rows != PAD, DecodeConfig(beam=1), limits)
    return [list(each.hypotheses[0].ids) for each in found]


def agreement(written: Iterable[Sequence[int]], expected: Iterable[Sequence[int]]) -> float:
    """The share of sentences that are the same to the last word."""
    same = [list(a) == list(b) for a, b in zip(written, expected, strict=True)]
    return sum(same) / len(same)


def accuracy(model: Translator, length: int, count: int = 100) -> float:
    """The share of new sentences of a length that are read backwards without a fault."""
    examples = [backwards(words) for words in sentences(count, [length], seed=length)]
    return agreement(answers(model, [each.source for each in examples]), [each.target[:-1] for each in examples])


# Trimmed, omitted and permuted inputs of a trained model.


class Change(NamedTuple):
    """What a changed source does to the output, in shares of sentences."""

    kept: float  # output as it was before the change
    followed: float  # output as the changed source asks for


def changes(model: Translator, count: int = 200) -> dict[str, Change]:
    draw = random.Random(7)
    whole = sentences(count, range(4, LONGEST + 1), seed=11)
    before = answers(model, [[*words, EOS] for words in whole])

    def omit(words: list[int]) -> list[int]:
        hole = draw.randrange(1, len(words) - 1)
        return words[:hole] + words[hole + 1 :]

    def permute(words: list[int]) -> list[int]:
        return draw.sample(words, k=len(words))

    changed = {
        "nothing": [[*words, EOS] for words in whole],
        "last two words trimmed": [[*words[:-2], EOS] for words in whole],
        "end mark trimmed": whole,
        "one word omitted": [[*omit(words), EOS] for words in whole],
        "words permuted": [[*permute(words), EOS] for words in whole],
    }
    result = {}
    for name, sources in changed.items():
        after = answers(model, sources)
        asked = [[word for word in reversed(source) if word != EOS] for source in sources]
        result[name] = Change(agreement(after, before), agreement(after, asked))
    return result


# LayerNorm.


def without_norms(model: Translator) -> Translator:
    """The same model with the same parameters, and nothing in the place of each LayerNorm."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.LayerNorm):
                setattr(module, name, nn.Identity())
    return model


def smooth(losses: Sequence[float], over: int = 10) -> list[float]:
    """The mean of each `over` losses in a row."""
    return torch.tensor(losses).unfold(0, over, 1).mean(-1).tolist()


def steps_to(losses: Sequence[float], goal: float) -> int | None:
    """Steps until the smoothed loss is below the goal, if it ever is."""
    return next((step for step, loss in enumerate(smooth(losses), start=10) if loss < goal), None)


def norm_race(layers: int, steps: int, seed: int = 1) -> tuple[list[float], list[float]]:
    """Losses with and without LayerNorm: same first parameters, same sentences, same learning rate."""
    with_norm, bare = pupil(layers, width=32, seed=seed), without_norms(pupil(layers, width=32, seed=seed))
    return tuple(learn(model, steps, rate=2e-3, rows=32, seed=seed) for model in (with_norm, bare))  # pyright: ignore


# Why the scores are divided by √d.


class Softmax(NamedTuple):
    """A softmax over scores of random queries and keys, on average."""

    largest: float  # its largest weight
    slope: float  # the norm of its derivative by the scores, which all learning of queries and keys passes through


def saturation(width: int, scaled: bool, keys: int = 16, queries: int = 256, seed: int = 1) -> Softmax:
    """Queries and keys of `width` numbers drawn from N(0, 1), so that q·k has variance `width`."""
    draw = torch.Generator().manual_seed(seed)
    q = torch.randn(queries, 1, width, generator=draw)
    k = torch.randn(queries, keys, width, generator=draw)
    scale = None if scaled else 1.0
    scores = (q @ k.mT * (width**-0.5 if scaled else 1.0)).requires_grad_()  # (queries, 1, keys)
    weights = attention_weights(scores, torch.eye(keys), scale=1.0)  # the same softmax, as a function of its scores
    torch.testing.assert_close(weights, attention_weights(q, k, scale=scale), rtol=1e-3, atol=1e-4)
    slopes = [torch.autograd.grad(weights[..., i].sum(), scores, retain_graph=True)[0] for i in range(keys)]
    norms = torch.stack(slopes).square().sum((0, -1)).sqrt()  # (queries, 1): Frobenius norm of each Jacobian
    return Softmax(weights.amax(-1).mean().item(), norms.mean().item())


# What n words cost.


def peak(call: Callable[[], object]) -> int:
    """The most bytes that were allocated at once while calling, counted from torch's own allocations."""
    with torch.inference_mode(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        call()
    results = watched.profiler.kineto_results if watched.profiler else None
    assert results is not None
    total = most = 0
    for event in sorted(results.events(), key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            total += event.nbytes()  # pyright: ignore[reportAttributeAccessIssue]
            most = max(most, total)
    return most


class Cost(NamedTuple):
    """One head of width 64 looks from n words at n words."""

    scores: int
    seen: int  # bytes at the peak of Attention.weights, which shows every score
    fused: int  # bytes at the peak of Attention.forward, which keeps none of them
    masked: int  # the same with a causal mask, itself a matrix of n² permissions


def cost(words: int) -> Cost:
    attention, x = Attention(width=64, heads=1).eval(), torch.randn(1, words, 64)
    weights: list[Tensor] = []
    seen = peak(lambda: weights.append(attention.weights(x)))
    fused, masked = (peak(lambda mask=mask: attention(x, mask=mask)) for mask in (None, causal(words)))
    return Cost(weights[0].numel(), seen, fused, masked)


# Tables and pictures.

BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#666666"  # Okabe and Ito 2008


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    cells = [[f"{cell:,.3g}" if isinstance(cell, float) else f"{cell}" for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(heads), *cells]) for i in range(len(heads))]
    print(f"\n{title}")
    for row in [list(heads), *cells]:
        print("  " + "   ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)))


class Pictures:
    """A folder of PNGs in one manner."""

    def __init__(self, folder: Path):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.pyplot = folder, pyplot
        pyplot.rcParams.update(
            {
                "font.size": 12,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.titlesize": 13,
                "axes.titlelocation": "left",
                "axes.titlepad": 12,
                "axes.grid": True,
                "grid.color": "#e6e6e6",
                "axes.axisbelow": True,
                "lines.linewidth": 2.2,
                "figure.dpi": 100,
                "figure.constrained_layout.use": True,
            }
        )

    def axes(self, columns: int = 1, height: float = 4.2):
        figure, axes = self.pyplot.subplots(1, columns, figsize=(8.4, height), squeeze=False)
        return figure, *axes[0]

    def save(self, figure, name: str) -> None:
        figure.savefig(self.folder / name, pil_kwargs={"optimize": True})
        self.pyplot.close(figure)
        print(f"  → {self.folder / name}")


def show_positions(pictures: Pictures) -> None:
    positions = torch.arange(20)
    fine = torch.linspace(0, 19, 400)
    figure, axes = pictures.axes()
    names = ["sin(t)", "cos(t)", "sin(t / 10)", "cos(t / 10)"]
    marks, colours = "osD^", [BLUE, ORANGE, GREEN, PURPLE]
    curves, dots = (sinusoids(t, width=4, base=100, layout="interleaved") for t in (fine, positions))
    for i, name in enumerate(names):
        axes.plot(fine, curves[:, i], color=colours[i], linewidth=1.4, alpha=0.75)
        axes.plot(positions, dots[:, i], marks[i], color=colours[i], markersize=5, label=f"i = {i}:  {name}")
    axes.set(
        xlabel="position t", xticks=range(0, 20, 2), title="Four dimensions, n = 100: two fast ones and two slow ones"
    )
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    pictures.save(figure, "positions-4.png")

    figure, axes = pictures.axes(height=3.8)
    axes.grid(False)
    rows = sinusoids(positions, width=512, layout="halves")
    image = axes.imshow(rows, aspect="auto", cmap="cividis", vmin=-1, vmax=1, interpolation="nearest")
    figure.colorbar(image, ax=axes, ticks=[-1, 0, 1], pad=0.02)
    axes.set(xlabel="dimension i", ylabel="position", yticks=range(0, 20, 4), xticks=range(0, 513, 64))
    axes.set_title("20 positions × 512 dimensions, n = 10000: 256 sines, then 256 cosines")
    pictures.save(figure, "positions-512.png")


def show_saturation(pictures: Pictures) -> None:
    widths = [1, 4, 16, 64, 256, 1024]
    plain, scaled = ([saturation(width, scaled=s) for width in widths] for s in (False, True))
    table(
        "Why √d: softmax over 16 keys, mean of 256 random queries (seed 1)",
        ["d", "largest weight", "÷ √d", "slope", "÷ √d"],
        [(w, p.largest, s.largest, p.slope, s.slope) for w, p, s in zip(widths, plain, scaled, strict=True)],
    )
    figure, left, right = pictures.axes(columns=2)
    for axes, field in ((left, "largest"), (right, "slope")):
        for rows, colour, style, name in ((plain, ORANGE, "o-", "q · k"), (scaled, BLUE, "s-", "q · k / √d")):
            axes.plot(widths, [getattr(row, field) for row in rows], style, color=colour, label=name)
        axes.set_xscale("log", base=2)
        axes.set(xticks=widths, xticklabels=[str(width) for width in widths], xlabel="width d of queries and keys")
    left.set(title="Largest of 16 weights", ylim=(0, 1.04))
    right.set(title="Slope of the softmax", ylim=(0, None))
    left.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.36))
    pictures.save(figure, "saturation.png")


def show_norm(pictures: Pictures, steps: int = 400, goal: float = 0.5) -> None:
    rows = []
    figure, *panels = pictures.axes(columns=3, height=3.6)
    for axes, layers in zip(panels, (1, 2, 4), strict=True):
        for seed in (1, 2, 3):
            normed, bare = norm_race(layers, steps, seed)
            rows.append((layers, seed, steps_to(normed, goal) or f"> {steps}", steps_to(bare, goal) or f"> {steps}"))
            for losses, colour, style, name in (
                (bare, ORANGE, "--", "without LayerNorm"),
                (normed, BLUE, "-", "with LayerNorm"),
            ):
                line = smooth(losses)
                axes.plot(
                    range(10, steps + 1), line, style, color=colour, linewidth=1.5, label=name if seed == 1 else None
                )
        axes.axhline(goal, color=GREY, linewidth=1, linestyle=":")
        axes.set_yscale("log")
        axes.set(title=f"{layers} + {layers} layers", xlabel="step", ylim=(0.08, 150), xlim=(0, steps))
        axes.set(yticks=[0.1, goal, 1, 10, 100], yticklabels=["0.1", str(goal), "1", "10", "100"])
        axes.minorticks_off()
        if axes is not panels[0]:
            axes.tick_params(labelleft=False)
    panels[0].set_ylabel("loss")
    panels[0].legend(frameon=False, fontsize=10)
    table(f"LayerNorm: steps until the loss is below {goal}", ["layers", "seed", "with", "without"], rows)
    pictures.save(figure, "norm.png")


def show_trained(pictures: Pictures) -> None:
    model, unordered = pupil(), pupil(position="none")
    for each in (model, unordered):
        learn(each)
    lengths = range(1, 17)
    shares = [accuracy(model, length) for length in lengths]
    table(
        f"Extrapolation: trained on 1 to {LONGEST} words, 400 steps, seed 1; sentences without a fault, of 100",
        ["words", "right"],
        [(length, f"{share:.0%}") for length, share in zip(lengths, shares, strict=True)],
    )
    for name, each in (("with sinusoids", model), ("without positions", unordered)):
        table(
            f"Changed inputs of a model {name} (200 sentences of 4 to {LONGEST} words)",
            ["what is changed", "output stays", "output follows"],
            [(what, f"{change.kept:.1%}", f"{change.followed:.1%}") for what, change in changes(each).items()],
        )
    figure, axes = pictures.axes(height=3.8)
    colours = [BLUE if length <= LONGEST else ORANGE for length in lengths]
    axes.bar(lengths, [100 * share for share in shares], color=colours, width=0.7)
    axes.axvline(LONGEST + 0.5, color=GREY, linestyle="--", linewidth=1.2)
    axes.text(LONGEST + 0.7, 93, "longer than any sentence of the training", color=GREY, va="top")
    for length, share in zip(lengths, shares, strict=True):
        if length > LONGEST:
            axes.text(length, 100 * share + 1.5, f"{share:.0%}", ha="center", color=ORANGE)
    axes.grid(False, axis="x")
    axes.set(xlabel="words in the sentence", ylabel="without a fault, %", xticks=lengths, ylim=(0, 105))
    axes.set_title("“Hope this will work in extrapolation. (No)”: sentences read backwards")
    pictures.save(figure, "extrapolation.png")


def show_cost(pictures: Pictures) -> None:
    sizes = [256, 512, 1024, 1536, 2048, 3072, 4096]
    costs = [cost(size) for size in sizes]
    mebi = 2**20
    table(
        "n words cost n² scores: one head of width 64; MiB at the peak",
        ["n", "scores", "all seen", "fused", "fused, given a causal mask"],
        [
            (n, f"{c.scores:,}", c.seen / mebi, c.fused / mebi, c.masked / mebi)
            for n, c in zip(sizes, costs, strict=True)
        ],
    )
    figure, left, right = pictures.axes(columns=2)
    left.plot(sizes, [each.scores / 1e6 for each in costs], "o-", color=ORANGE)
    left.set(title="Scores of one head, millions", ylim=(0, None))
    right.plot(sizes, [each.seen / mebi for each in costs], "o-", color=ORANGE, label="every score kept, to be seen")
    right.plot(sizes, [each.fused / mebi for each in costs], "s-", color=BLUE, label="fused: none is kept")
    right.set(title="Memory at its peak, MiB", ylim=(0, None))
    right.legend(frameon=False, loc="upper left")
    for axes in (left, right):
        axes.set(xlabel="n, words in the sentence", xticks=[0, 1024, 2048, 3072, 4096])
    pictures.save(figure, "cost.png")


SHOWS: dict[str, Callable[[Pictures], None]] = {
    "positions": show_positions,
    "saturation": show_saturation,
    "cost": show_cost,
    "trained": show_trained,
    "norm": show_norm,
}


def main() -> None:
    options = argparse.ArgumentParser(description="Measure what the lectures claim, and draw it.")
    options.add_argument("--out", type=Path, default=Path("docs/pictures"), help="folder for the pictures")
    options.add_argument("--only", choices=SHOWS, action="append", help="one part, and not the others; may be repeated")
    given = options.parse_args()
    pictures = Pictures(given.out)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    for name in given.only or SHOWS:
        SHOWS[name](pictures)


if __name__ == "__main__":
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler's own log
    main()
