"""Runs that translate, or restore what was damaged: an encoder reads the source, a decoder writes the target."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from regard.config import DecodeConfig
from regard.decoding.torch_engine import decode_batch
from regard.decoding.tree import Tree
from regard.errors import DataError
from regard.insight.contract import Line, LineName, Question
from regard.insight.lines import spelled_out
from regard.insight.ways.way import (
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
from regard.languages import Source
from regard.tokens.text import BOS, EOS

PHRASEBOOK = "the embedded phrasebook"  # data.source of the demo's run
LECTURE = (  # and sentences to begin with
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
    "I am a student.",
)


class Translating(Way):
    verb = "Translate"
    kinds = ("encoder", "decoder", "cross")
    streams = (
        Stream(
            "encoder",
            "source",
            (("source_embedding", "embedding"), ("source_position", "position"), ("source_norm", "norm")),
            "source_position",
        ),
        Stream(
            "decoder",
            "read",
            (("target_embedding", "embedding"), ("target_position", "position"), ("target_norm", "norm")),
            "target_position",
        ),
    )
    ends = ("output",)
    panels = ("machine", "vectors", "steps", "heads", "writing", "beam", "whatif", "training")
    changes = ("heads", "words", "positions", "mask")

    @property
    def vocabulary(self) -> dict[str, int]:
        return {"source": len(self.run.source_tokenizer), "target": len(self.run.target_tokenizer)}

    @property
    def examples(self) -> list[str]:
        return [*LECTURE] if self.run.settings.data.source == PHRASEBOOK else []

    def pieces(self, line: LineName, ids: Sequence[int]) -> list[str]:
        tokenizer = self.run.source_tokenizer if line == "source" else self.run.target_tokenizer
        return tokenizer.pieces(ids)

    def typed(self, question: Question) -> Line:
        ids = self.run.source_tokenizer.encode(question.text)
        return spelled_out(ids, self.pieces("source", ids))

    def ask(self, question: Question, config: DecodeConfig, most: int) -> Pass:
        """The search that translates; then one pass over source and output, without a cache, recorded."""
        some_text(question.text)
        run, cached = self.run, question.mask
        words = [[id] for id in run.tag(question.to or None)]
        words += [*moved(self.typed(question), question.order), [EOS]]
        lead = tuple(run.lead(question.to or None))
        prefix = after(lead, question.prefix)
        source = Source([id for word in words for id in word], lead)
        short_enough(len(source), most)
        if len(prefix) > config.max_length:
            raise DataError(
                f"a prefix of {len(prefix)} tokens is too long: this run writes at most {config.max_length}"
            )
        can_be_written(prefix, len(run.target_tokenizer), run.target_tokenizer.unwritten)
        tree = Tree(config) if question.mask and not config.samples and config.groups == 1 else None
        with evaluating(run.model), torch.no_grad():
            watch = tree.note if tree else None
            best = decode_batch(run, [source], config, cached, prefix, watch)[0].hypotheses[0]
            target = [*best.ids, EOS] if best.finished else [*best.ids]  # what each step writes
            read = [BOS, *target[:-1]]  # what it reads to do so
            ids, written = torch.tensor([source], device=run.device), torch.tensor([read], device=run.device)
            with recorded(run.model) as seen:
                logits = run.model(ids, written, torch.ones_like(ids, dtype=torch.bool))[0].float().cpu()  # (T, V)
        lines = {"source": source, "read": read, "target": target, "words": words}
        found = Pass(**vars(seen), logits=logits, **lines, forced=len(lead) + len(prefix), best=best, tree=tree)
        return self.named(found, question.text, run.target_tokenizer.decode(best.ids))


def after(lead: tuple[int, ...], prefix: tuple[int, ...]) -> tuple[int, ...]:
    """A prefix without what leads a translation anyway: the page gives back all that stands before a token."""
    return prefix[len(lead) :] if prefix[: len(lead)] == lead else prefix
