"""Runs that paint: a decoder alone, which reads a text and goes on with a picture, code by code."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from regard.config import DecodeConfig
from regard.data import shapes
from regard.data.gallery import SHAPES
from regard.decoding.paint import draw_codes, framed
from regard.errors import DataError
from regard.insight.contract import Line, LineName, Question
from regard.insight.lines import joined, spelled_out
from regard.insight.trace import Patches
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
from regard.insight.ways.writing import ENTERS
from regard.insight.words import words
from regard.run import IMAGE, TEXT, Run

SHOWN = 5  # captions to begin with


class Painting(Way):
    """The text, padded to its length, and then the codes are one line. A prefix is the text and the first codes."""

    verb = "Paint"
    kinds = ("decoder",)
    streams = (Stream("decoder", "read", ENTERS, "position"),)
    ends = ("output",)
    panels = ("machine", "picture", "vectors", "steps", "heads", "writing", "whatif", "training")
    changes = ("heads", "words", "positions")

    def __init__(self, run: Run):
        super().__init__(run)
        config = run.model.config
        self.length, self.grid, self.codes = config.text_length, config.grid, config.text_vocabulary

    @property
    def vocabulary(self) -> dict[str, int]:
        return {"source": 0, "target": self.run.model.config.vocabulary}

    @property
    def examples(self) -> list[str]:
        return [*shapes.pictures("valid", SHOWN).captions] if self.run.settings.data.pictures == SHAPES else []

    def pieces(self, line: LineName, ids: Sequence[int]) -> list[str]:
        tokenizer = self.run.tokenizers[TEXT]
        return [f"#{id - self.codes}" if id >= self.codes else tokenizer.pieces([id])[0] for id in ids]

    def line(self, name: LineName, seen: Pass) -> Line:
        """The words of the text, and then each code by itself."""
        ids = {"source": seen.source, "read": seen.read, "target": seen.target}[name]
        pieces = self.pieces(name, ids)
        text = sum(id < self.codes for id in ids)
        places = [slice(word.start, word.end) for word in words(pieces[:text])]
        places += [slice(place, place + 1) for place in range(text, len(ids))]
        return joined((ids[place], pieces[place]) for place in places)

    def typed(self, question: Question) -> Line:
        ids = self.run.tokenizers[TEXT].encode(question.text)
        return spelled_out(ids, self.pieces("read", ids))

    def ask(self, question: Question, config: DecodeConfig, most: int) -> Pass:
        """Codes drawn one by one; then one pass over text and picture, without a cache, recorded."""
        some_text(question.text)
        run, count = self.run, self.grid[0] * self.grid[1]
        short_enough(self.length + count - 1, most, "a text and its picture")
        ids = [id for word in moved(self.typed(question), question.order) for id in word]
        short_enough(len(ids), self.length - 2, "a text")
        text = framed(ids, self.length)
        given = list(question.prefix[self.length - 1 :])
        if question.prefix and not given:
            raise DataError("the text of a picture is given: force a code of the picture, or give another text")
        if len(given) > count:
            raise DataError(f"prefix has {len(given)} codes, and a picture has {count}: force fewer")
        can_be_written(given, run.model.config.vocabulary, range(self.codes))
        self.in_turn(given)
        with evaluating(run.model), torch.no_grad():
            [(drawn, _)] = draw_codes(run, [([*text, *given], 0)], config, cached=True)
            codes = [*given, *(self.codes + code for code in drawn)]
            read, target = [*text, *codes[:-1]], [*text[1:], *codes]
            with recorded(run.model) as seen:
                logits = run.model(torch.tensor([read], device=run.device))[0].float().cpu()  # (T, V)
        pixels = run.tokenizers[IMAGE].decode(torch.tensor([codes]) - self.codes)[0]
        patches = Patches(pixels, self.grid, row=self.length - 1, column=self.length)
        found = Pass(**vars(seen), logits=logits, read=read, target=target, forced=self.length - 1 + len(given))
        return self.named(found, question.text, f"a picture of {count} codes", patches=patches)

    def in_turn(self, given: Sequence[int]) -> None:
        for place, id in enumerate(given):
            kind = self.run.tokenizers[IMAGE].kind(place)
            if id - self.codes not in kind:
                raise DataError(
                    f"code {id - self.codes} cannot stand in place {place}: patterns and colours take turns, so "
                    f"force one of {kind.start} to {kind.stop - 1}"
                )
