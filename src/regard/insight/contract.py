"""What the explorer asks and is told: format 2 of its JSON, which web/src/types.ts mirrors.

Tokens, words, layers and heads are counted from 0. Shapes: L layers, H heads, S source and T target tokens, D width.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from torch import Tensor

from regard.config import Config
from regard.insight.trace import KINDS

FORMAT = 2
LETTERS = 10_000  # of a question's text

PICTURE = 8_000_000  # of a question's picture

Kind = Literal["encoder", "decoder", "cross"]
Side = Literal["source", "read"]
LineName = Literal["source", "read", "target"]
StackName = Literal["encoder", "decoder"]
Input = Literal["text", "picture"]
PanelName = Literal[
    "machine", "picture", "vectors", "steps", "heads", "writing", "answer", "beam", "whatif", "training"
]
Change = Literal["heads", "words", "positions", "mask"]
Role = Literal["embedding", "types", "summary", "position", "self", "cross", "feed", "norm", "linear", "softmax"]
OFF = re.compile(rf"({'|'.join(KINDS)})\.(0|[1-9]\d{{0,3}})\.(0|[1-9]\d{{0,3}})")

# ---------------------------------------------------------------------------------------------------- the question

Index = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Question(Config):
    """What is asked of the model, whole: two equal questions have one answer."""

    text: str = ""
    to: str = ""  # "" where there is one direction
    prefix: Annotated[tuple[Index, ...], Field(max_length=1024)] = ()  # target ids that the output must begin with
    off: Annotated[tuple[str, ...], Field(max_length=10_000)] = ()  # heads switched off: encoder.0.3
    order: Annotated[tuple[Index, ...], Field(max_length=LETTERS)] | None = None  # source words left, in this order
    mask: bool = True  # False: the decoder may look ahead
    positions: bool = True  # False: no positional encodings
    picture: str = ""  # where a picture is asked about: an image file as data:image/…;base64,…

    @model_validator(mode="after")
    def is_one(self) -> Self:
        if len(self.text) > LETTERS:
            raise ValueError(f"a text of {len(self.text):,} letters is too long to look at: give at most {LETTERS:,}")
        if len(self.picture) > PICTURE:
            raise ValueError(
                f"a picture of {len(self.picture):,} letters is too large: give one of at most {PICTURE:,}"
            )
        for head in self.off:
            if not OFF.fullmatch(head):
                raise ValueError(f"off={head[:40]!r} names no head: write kind.layer.head, such as encoder.0.3")
        if self.order is not None and len(set(self.order)) < len(self.order):
            raise ValueError("order names a word twice: each is left once or not at all")
        return self


class VectorsQuestion(Config):
    """Of which line the vectors are wanted."""

    question: Question = Question()
    side: Side = "source"


class HeadQuestion(Config):
    """Which head is wanted."""

    question: Question = Question()
    kind: Kind = "encoder"
    layer: Index = 0
    head: Index = 0


class FlowQuestion(Config):
    """Which stack is wanted."""

    question: Question = Question()
    stack: StackName = "encoder"


class FindQuestion(Config):
    """Which heads look from one word of the rows onto one of the columns?"""

    question: Question = Question()
    kind: Kind = "encoder"
    from_: Annotated[int, Field(ge=0, le=2**31 - 1, alias="from")] = 0
    onto: Index = 0


# ------------------------------------------------------------------------------------------------------- the views


@dataclass(frozen=True)
class Packed:
    """An array: its shape, and its numbers, the last axis the fastest, as float32, little-endian, in base64."""

    shape: tuple[int, ...]
    data: str


def pack(array: np.ndarray | Tensor) -> Packed:
    numbers = np.ascontiguousarray(array.float().cpu().numpy() if isinstance(array, Tensor) else array, dtype="<f4")
    return Packed(numbers.shape, base64.b64encode(numbers.tobytes()).decode())


@dataclass(frozen=True)
class Shares:
    """An array of shares of 1: as Packed, but each share x as round(65535 x) in 16 bits. A look has a million."""

    shape: tuple[int, ...]
    data: str


def pack_shares(array: np.ndarray) -> Shares:
    numbers = (array * np.iinfo(np.uint16).max).round().astype("<u2")
    return Shares(numbers.shape, base64.b64encode(numbers.tobytes()).decode())


@dataclass(frozen=True)
class Token:
    """One token, and which of its line's words it belongs to."""

    id: int
    piece: str
    word: int


@dataclass(frozen=True)
class Word:
    """A word as people read it: tokens start … end − 1."""

    text: str
    start: int
    end: int
    control: bool


@dataclass(frozen=True)
class Line:
    """A line of tokens, and the words that they spell."""

    tokens: list[Token]
    words: list[Word]


@dataclass(frozen=True)
class Part:
    """One piece of the machine: a sublayer, or what stands before and after the stacks."""

    name: str
    stack: Literal["input", "encoder", "decoder", "output"]
    side: StackName  # the stack that it goes with
    block: int  # −1 outside the blocks
    role: Role
    parameters: int
    shares: str


@dataclass(frozen=True)
class Stack:
    """A stack of blocks, and the line that enters it."""

    name: StackName
    layers: int
    line: Side


@dataclass(frozen=True)
class Attending:
    """A kind of attention: the lines that look, and that are looked at."""

    kind: Kind
    layers: int
    rows: LineName
    columns: Side


@dataclass(frozen=True)
class Machine:
    """What does not depend on the sentence: what the model is, what it can be asked, and what there is to show."""

    format: int
    version: str
    name: str
    live: bool
    input: Input
    verb: str
    panels: list[PanelName]
    changes: list[Change]
    parameters: int
    stacks: list[Stack]
    kinds: list[Attending]
    width: int
    hidden: int
    heads: int
    norm: str
    norm_kind: str
    activation: str
    gated: bool
    scaled: bool
    position: str
    position_base: float
    vocabulary: dict[str, int]
    languages: list[str]
    limit: int
    parts: list[Part]
    examples: list[str]


@dataclass(frozen=True)
class Option:
    """One continuation of an output at one time step."""

    id: int
    piece: str
    logit: float
    probability: float


@dataclass(frozen=True)
class Step:
    """A time step of writing: what it chose from."""

    chosen: Option
    options: list[Option]
    forced: bool


@dataclass(frozen=True)
class Node:
    """A node of the beam: one token written after its parent."""

    parent: int
    step: int
    id: int
    piece: str
    log_probability: float
    score: float
    fate: Literal["kept", "dropped", "finished"]
    best: bool


@dataclass(frozen=True)
class Beam:
    """The search as a tree."""

    width: int
    length_penalty: float
    nodes: list[Node]


@dataclass(frozen=True)
class HeadFigures:
    """What one head does in this sentence: means over its rows, as shares of 1 but for the first two."""

    kind: Kind
    layer: int
    head: int
    entropy: float  # bits
    distance: float  # tokens
    self: float
    previous: float
    next: float
    punctuation: float
    ends: float


@dataclass(frozen=True)
class Picture:
    """The picture that was seen, or painted, and which rows and columns of the maps its patches are."""

    kind: Kind
    image: str  # as data:image/png;base64,…
    height: int
    width: int
    rows: int
    columns: int
    row: int  # of a map, that is the first patch
    column: int
    rollout: Packed  # (L, R, C)


@dataclass(frozen=True)
class Look:
    """What the first view needs."""

    format: int
    question: dict[str, Any]
    translation: str
    seconds: float
    typed: Line
    source: Line
    read: Line
    target: Line
    steps: list[Step]
    places: list[int]
    weights: dict[str, Shares]
    heads: list[HeadFigures]
    beam: Beam | None
    picture: Picture | None


@dataclass(frozen=True)
class Vectors:
    """Words to vectors."""

    side: Side
    embedding: Packed
    position: Packed
    sum: Packed


@dataclass(frozen=True)
class HeadSteps:
    """The six steps of one head, with the model's numbers."""

    kind: Kind
    layer: int
    head: int
    q: Packed
    k: Packed
    v: Packed
    scores: Packed
    scaled: Packed
    masked: list[list[bool]] | None
    weights: Packed
    z: Packed


@dataclass(frozen=True)
class Flow:
    """The vector of each token after each sublayer."""

    stack: StackName
    names: list[str]
    states: Packed


@dataclass(frozen=True)
class Finding:
    """How much one head looks from a word onto another."""

    kind: Kind
    layer: int
    head: int
    weight: float
    rank: int


@dataclass(frozen=True)
class Training:
    """Lines of metrics.jsonl."""

    lines: list[dict[str, float]]
    next: int


@dataclass(frozen=True)
class Offline:
    """What an offline page carries in place of a server."""

    machine: Machine
    look: Look
    vectors: list[Vectors]
    heads: list[HeadSteps]
    flows: list[Flow]
    training: Training
