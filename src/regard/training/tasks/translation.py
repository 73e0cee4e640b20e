"""To translate: sentence pairs in, and a network that says in one language what it has read in another."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from regard.config import Settings, TranslatorConfig
from regard.console import say
from regard.data.batch import Example, PairBatch, collate
from regard.data.corpus import Links, Pair, read_alignments, read_pairs, read_table, without_empty
from regard.data.direction import Directed, directed, set_aside
from regard.decoding.translate import decode_settings, translate_together
from regard.errors import ConfigError, DataError
from regard.run import Run
from regard.tokens.text import TextTokenizer, seeded
from regard.tokens.words import between_tokens, words_of
from regard.training.calibrate import learn_trust
from regard.training.evaluate import perplexity, surprise
from regard.training.length import tuned
from regard.training.objective import Translating
from regard.training.score import Score, score
from regard.training.start import start_from_neighbours
from regard.training.suited import suit
from regard.training.tasks.task import Account, Task, Validation
from regard.training.translated import with_translations

VALIDATED = 200  # sentences translated at a validation, at most; the loss is over all
SCORED = 1000  # validation sentences that the finished run is scored on, at most


@dataclass(frozen=True)
class Pairs:
    """The corpus: pairs to learn, pairs to validate with, and the gold links of some where a head is to learn these."""

    train: Sequence[Pair]
    valid: Sequence[Pair]
    alignments: Mapping[Pair, Links] = field(default_factory=dict)


class Translation(Task[Pairs, Example]):
    choices: ClassVar = {"loss": 1, "bleu": -1, "chrf": -1}
    foreign = ()
    ending = 30.0  # five times the sentences, searched for with a beam, twice, and trust

    def __init__(self, run: Run, corpus: Pairs):
        super().__init__(run, corpus)
        self.objective = Translating(run.settings.train)
        self.links = both_ways(corpus.alignments)
        ways = directed(corpus.train, run.settings.data)
        examples = encode(run, ways, self.links)
        short = short_enough(examples, run.settings)
        self.ways, self.short = [ways[index] for index in short], [examples[index] for index in short]
        self.valid = directed(corpus.valid, run.settings.data)
        self.valid_examples = encode(run, self.valid, {})

    @classmethod
    def read(cls, settings: Settings) -> Pairs:
        train, valid = read_corpus(settings)
        return Pairs(with_translations(train, settings.data), valid, read_links(settings))

    @classmethod
    def suit(cls, settings: Settings, corpus: Pairs, seconds: float | None) -> Settings:
        return suit(settings, corpus.train, seconds)

    @classmethod
    def learn_tokenizers(cls, settings: Settings, corpus: Pairs) -> dict[str, TextTokenizer]:
        """The pieces of both languages together, or of each alone."""
        tokenizer = settings.tokenizer
        how: dict[str, Any] = {"size": tokenizer.size, "kind": tokenizer.kind, "most": tokenizer.learn_from}
        if tokenizer.joint:
            languages = settings.data.languages if settings.data.both_ways else ()
            joint = TextTokenizer.learn((text for pair in corpus.train for text in pair), languages=languages, **how)
            return {"source": joint, "target": joint}
        return {
            "source": TextTokenizer.learn((pair.source for pair in corpus.train), **how),
            "target": TextTokenizer.learn((pair.target for pair in corpus.train), **how),
        }

    def start(self) -> None:
        if self.run.settings.train.start == "neighbours":
            start_from_neighbours(self.run.model, self.examples(0))

    def examples(self, epoch: int) -> Sequence[Example]:
        """The pairs as ids, both ways if so set: the same each time, or newly cut words where these are sampled."""
        settings = self.run.settings
        if not settings.tokenizer.sampling:
            return self.short
        seed = random.Random(f"{settings.train.seed} {epoch} cut").getrandbits(31)
        return seeded(seed, lambda: encode(self.run, self.ways, self.links, settings.tokenizer.sampling))

    def collate(self, examples: Sequence[Example]) -> PairBatch:
        return collate(examples)

    def validate(self) -> Validation | None:
        """The loss, and the scores of greedy translations."""
        if not self.valid:
            return None
        run, shown = self.run, self.valid[:VALIDATED]
        loss = surprise(run.model, self.valid_examples, run.settings.train.batch_tokens)
        greedy = decode_settings(run, 1, {"beam": 1})
        outputs = [each.text for each in translate_together(run, [(pair.source, pair.to) for pair in shown], greedy)]
        scores = score(outputs, [pair.target for pair in shown])
        figures = {"loss": loss, "perplexity": perplexity(loss), "bleu": scores.bleu, "chrf": scores.chrf}
        return Validation(figures, [f"{p.source}  →  {t}" for p, t in zip(shown[:2], outputs, strict=False)])

    def conclude(self) -> Account:
        return account(self.run, self.corpus, self.score())

    def score(self) -> Score | None:
        """How good the run is on its validation sentences, searched for as a user's would be; how far to trust it."""
        run, shown = self.run, self.valid[:SCORED]
        if not shown:
            return None
        if run.settings.train.tune_length:
            run.settings = run.settings.model_copy(update={"decode": tuned(run, shown)})
            if run.folder:
                run.save_description(run.folder)
        found = translate_together(run, [(pair.source, pair.to) for pair in shown], run.settings.decode)
        result = score([each.text for each in found], [pair.target for pair in shown])
        say(f"validation, {len(shown):,} sentences, {searched(run)}:\n{result}")
        learn_trust(run, shown, found)
        return result


def account(run: Run, corpus: Pairs, score: Score | None) -> Account:
    data, model = run.settings.data, run.settings.model
    assert isinstance(model, TranslatorConfig)
    to = f" --to {data.languages[1]}" if data.both_ways else ""
    files = data.source + (f", {data.target}" if data.target else "") if data.source else "pairs in memory"
    scores, note = {}, ""
    if score:
        how = f"on {score.sentences:,} validation sentences, {searched(run)}"
        scores = {"BLEU": f"{score.bleu:.2f} {how}", "chrF": f"{score.chrf:.2f} {how}"}
        note = f"BLEU `{score.signatures['bleu']}`, chrF `{score.signatures['chrf']}`"
    return Account(
        title=(" ↔ " if data.both_ways else " → ").join(data.languages or ("source", "target")),
        network="encoder–decoder, Vaswani et al. 2017",
        data={
            "training data": f"{files}: {len(corpus.train):,} pairs",
            "validation": f"{data.valid_source or 'set aside'}: {len(corpus.valid):,} pairs",
        },
        vocabulary=f"{model.source_vocabulary:,} pieces, {'joint' if run.settings.tokenizer.joint else 'separate'}",
        learned="target tokens",
        scores=scores,
        note=note,
        use=[
            f"regard translate {run.folder}{to} < input.txt > output.txt",
            f"regard evaluate {run.folder} --source test.source --target test.target{to}",
        ],
    )


def searched(run: Run) -> str:
    return f"beam {run.settings.decode.beam}, length penalty {run.settings.decode.length_penalty:g}"


def read_corpus(settings: Settings) -> tuple[list[Pair], list[Pair]]:
    """Training and validation pairs, without those that have an empty side."""
    data = settings.data
    if not data.source:
        raise ConfigError("there is nothing to train on: give --source and --target, or a file of tab-separated pairs")
    pairs = read_side_by_side(data.source, data.target)
    if bool(data.valid_source) and not data.valid_target and data.target:
        raise ConfigError("--valid-source has no --valid-target beside it: give both or neither")
    if data.valid_target and not data.valid_source:
        raise ConfigError("--valid-target has no --valid-source beside it: give both or neither")
    if data.valid_source:
        return pairs, read_side_by_side(data.valid_source, data.valid_target)
    train, valid = set_aside(pairs, data.valid_size, settings.train.seed)
    say(f"no validation files: {len(valid):,} of {len(pairs):,} pairs set aside; they share no sentence with the rest")
    return train, valid


def read_links(settings: Settings) -> dict[Pair, Links]:
    """The gold links of each training pair, where there is a file of them and a head to learn them."""
    data, guidance = settings.data, settings.train.guided_alignment
    if bool(data.alignments) != bool(guidance):
        raise ConfigError(
            f"train.guided_alignment={guidance} does not go with data.alignments={data.alignments!r}: give a file of "
            "links and how much they weigh, such as 0.05, or neither"
        )
    if not guidance:
        return {}
    pairs = read_lines_as_pairs(data.source, data.target)
    return dict(zip(pairs, read_alignments(Path(data.alignments), pairs), strict=True))


def read_lines_as_pairs(source: str, target: str) -> list[Pair]:
    return read_pairs(Path(source), Path(target)) if target else read_table(Path(source))


def read_side_by_side(source: str, target: str) -> list[Pair]:
    pairs, empty = without_empty(read_lines_as_pairs(source, target))
    if empty:
        shown = ", ".join(str(number) for number in empty[:5]) + (" …" if len(empty) > 5 else "")
        say(f"{source}: {len(empty):,} pairs with an empty side are left out (line {shown})")
    if not pairs:
        raise DataError(f"{source} holds no sentence pairs: every line has an empty side")
    return pairs


def short_enough(examples: Sequence[Example], settings: Settings) -> list[int]:
    """Which examples have at most data.max_tokens; the others are counted."""
    limit = min(settings.data.max_tokens, settings.train.batch_tokens)
    short = [index for index, example in enumerate(examples) if example.size <= limit]
    if len(short) < len(examples):
        say(f"{len(examples) - len(short):,} sentences of more than {limit} tokens are left out")
    if not short:
        raise DataError(f"no sentence pair has at most {limit} tokens: raise data.max_tokens and train.batch_tokens")
    return short


def both_ways(alignments: Mapping[Pair, Links]) -> dict[Pair, Links]:
    """The links of each pair, and of the same pair the other way round."""
    back = {Pair(*pair[::-1]): [(s, t) for t, s in links] for pair, links in alignments.items()}
    return back | dict(alignments)


def encode(
    run: Run, ways: Sequence[Directed], alignments: Mapping[Pair, Links], sampling: float = 0.0
) -> list[Example]:
    examples: list[Example] = []
    for each in ways:
        source, target = run.encode_source(each.source, each.to, sampling), run.encode_target(each.target, sampling)
        links = alignments.get(Pair(each.source, each.target))
        if links:
            sides = words_of(run.source_tokenizer, source), words_of(run.target_tokenizer, target)
            links = between_tokens(links, *sides)
        examples.append(Example(source, target, links or ()))
    return examples
