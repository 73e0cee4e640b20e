"""Runs that write on from a text: a decoder alone, which reads what it has written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from regard.config import DecodeConfig
from regard.decoding.continuing import Continuing
from regard.decoding.generate import rules_of
from regard.decoding.search import beam_search
from regard.decoding.tree import Tree
from regard.insight.contract import Line, LineName, Question
from regard.insight.lines import spelled_out
from regard.insight.ways.way import (
    Enters,
    Pass,
    Stream,
    Way,
    can_be_written,
    evaluating,
    moved,
    recorded,
    short_enough,
    some_text,
)
from regard.run import TEXT
from regard.tokens.text import BOS, EOS

WRITTEN = 24  # tokens, where nobody says how many
ENTERS: Enters = (("embedding", "embedding"), ("types", "types"), ("position", "position"), ("embedding_norm", "norm"))


class Writing(Way):
    """Prompt and what is written after it are one line; a prefix takes the prompt's place, and may change it."""

    verb = "Write on"
    kinds = ("decoder",)
    streams = (Stream("decoder", "read", ENTERS, "position"),)
    ends = ("output",)
    panels = ("machine", "vectors", "steps", "heads", "writing", "beam", "whatif", "training")
    changes = ("heads", "words", "positions", "mask")

    @property
    def vocabulary(self) -> dict[str, int]:
        return {"source": 0, "target": len(self.run.tokenizers[TEXT])}

    @property
    def longest(self) -> int | None:
        return self.run.window

    def pieces(self, line: LineName, ids: Sequence[int]) -> list[str]:
        return self.run.tokenizers[TEXT].pieces(ids)

    def typed(self, question: Question) -> Line:
        ids = self.run.writer.encode(question.text)
        return spelled_out(ids, self.pieces("read", ids))

    def settings(self, decode: dict[str, Any]) -> DecodeConfig:
        return super().settings({"max_length": WRITTEN, "samples": 0, "groups": 1, **decode})

    def ask(self, question: Question, config: DecodeConfig, most: int) -> Pass:
        """The likeliest text that a beam finds; then one pass over all of it, without a cache, recorded."""
        some_text(question.text)
        run, tokenizer = self.run, self.run.tokenizers[TEXT]
        prompt = [id for word in moved(self.typed(question), question.order) for id in word]
        can_be_written(question.prefix, len(tokenizer), tokenizer.unwritten)
        given = [*question.prefix] or prompt
        short_enough(len(given) + 1, most, "a text")
        limit = min(config.max_length, most - len(given))
        tree = Tree(config) if question.mask else None
        with evaluating(run.model), torch.no_grad():
            target = given
            best = None
            if given[-1] != EOS:
                text = Continuing(run.model, given, config.beam, run.window, run.device, question.mask, run.parted)
                [found] = beam_search(text, config, [limit], rules_of(run, config), tree.note if tree else None)
                found.rank(config)
                best = found.hypotheses[0]
                target = [*given, *best.ids, *([EOS] if best.finished else [])]
            read = [BOS, *target[:-1]]
            with recorded(run.model) as seen:
                logits = run.model(torch.tensor([read], device=run.device))[0].float().cpu()  # (T, V)
        seen = Pass(**vars(seen), logits=logits, read=read, target=target, forced=len(given), best=best, tree=tree)
        return self.named(seen, question.text, run.writer.decode(target))
