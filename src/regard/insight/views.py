"""Question → answer → the JSON that each panel of the explorer draws: format 1, which web/src/types.ts mirrors.

    answer = ask(run, Question(text="I am a student.", to="fr"))
    look(answer), vectors(answer, "source"), head(answer, "cross", layer=1, head=3), flow(answer, "encoder")

A question holds all that an answer depends on. The numbers are the model's own: they come from one recorded pass, and
queries, keys and values from `Attention.project`. Tokens, words, layers and heads are counted from 0.

Shapes: L layers, H heads, S source tokens, T target tokens, D width, d = D / H.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from regard import __version__
from regard.config import DecodeConfig
from regard.decoding.translate import decode_settings
from regard.decoding.tree import Tree
from regard.errors import DataError
from regard.insight.change import switched_off, without_mask, without_positions
from regard.insight.contract import (
    FORMAT,
    Beam,
    Finding,
    Flow,
    HeadFigures,
    HeadSteps,
    Kind,
    Line,
    Look,
    Machine,
    Node,
    Offline,
    Option,
    Part,
    Question,
    Role,
    Side,
    StackName,
    Step,
    Token,
    Training,
    Vectors,
    Word,
    pack,
)
from regard.insight.explain import LIMIT, Pass, evaluating, translate_and_record
from regard.insight.trace import KINDS
from regard.insight.words import Word as Spelled
from regard.insight.words import by_word, is_mark, spell, words
from regard.languages import Source, lead_of
from regard.model.attention import Attention
from regard.model.embedding import Embedding
from regard.run import Run
from regard.tokens.text import EOS, TextTokenizer

NUMBERS = 10_000_000  # weights of an answer, about: what a browser still takes
CARRIED = 400_000  # numbers of heads that an offline page carries
OPTIONS = 12  # of a time step
LINES = 20_000  # of metrics.jsonl in one answer

PHRASEBOOK = "the embedded phrasebook"  # data.source of the demo's run
LECTURE = (  # and sentences to begin with
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
    "I am a student.",
)

# -------------------------------------------------------------------------------------------------------- answering


@dataclass(frozen=True, eq=False)
class Answer:
    """A question, and the pass that answers it."""

    question: Question
    run: Run
    typed: Line
    source: Line
    seen: Pass
    tree: Tree | None  # None without the mask
    vectors: dict[Side, tuple[Tensor, Tensor, Tensor]]  # embeddings, positions and their sums, (N, D) each
    seconds: float

    @property
    def read(self) -> Line:
        return line(self.run.target_tokenizer, self.seen.read)

    @property
    def target(self) -> Line:
        return line(self.run.target_tokenizer, self.seen.target)

    def axes(self, kind: Kind) -> tuple[Line, Line]:
        """The lines of the rows, which look, and of the columns, which are looked at."""
        return {
            "encoder": (self.source, self.source),
            "decoder": (self.target, self.read),
            "cross": (self.target, self.source),
        }[kind]

    def attention(self, kind: Kind, layer: int) -> str:
        names = self.seen.trace.named(kind)
        return names[within(layer, len(names), f"{kind} layer")]


def ask(run: Run, question: Question) -> Answer:
    """Change the model as the question wants, translate, and record one pass; then the model is as it was."""
    began = time.perf_counter()
    config = decode_settings(run, 1, {} if question.mask else {"beam": 1})
    if not question.text.strip():
        raise DataError("there is nothing to explain in an empty sentence: give some text")
    typed = line(run.source_tokenizer, run.source_tokenizer.encode(question.text))
    source = as_read(run, typed, question)
    if len(source.tokens) > (most := limit(run)):
        raise DataError(f"a sentence of {len(source.tokens)} tokens is too long to look at: give one of at most {most}")
    lead = tuple(run.lead(question.to or None))
    prefix = after(lead, question.prefix)
    check_prefix(run, prefix, config)
    tree = Tree(config) if question.mask else None
    watch = tree.note if tree else None
    with ExitStack() as changes:
        for kind, layer, number in (head.split(".") for head in question.off):
            start, end = KINDS[kind]
            changes.enter_context(switched_off(run.model, f"{start}blocks.{layer}{end}", int(number)))
        if not question.positions:
            changes.enter_context(without_positions(run.model))
        if not question.mask:
            changes.enter_context(without_mask(run.model))
        ids = Source((token.id for token in source.tokens), lead)
        seen = translate_and_record(run, ids, config, cached=question.mask, prefix=prefix, watch=watch)
        vectors = sums(run, seen)
    return Answer(question, run, typed, source, seen, tree, vectors, time.perf_counter() - began)


def as_read(run: Run, typed: Line, question: Question) -> Line:
    """What the encoder reads: the tag, the words that are left in the order asked for, </s>."""
    order = range(len(typed.words)) if question.order is None else question.order
    moved = [typed.words[within(place, len(typed.words), "source word")] for place in order]
    if not moved:
        raise DataError("order leaves no word of the sentence: leave at least one")
    tag = [[id] for id in run.tag(question.to or None)]
    return joined(
        run.source_tokenizer, [*tag, *([token.id for token in typed.tokens[w.start : w.end]] for w in moved), [EOS]]
    )


def line(tokenizer: TextTokenizer, ids: Sequence[int]) -> Line:
    return joined(tokenizer, [ids[word.start : word.end] for word in words(tokenizer.pieces(ids))])


def joined(tokenizer: TextTokenizer, groups: Iterable[Sequence[int]]) -> Line:
    """Groups of ids as words, one after the other."""
    tokens: list[Token] = []
    found: list[Word] = []
    for ids in groups:
        pieces, start = tokenizer.pieces(ids), len(tokens)
        tokens += [Token(id, piece, len(found)) for id, piece in zip(ids, pieces, strict=True)]
        found.append(Word(spell(pieces), start, len(tokens), ids[0] in tokenizer.control))
    return Line(tokens, found)


def limit(run: Run) -> int:
    """Source tokens at most: every head keeps their square, and a table of positions may end."""
    model = run.settings.model
    maps = model.heads * (model.layers + 2 * model.decoder_layers)
    rows = [model.max_positions] if model.position == "learned" else []
    return min(LIMIT, math.isqrt(NUMBERS // maps), *rows)


def after(lead: tuple[int, ...], prefix: tuple[int, ...]) -> tuple[int, ...]:
    """A prefix without what leads a translation anyway: the page gives back all that stands before a token."""
    return prefix[len(lead) :] if prefix[: len(lead)] == lead else prefix


def check_prefix(run: Run, prefix: Sequence[int], config: DecodeConfig) -> None:
    vocabulary, never = len(run.target_tokenizer), set(run.target_tokenizer.unwritten)
    if len(prefix) > config.max_length:
        raise DataError(f"a prefix of {len(prefix)} tokens is too long: this run writes at most {config.max_length}")
    for id in prefix:
        if id >= vocabulary or id in never:
            raise DataError(f"prefix={id} is no token that can be written: give ids of text below {vocabulary}")


def within(number: int, count: int, what: str) -> int:
    if not 0 <= number < count:
        raise DataError(f"there is no {what} {number}: there are {count}, counted from 0")
    return number


def sums(run: Run, seen: Pass) -> dict[Side, tuple[Tensor, Tensor, Tensor]]:
    """What enters the stacks, in its two parts: √D · E[id], and the position's row."""
    model = run.model
    ways: dict[Side, tuple[Embedding, nn.Module, list[int]]] = {
        "source": (model.source_embedding, model.source_position, seen.source),
        "read": (model.target_embedding, model.target_position, seen.read),
    }
    found: dict[Side, tuple[Tensor, Tensor, Tensor]] = {}
    with evaluating(model), torch.no_grad():
        for side, (embedding, position, ids) in ways.items():
            x = embedding(torch.tensor([ids], device=run.device))  # (1, N, D)
            found[side] = x[0], position(torch.zeros_like(x))[0], position(x)[0]
    return found


# -------------------------------------------------------------------------------------------------------- the panels


def machine(run: Run, live: bool = True) -> Machine:
    """What the model is, part by part."""
    model, data = run.settings.model, run.settings.data
    return Machine(
        format=FORMAT,
        version=__version__,
        name=run.folder.resolve().name if run.folder else "",
        live=live,
        parameters=run.size,
        layers=model.layers,
        decoder_layers=model.decoder_layers,
        width=model.width,
        hidden=model.hidden,
        heads=model.heads,
        norm=model.norm,
        activation=model.activation,
        position=model.position,
        position_base=model.position_base,
        vocabulary={"source": len(run.source_tokenizer), "target": len(run.target_tokenizer)},
        languages=[*data.languages] if data.tagged else [],
        limit=limit(run),
        parts=list(parts(run)),
        examples=[*LECTURE] if data.source == PHRASEBOOK else [],
    )


SUBLAYERS: dict[str, tuple[str, Role]] = {  # of a block: what stands around each, its name, its role
    "around_self": ("self_attention", "self"),
    "around_cross": ("cross_attention", "cross"),
    "around_feed": ("feed_forward", "feed"),
}


def parts(run: Run) -> Iterator[Part]:
    """In the order in which the data meets them."""
    model = run.model
    known: dict[nn.Module, str] = {}

    def part(name: str, stack: Any, role: Role, block: int = -1) -> Part:
        module = model.get_submodule(name)
        first = known.setdefault(module, name)
        count = sum(parameter.numel() for parameter in module.parameters()) if first == name else 0
        return Part(name, stack, block, role, count, "" if first == name else first)

    def stack(name: StackName) -> Iterator[Part]:
        for number, block in enumerate(model.get_submodule(name).blocks):  # pyright: ignore[reportArgumentType]
            for around, (sublayer, role) in SUBLAYERS.items():
                if hasattr(block, around):
                    inner = part(f"{name}.blocks.{number}.{sublayer}", name, role, number)
                    norm = part(f"{name}.blocks.{number}.{around}.norm", name, "norm", number)
                    yield from (norm, inner) if run.settings.model.norm == "pre" else (inner, norm)
        if run.settings.model.norm == "pre":
            yield part(f"{name}.norm", name, "norm")

    def enters(side: Literal["source", "target"]) -> Iterator[Part]:
        yield part(f"{side}_embedding", "input", "embedding")
        yield part(f"{side}_position", "input", "position")
        if run.settings.model.embedding_norm:
            yield part(f"{side}_norm", "input", "norm")

    yield from enters("source")
    yield from stack("encoder")
    yield from enters("target")
    yield from stack("decoder")
    output = part("output", "output", "linear")
    bias = 0 if model.output_bias is None else model.output_bias.numel()
    yield replace(output, parameters=output.parameters + bias)
    yield Part("softmax", "output", -1, "softmax", 0, "")


def look(answer: Answer) -> Look:
    trace = answer.seen.trace
    return Look(
        format=FORMAT,
        question=answer.question.model_dump(mode="json"),
        translation=trace.translation,
        seconds=answer.seconds,
        typed=answer.typed,
        source=answer.source,
        read=answer.read,
        target=answer.target,
        steps=steps(answer),
        weights={kind: pack(trace.maps(kind)) for kind in KINDS},
        heads=[figures for kind in get_args(Kind) for figures in head_figures(answer, kind)],
        beam=beam(answer),
    )


def steps(answer: Answer) -> list[Step]:
    """The likeliest continuations at each step, and the one that was written."""
    tokenizer, logits = answer.run.target_tokenizer, answer.seen.logits  # (T, V)
    probabilities = logits.softmax(-1)
    likeliest = logits.topk(min(OPTIONS, logits.size(1)), dim=1).indices
    lead = lead_of(answer.seen.source)
    forced = len(lead) + len(after(lead, answer.question.prefix))

    def option(step: int, id: int) -> Option:
        return Option(id, tokenizer.pieces([id])[0], logits[step, id].item(), probabilities[step, id].item())

    return [
        Step(
            option(step, id),
            [option(step, each) for each in likeliest[step].tolist()],
            step < forced,
        )
        for step, id in enumerate(answer.seen.target)
    ]


def beam(answer: Answer) -> Beam | None:
    if answer.tree is None:
        return None
    best = set(answer.tree.way_to(answer.seen.best))
    pieces = answer.run.target_tokenizer.pieces(node.token for node in answer.tree.nodes)
    nodes = [
        Node(node.parent, node.step, node.token, piece, node.log_probability, node.score, node.fate, index in best)
        for index, (node, piece) in enumerate(zip(answer.tree.nodes, pieces, strict=True))
    ]
    return Beam(answer.tree.config.beam, answer.tree.config.length_penalty, nodes)


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
    return Vectors(side, *(pack(each) for each in answer.vectors[side]))


@torch.no_grad()
def head(answer: Answer, kind: Kind, layer: int, head: int) -> HeadSteps:
    """softmax(Q Kᵀ / √d) V of one head, step by step                       Vaswani et al. 2017, equation 1"""
    name = answer.attention(kind, layer)
    attention = answer.run.model.get_submodule(name)
    assert isinstance(attention, Attention)
    within(head, attention.heads, "head")
    x, memory, mask = answer.seen.given[name]
    q, k, v = (each[0, head].float().cpu() for each in attention.project(x, memory))  # (R, d), (C, d), (C, d)
    scores = q @ k.mT  # (R, C)
    weights = torch.from_numpy(answer.seen.trace.alone(name)[head])
    masked = None if mask is None or bool(mask.all()) else (~mask.expand(1, 1, *scores.shape)[0, 0]).tolist()
    return HeadSteps(
        kind,
        layer,
        head,
        q=pack(q),
        k=pack(k),
        v=pack(v),
        scores=pack(scores),
        scaled=pack(scores * (1 / math.sqrt(q.size(-1)))),
        masked=masked,
        weights=pack(weights),
        z=pack(weights @ v),
    )


def flow(answer: Answer, stack: StackName) -> Flow:
    """The vectors that enter a stack, and those after each of its sublayers, residual and norm included."""
    side = {"encoder": "source", "decoder": "target"}[stack]
    entered = [name for name in (f"{side}_position", f"{side}_norm") if name in answer.seen.states][-1]
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
        vectors=[vectors(answer, side) for side in get_args(Side)],
        heads=list(carried(answer)),
        flows=[flow(answer, stack) for stack in get_args(StackName)],
        training=training(answer.run.folder),
    )


def carried(answer: Answer) -> Iterator[HeadSteps]:
    model, room = answer.run.settings.model, CARRIED
    for layer in range(max(model.layers, model.decoder_layers)):
        kinds: list[Kind] = [kind for kind in get_args(Kind) if layer < len(answer.seen.trace.named(kind))]
        found = [head(answer, kind, layer, number) for kind in kinds for number in range(model.heads)]
        arrays = (each for one in found for each in (one.q, one.k, one.v, one.scores, one.scaled, one.weights, one.z))
        room -= sum(math.prod(array.shape) for array in arrays)
        if room < 0:
            return
        yield from found


def to_json(view: Any) -> str:
    return json.dumps(view, default=vars, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
