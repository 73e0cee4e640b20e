"""Question → answer → the JSON that each panel of the explorer draws: format 2, which web/src/types.ts mirrors.

    answer = ask(run, Question(text="I am a student.", to="fr"))
    look(answer), vectors(answer, "source"), head(answer, "cross", layer=1, head=3), flow(answer, "encoder")

A question holds all that an answer depends on. The numbers are the model's own: they come from one recorded pass, and
queries, keys and values from `Attention.project`. Tokens, words, layers and heads are counted from 0.

Shapes: L layers, H heads, S source tokens, T target tokens, D width, d = D / H.
"""

from __future__ import annotations

import json
import math
import operator
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard import __version__
from regard.errors import DataError
from regard.insight.change import switched_off, without_mask, without_positions
from regard.insight.contract import (
    FORMAT,
    Attending,
    Beam,
    Finding,
    Flow,
    HeadFigures,
    HeadSteps,
    Kind,
    Line,
    LineName,
    Look,
    Machine,
    Node,
    Offline,
    Option,
    Part,
    Picture,
    Question,
    Role,
    Side,
    Stack,
    StackName,
    Step,
    Training,
    Vectors,
    Word,
    pack,
    pack_shares,
)
from regard.insight.image import to_address
from regard.insight.trace import KINDS
from regard.insight.ways import Pass, Way, way_of
from regard.insight.ways.way import Stream, within
from regard.insight.words import Word as Spelled
from regard.insight.words import by_word, is_mark
from regard.model.attention import Attention
from regard.run import Run

NUMBERS = 10_000_000  # weights of an answer, about: what a browser still takes
CARRIED = 400_000  # numbers of heads that an offline page carries
OPTIONS = 12  # of a time step
LINES = 20_000  # of metrics.jsonl in one answer

# -------------------------------------------------------------------------------------------------------- answering


@dataclass(frozen=True, eq=False)
class Answer:
    """A question, and the pass that answers it."""

    question: Question
    run: Run
    way: Way
    seen: Pass
    vectors: dict[Side, tuple[Tensor, Tensor, Tensor]]  # embeddings, positions and their sums, (N, D) each
    seconds: float

    @property
    def source(self) -> Line:
        return self.way.line("source", self.seen)

    def axes(self, kind: Kind) -> tuple[Line, Line]:
        """The lines of the rows, which look, and of the columns, which are looked at."""
        rows, columns = AXES[kind]
        return self.way.line(rows, self.seen), self.way.line(columns, self.seen)

    def attention(self, kind: Kind, layer: int) -> str:
        names = self.seen.trace.named(kind)
        return names[within(layer, len(names), f"{kind} layer")]


def ask(run: Run, question: Question, **decode: Any) -> Answer:
    """Change the model as the question wants, ask it, and record one pass; then the model is as it was.

    Keywords override the run's decode settings.
    """
    began = time.perf_counter()
    way = way_of(run)
    question = way.settled(question)
    with ExitStack() as changes:
        for kind, layer, number in (head.split(".") for head in question.off):
            start, end = KINDS[kind]
            changes.enter_context(switched_off(run.model, f"{start}blocks.{layer}{end}", int(number)))
        if not question.positions:
            changes.enter_context(without_positions(run.model))
        if not question.mask:
            changes.enter_context(without_mask(run.model))
        seen = way.ask(question, way.settings(decode if question.mask else {**decode, "beam": 1}), limit(run))
        vectors: dict[Side, tuple[Tensor, Tensor, Tensor]] = {
            stream.line: sums(run, seen, stream) for stream in way.streams
        }
    return Answer(question, run, way, seen, vectors, time.perf_counter() - began)


def limit(run: Run) -> int:
    """Tokens of a line at most: every head keeps their square."""
    maps = run.settings.model.heads * sum(each.layers for each in attending(run))
    return min(way_of(run).most, math.isqrt(NUMBERS // maps))


@torch.no_grad()
def sums(run: Run, seen: Pass, stream: Stream) -> tuple[Tensor, Tensor, Tensor]:
    """What enters a stack, in its two parts: √D · E[id], or a patch's vector, and the position's row."""
    x, position = seen.entered[stream.position], run.model.get_submodule(stream.position)
    return x[0], position(torch.zeros_like(x))[0], position(x)[0]


# -------------------------------------------------------------------------------------------------------- the panels


def machine(run: Run, live: bool = True) -> Machine:
    """What the model is, part by part."""
    model, data, way = run.settings.model, run.settings.data, way_of(run)
    return Machine(
        format=FORMAT,
        version=__version__,
        name=run.folder.resolve().name if run.folder else "",
        live=live,
        input=way.input,
        verb=way.verb,
        panels=[*way.panels],
        changes=[*way.changes],
        parameters=run.size,
        stacks=[Stack(stream.stack, depth(run, stream.stack), stream.line) for stream in way.streams],
        kinds=attending(run),
        width=model.width,
        hidden=model.hidden,
        heads=model.heads,
        norm=model.norm,
        norm_kind=getattr(model, "norm_kind", "layer"),
        activation=model.activation,
        gated=getattr(model, "gated", False),
        scaled=getattr(model, "scale_embedding", False),
        position=model.position,
        position_base=model.position_base,
        vocabulary=way.vocabulary,
        languages=[*data.languages] if data.asks_language else [],
        limit=limit(run),
        parts=list(parts(run)),
        examples=way.examples,
    )


def attending(run: Run) -> list[Attending]:
    return [Attending(kind, depth(run, KINDS[kind][0].strip(".")), *AXES[kind]) for kind in way_of(run).kinds]


def depth(run: Run, stack: str) -> int:
    return len(getattr(run.model, stack).blocks)


AXES: dict[Kind, tuple[LineName, Side]] = {  # that look, and that are looked at
    "encoder": ("source", "source"),
    "decoder": ("target", "read"),
    "cross": ("target", "source"),
}
SUBLAYERS: dict[str, tuple[str, Role]] = {  # of a block: what stands around each, its name, its role
    "around_self": ("self_attention", "self"),
    "around_cross": ("cross_attention", "cross"),
    "around_feed": ("feed_forward", "feed"),
}


def parts(run: Run) -> Iterator[Part]:
    """In the order in which the data meets them."""
    model, way, pre = run.model, way_of(run), run.settings.model.norm == "pre"
    known: dict[nn.Module | nn.Parameter, str] = {}
    counted: set[nn.Parameter] = set()  # parts may share one: each is counted where the data meets it first

    def part(name: str, stack: Any, side: StackName, role: Role, block: int = -1) -> Part:
        found = operator.attrgetter(name)(model)  # a module, or a parameter by itself
        first = known.setdefault(found, name)
        learned = {found} if isinstance(found, nn.Parameter) else {*found.parameters()}
        count = sum(parameter.numel() for parameter in learned - counted)
        counted.update(learned)
        return Part(name, stack, side, block, role, count, "" if first == name else first)

    def there(name: str) -> bool:
        found = getattr(model, name, None)
        return found is not None and not isinstance(found, nn.Identity)

    for name, _, enters, _ in way.streams:
        yield from (part(each, "input", name, role) for each, role in enters if there(each))
        for number, block in enumerate(getattr(model, name).blocks):
            for around, (sublayer, role) in SUBLAYERS.items():
                if hasattr(block, around):
                    inner = part(f"{name}.blocks.{number}.{sublayer}", name, name, role, number)
                    norm = part(f"{name}.blocks.{number}.{around}.norm", name, name, "norm", number)
                    yield from (norm, inner) if pre else (inner, norm)
        if pre:
            yield part(f"{name}.norm", name, name, "norm")
    last = way.streams[-1].stack
    *before, output = (part(name, "output", last, "linear") for name in way.ends)
    yield from before
    alone = (parameter for name, parameter in model.named_parameters(recurse=False) if name.startswith(output.name))
    yield replace(output, parameters=output.parameters + sum(bias.numel() for bias in alone))
    yield Part("softmax", "output", last, -1, "softmax", 0, "")


def look(answer: Answer) -> Look:
    way, seen, trace = answer.way, answer.seen, answer.seen.trace
    return Look(
        format=FORMAT,
        question=answer.question.model_dump(mode="json"),
        translation=trace.translation,
        seconds=answer.seconds,
        typed=way.typed(answer.question),
        source=way.line("source", seen),
        read=way.line("read", seen),
        target=way.line("target", seen),
        steps=steps(answer),
        places=[*seen.places],
        weights={kind: pack_shares(trace.maps(kind)) for kind in way.kinds},
        heads=[figures for kind in way.kinds for figures in head_figures(answer, kind)],
        beam=beam(answer),
        picture=picture(answer),
    )


def picture(answer: Answer) -> Picture | None:
    """The picture with its patches, and how attention has carried them up the layers."""
    trace, (kind, *_) = answer.seen.trace, answer.way.kinds
    if trace.patches is None:
        return None
    height, width, _ = trace.patches.pixels.shape
    rows, columns = trace.patches.grid
    return Picture(
        kind=kind,
        image=to_address(trace.patches.pixels),
        height=height,
        width=width,
        rows=rows,
        columns=columns,
        row=trace.patches.row,
        column=trace.patches.column,
        rollout=pack(trace.rollout(kind)),
    )


def steps(answer: Answer) -> list[Step]:
    """The likeliest continuations at each step, and the one that was written."""
    logits = answer.seen.logits  # (T, V)
    written = torch.tensor(answer.seen.target, dtype=torch.long, device=logits.device)[:, None]
    ids = torch.cat([written, logits.topk(min(OPTIONS, logits.size(1)), dim=1).indices], dim=1)  # (T, 1 + options)
    numbers = (each.gather(1, ids).tolist() for each in (logits, logits.softmax(-1)))
    rows = zip(ids.tolist(), *numbers, strict=True)
    options = (map(Option, row, answer.way.pieces("target", row), *figures) for row, *figures in rows)
    return [
        Step(chosen, [each for each in likeliest if each.logit > -math.inf], step < answer.seen.forced)
        for step, (chosen, *likeliest) in enumerate(options)
    ]


def beam(answer: Answer) -> Beam | None:
    tree, found = answer.seen.tree, answer.seen.best
    if tree is None or found is None:
        return None
    best = set(tree.way_to(found))
    pieces = answer.way.pieces("target", [node.token for node in tree.nodes])
    nodes = [
        Node(node.parent, node.step, node.token, piece, node.log_probability, node.score, node.fate, index in best)
        for index, (node, piece) in enumerate(zip(tree.nodes, pieces, strict=True))
    ]
    return Beam(tree.config.beam, tree.config.length_penalty, nodes)


def head_figures(answer: Answer, kind: Kind) -> list[HeadFigures]:
    """What each head of a kind does. Where rows and columns differ, a row stands at its place scaled to the columns."""
    weights = answer.seen.trace.maps(kind)  # (L, H, R, C)
    R, C = weights.shape[2:]
    places = (np.arange(R) + 0.5) * C / R - 0.5  # (R,)
    nearest = np.floor(places + 0.5).astype(int)
    columns = answer.axes(kind)[1]
    marks = np.array([is_mark(token.piece) for token in columns.tokens])
    ends = np.array([columns.words[token.word].control for token in columns.tokens])

    def share(where: np.ndarray) -> np.ndarray:  # (R, C) or (C,) → (L, H)
        return (weights * where).sum(-1).mean(-1)

    def beside(step: int) -> np.ndarray:
        return np.arange(C) == nearest[:, None] + step

    figures = np.stack(
        [
            -(weights * np.log2(np.where(weights > 0, weights, 1))).sum(-1).mean(-1),
            share(np.abs(places[:, None] - np.arange(C))),
            *(share(beside(step)) for step in (0, -1, 1)),
            share(marks),
            share(ends),
        ],
        axis=-1,
    )  # (L, H, 7)
    return [
        HeadFigures(kind, layer, head, *numbers)
        for layer, heads in enumerate(figures.astype(float).tolist())
        for head, numbers in enumerate(heads)
    ]


def vectors(answer: Answer, side: Side) -> Vectors:
    if side not in answer.vectors:
        raise DataError(f"this run has no line {side}: it has {' and '.join(answer.vectors)}")
    return Vectors(side, *(pack(each) for each in answer.vectors[side]))


@torch.no_grad()
def head(answer: Answer, kind: Kind, layer: int, head: int) -> HeadSteps:
    """softmax(Q Kᵀ / √d) V of one head, step by step                       Vaswani et al. 2017, equation 1

    Where attention itself is told of positions, what they add to the scores is in `scaled`.
    """
    name = answer.attention(kind, layer)
    attention = answer.run.model.get_submodule(name)
    assert isinstance(attention, Attention)
    within(head, attention.heads, "head")
    x, memory, mask = answer.seen.given[name]
    projected = attention.project(x, memory)
    bias = attention.order.bias(projected[0], projected[1].size(2))
    shares = torch.from_numpy(answer.seen.trace.weights[name]).to(x.device)  # (1, H, R, C)
    q, k, v = (each[0, head].float().cpu() for each in projected)  # (R, d), (C, d), (C, d)
    scores = q @ k.mT  # (R, C)
    scaled = scores * (1 / math.sqrt(q.size(-1))) + (0 if bias is None else bias[0, head].float().cpu())
    z = attention.order.take(shares, projected[2])[0, head]
    weights = shares[0, head]
    masked = None if mask is None or bool(mask.all()) else (~mask.expand(1, 1, *scores.shape)[0, 0]).tolist()
    return HeadSteps(
        kind,
        layer,
        head,
        q=pack(q),
        k=pack(k),
        v=pack(v),
        scores=pack(scores),
        scaled=pack(scaled),
        masked=masked,
        weights=pack(weights),
        z=pack(z),
    )


def flow(answer: Answer, stack: StackName) -> Flow:
    """The vectors that enter a stack, and those after each of its sublayers, residual and norm included."""
    stream = next((each for each in answer.way.streams if each.stack == stack), None)
    if stream is None:
        raise DataError(f"this run has no {stack}: it has {' and '.join(each.stack for each in answer.way.streams)}")
    entered = [name for name, _ in stream.enters if name in answer.seen.states][-1]
    states = {entered: answer.seen.states[entered]}
    for name, state in answer.seen.states.items():
        block, _, around = name.rpartition(".")
        if block.startswith(f"{stack}.blocks.") and around in SUBLAYERS:
            states[f"{block}.{SUBLAYERS[around][0]}"] = state
        elif name == f"{stack}.norm":
            states[name] = state
    return Flow(stack, [*states], pack(torch.cat([*states.values()])))


def find(answer: Answer, kind: Kind, from_: int, onto: int) -> list[Finding]:
    """All heads of a kind, the one that looks most from a word of the rows onto one of the columns first."""
    rows, columns = ([spelled(word) for word in line.words] for line in answer.axes(kind))
    within(from_, len(rows), "row word")
    within(onto, len(columns), "column word")
    shares = by_word(answer.seen.trace.maps(kind), rows, columns)[:, :, from_]  # (L, H, columns)
    findings = [
        Finding(kind, layer, head, float(row[onto]), 1 + int((row > row[onto]).sum()))
        for layer, heads in enumerate(shares)
        for head, row in enumerate(heads)
    ]
    return sorted(findings, key=lambda finding: -finding.weight)


def spelled(word: Word) -> Spelled:
    return Spelled(word.text, word.start, word.end, spaced=True)


def training(folder: Path | None, after: int = 0) -> Training:
    """The figures of a run's metrics.jsonl from a line on; a line still being written waits for the next time."""
    try:
        written = (folder / "metrics.jsonl").read_bytes().split(b"\n")[:-1] if folder else []
    except FileNotFoundError:
        written = []
    lines = written[after : after + LINES]
    return Training([numbers(each) for each in lines], min(after, len(written)) + len(lines))


def numbers(text: bytes) -> dict[str, float]:
    """The finite numbers of a JSON object: all that a curve can show."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    pairs = given.items() if isinstance(given, dict) else ()
    return {key: value for key, value in pairs if type(value) in (int, float) and math.isfinite(value)}


def offline(answer: Answer) -> Offline:
    """All that needs no new pass: the views of one question; of heads, layer by layer, as many as can be carried."""
    return Offline(
        machine=machine(answer.run, live=False),
        look=look(answer),
        vectors=[vectors(answer, side) for side in answer.vectors],
        heads=list(carried(answer)),
        flows=[flow(answer, stream.stack) for stream in answer.way.streams],
        training=training(answer.run.folder),
    )


def carried(answer: Answer) -> Iterator[HeadSteps]:
    room, kinds = CARRIED, attending(answer.run)
    for layer in range(max(each.layers for each in kinds)):
        here: list[Kind] = [each.kind for each in kinds if layer < each.layers]
        found = [head(answer, kind, layer, n) for kind in here for n in range(answer.run.settings.model.heads)]
        arrays = (each for one in found for each in (one.q, one.k, one.v, one.scores, one.scaled, one.weights, one.z))
        room -= sum(math.prod(array.shape) for array in arrays)
        if room < 0:
            return
        yield from found


def to_json(view: Any) -> str:
    return json.dumps(view, default=vars, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
