"""The verb train: raw text in, a run folder out."""

from __future__ import annotations

import copy
import random
import shutil
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any

import torch

from regard import __version__, device, precision
from regard.config import Settings, validate
from regard.console import say
from regard.data.batch import Epochs, Example, Place, endless
from regard.data.corpus import Links, Pair, read_alignments, read_pairs, read_table, without_empty
from regard.data.direction import Directed, directed, set_aside
from regard.decoding.translate import translate_together
from regard.errors import ConfigError, DataError, RunError
from regard.memory import keep_pages
from regard.model import build
from regard.precision import Precision
from regard.run import CONFIG, Run, load_tokenizers, read_settings
from regard.tokens.text import TextTokenizer, seeded
from regard.tokens.words import between_tokens, words_of
from regard.training import checkpoint
from regard.training.calibrate import learn_trust
from regard.training.card import write_card
from regard.training.curve import draw_curve
from regard.training.deadline import Deadline, seconds_in
from regard.training.learner import Learner
from regard.training.loop import fit
from regard.training.score import Score, score
from regard.training.start import start_from_neighbours
from regard.training.suited import suit

SCORED = 1000  # validation sentences that the finished run is scored on, at most


def train(
    settings: Mapping[str, Any] | Settings,
    out: str | Path,
    *,
    time: str | None = None,
    on: str = "auto",
    resume: bool = False,
    overwrite: bool = False,
) -> Run:
    """Train a run from the files that `settings` names, and leave it in the folder `out`.

    Settings are given as a recipe is written: {"data": {"source": …, "target": …}, "model": {"width": 512}}; what they
    leave open is chosen to suit the corpus, the machine and the time. A whole `Settings` object is taken as it is. With
    a time, such as "20m", the whole takes so long, and the number of steps is what fits into it.
    """
    deadline = Deadline(seconds_in(time)) if time else None
    if deadline and resume:
        raise ConfigError("--time and --resume do not go together: a run that is taken up has its number of steps")
    whole = isinstance(settings, Settings)
    settings = settings if isinstance(settings, Settings) else validate(Settings, settings, "settings")
    if resume:
        settings = as_it_was(settings, Path(out))
    train_pairs, valid_pairs = read_corpus(settings)
    alignments = read_links(settings)
    if not (whole or resume):
        settings = suit(settings, train_pairs, deadline.left if deadline else None)
    how: dict[str, Any] = {"deadline": deadline, "on": on, "resume": resume, "overwrite": overwrite}
    return train_pairs_into(out, settings, train_pairs, valid_pairs, alignments=alignments, **how)


def train_pairs_into(
    out: str | Path,
    settings: Settings,
    pairs: Sequence[Pair],
    valid: Sequence[Pair],
    *,
    alignments: Mapping[Pair, Links] | None = None,
    deadline: Deadline | None = None,
    on: str = "auto",
    resume: bool = False,
    overwrite: bool = False,
) -> Run:
    """The same from pairs in memory, with the gold links of some of them where a head is to learn these."""
    folder, chosen = Path(out), device.choose(on)
    keep_pages()
    torch.manual_seed(settings.train.seed)
    if resume:
        settings = as_it_was(settings, folder)
        tokenizers = load_tokenizers(settings, folder)
    else:
        make_room(folder, overwrite)
        tokenizers = learn_tokenizers(settings, pairs)
    how = precision.choose(settings.train.precision, chosen, settings.model.width)
    settings = resolved(settings, *tokenizers, how)
    run = Run(settings, *tokenizers, build(settings.model).to(chosen), folder)
    run.save_description(folder)
    say(
        f"{settings.model.layers} + {settings.model.decoder_layers} layers of width {settings.model.width}, "
        f"{run.size:,} parameters, {settings.model.target_vocabulary:,} pieces, on {chosen}"
    )
    say(f"computing in {how.name}: {how.why}")

    corpus, held_out = epochs(run, pairs, alignments), directed(valid, settings.data)
    if settings.train.start == "neighbours" and not resume:
        start_from_neighbours(run.model, corpus(0))
    if deadline:
        estimated = deadline.estimate(settings.train, seconds_of_a_step(run, corpus, how))
        run.settings = run.settings.model_copy(update={"train": estimated})
        run.save_description(folder)
    progress = fit(run, folder, corpus, held_out, resume, precision=how, deadline=deadline)
    run.save(folder)
    score = score_at_the_end(run, held_out)
    draw_curve(folder)
    write_card(run, folder, progress, score, len(pairs), len(valid))
    return run


def score_at_the_end(run: Run, valid: Sequence[Directed]) -> Score | None:
    """How good the run is on its validation sentences, searched for as a user's would be; and how far to trust it."""
    if not valid:
        return None
    shown = valid[:SCORED]
    found = translate_together(run, [(pair.source, pair.to) for pair in shown], run.settings.decode)
    result = score([each.text for each in found], [pair.target for pair in shown])
    say(f"validation, {len(shown):,} sentences, beam {run.settings.decode.beam}:\n{result}")
    learn_trust(run, shown, found)
    return result


def seconds_of_a_step(run: Run, corpus: Epochs, how: Precision, measured: float = 3.0) -> float:
    """What a step takes on this machine, by steps of a copy; neither the model nor the random numbers change."""
    settings = run.settings.train
    with torch.random.fork_rng(devices=[]):
        learner = Learner(copy.deepcopy(run.model), settings, how)
        batches = endless(corpus, settings.batch_tokens, settings.seed, Place())
        times: list[float] = []
        while sum(times) < measured or len(times) < 4:
            began = perf_counter()
            learner.step([batch.to(run.device) for batch in islice(batches, settings.accumulate)], rate=0.0)
            times.append(perf_counter() - began)
    return mean(times[1:])  # the first one also warms up


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


def make_room(folder: Path, overwrite: bool) -> None:
    """An empty folder to train into; one that holds something is kept unless it is a run and may be overwritten."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file: choose another folder for --out")
    if folder.exists() and any(folder.iterdir()):
        if not overwrite:
            raise RunError(
                f"{folder} is not empty: choose another --out, or go on with --resume, or replace it with --overwrite"
            )
        if not (folder / CONFIG).is_file():
            raise RunError(f"{folder} is not empty and not a run, so it is not overwritten: choose another --out")
        shutil.rmtree(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder} cannot be made: {error.strerror}; choose another --out") from None


def as_it_was(settings: Settings, folder: Path) -> Settings:
    """The settings of the run in a folder, to be trained on; of those given only the length of training may differ."""
    saved = read_settings(folder)
    if not checkpoint.steps(folder):
        raise RunError(f"{folder} has no checkpoint to resume from: train it anew with --overwrite")
    longer = {}
    for part in ("data", "tokenizer", "model", "train"):
        before, after = getattr(saved, part), getattr(settings, part)
        for key in sorted(after.model_fields_set):
            was, wanted = getattr(before, key), getattr(after, key)
            if was == wanted or wanted == "auto" or (key.endswith("_vocabulary") and not wanted):
                continue
            if (part, key) not in {("train", "steps"), ("train", "patience")}:
                raise ConfigError(
                    f"{folder} was trained with {part}.{key}={was} and cannot be resumed with {wanted}: "
                    "leave it as it was, or train anew into another --out"
                )
            longer[key] = wanted
    return saved.model_copy(update={"train": saved.train.model_copy(update=longer)})


def learn_tokenizers(settings: Settings, pairs: Sequence[Pair]) -> tuple[TextTokenizer, TextTokenizer]:
    """The pieces of both languages together, or of each alone."""
    tokenizer = settings.tokenizer
    how: dict[str, Any] = {"size": tokenizer.size, "kind": tokenizer.kind, "most": tokenizer.learn_from}
    if tokenizer.joint:
        languages = settings.data.languages if settings.data.both_ways else ()
        joint = TextTokenizer.learn((text for pair in pairs for text in pair), languages=languages, **how)
        return joint, joint
    return (
        TextTokenizer.learn((pair.source for pair in pairs), **how),
        TextTokenizer.learn((pair.target for pair in pairs), **how),
    )


def resolved(settings: Settings, source: TextTokenizer, target: TextTokenizer, how: Precision) -> Settings:
    """The settings with what only the data and the machine could tell."""
    model = settings.model.model_copy(update={"source_vocabulary": len(source), "target_vocabulary": len(target)})
    train = settings.train.model_copy(update={"precision": how.name})
    return settings.model_copy(update={"version": __version__, "model": model, "train": train})


def epochs(run: Run, pairs: Sequence[Pair], alignments: Mapping[Pair, Links] | None = None) -> Epochs:
    """The pairs as ids, both ways if so set, for each epoch: the same ones, or newly cut words where these are sampled.

    Pairs longer than data.max_tokens are left out, and counted.
    """
    settings = run.settings
    ways = directed(pairs, settings.data)
    links = both_ways(alignments or {})
    examples = encode(run, ways, links)
    limit = min(settings.data.max_tokens, settings.train.batch_tokens)
    short = [index for index, example in enumerate(examples) if example.size <= limit]
    if len(short) < len(examples):
        say(f"{len(examples) - len(short):,} sentences of more than {limit} tokens are left out")
    if not short:
        raise DataError(f"no sentence pair has at most {limit} tokens: raise data.max_tokens and train.batch_tokens")
    kept, kept_ways = [examples[index] for index in short], [ways[index] for index in short]

    def epoch(number: int) -> Sequence[Example]:
        if not settings.tokenizer.sampling:
            return kept
        seed = random.Random(f"{settings.train.seed} {number} cut").getrandbits(31)
        return seeded(seed, lambda: encode(run, kept_ways, links, settings.tokenizer.sampling))

    return epoch


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
