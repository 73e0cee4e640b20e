"""The beam of one sentence as a tree, written down from outside while it is searched.

tree = Tree(config)
search(model, source, readable, config, limits, watch=tree.note)
tree.nodes
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from regard.config import DecodeConfig
from regard.decoding.search import Considered, Hypothesis, penalty
from regard.tokens.text import EOS

Fate = Literal["kept", "dropped", "finished"]


@dataclass(frozen=True)
class Node:
    """One token written after its parent's."""

    parent: int  # index among the nodes; −1 is <s>
    step: int  # 0 is the first token
    token: int
    log_probability: float  # of all from the start to here
    score: float  # that, over the length penalty
    fate: Fate  # finished: taken as a hypothesis, at its </s> or at the length limit


class Tree:
    """Of every step the 2K likeliest candidates: all that went on or finished is among them."""

    def __init__(self, config: DecodeConfig):
        self.config = config
        self.nodes: list[Node] = []
        self.tips = [-1] * config.beam  # the node that each hypothesis of the beam has come to

    def note(self, step: Considered) -> None:
        tips: list[int] = []
        for total, beam, token, finished, goes_on in list(zip(*step[2:], strict=True))[: 2 * self.config.beam]:
            if goes_on:
                tips.append(len(self.nodes))  # of −∞, which is no candidate, nothing ever goes on
            if total > -math.inf:
                fate: Fate = "finished" if finished else "kept" if goes_on else "dropped"
                score = total / penalty(step.length, self.config)
                self.nodes.append(Node(self.tips[beam], step.length - 1, token, total, score, fate))
        self.tips = tips

    def path(self, index: int) -> list[int]:
        """The nodes on the way to one, from the first token on."""
        way: list[int] = []
        while index >= 0:
            way.append(index)
            index = self.nodes[index].parent
        return way[::-1]

    def way_to(self, hypothesis: Hypothesis) -> list[int]:
        """The nodes that a hypothesis was written by."""
        ways = (self.path(index) for index, node in enumerate(self.nodes) if node.fate == "finished")
        return next(way for way in ways if self.ids(way) == hypothesis.ids)

    def ids(self, way: list[int]) -> tuple[int, ...]:
        """The tokens on a way, without EOS."""
        return tuple(self.nodes[index].token for index in way if self.nodes[index].token != EOS)
