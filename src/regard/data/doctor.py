"""The verb doctor: what is wrong with a corpus, each kind with examples and a fix; and the corpus without it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from regard.data.clean import DROPPING, OF_TEST, RULES, SIDES, Corpus, Judgement, Rule, folded, judge
from regard.data.corpus import Pair, read_lines, read_pairs, read_table
from regard.errors import ConfigError, DataError

SHOWN = 3  # examples of each finding
WIDTH = 96  # characters of a text on the terminal
HARMLESS = "\xa0\u2009\u202f\u3000\u200c\u200d"  # spaces and joiners of ordinary text


@dataclass(frozen=True)
class Specimen:
    """A pair that a rule found."""

    line: int  # from 1
    source: str
    target: str
    seen: str  # what gave it away


@dataclass(frozen=True)
class Finding:
    """What one rule found."""

    rule: str
    finds: str
    fix: str
    drops: bool
    count: int
    lines: tuple[int, ...]  # all of them, from 1
    examples: tuple[Specimen, ...]  # the first few

    def __str__(self) -> str:
        fate = "to drop" if self.drops else "to look at"
        lines = [f"{self.rule}: {self.count:,} {fate} (pairs that {self.finds})"]
        for example in self.examples:
            margin = f"    line {example.line:<8}"
            lines.append(margin + visible(example.source))
            lines.append(" " * len(margin) + visible(example.target))
            if example.seen:
                lines.append(" " * len(margin) + f"({visible(example.seen)})")
        return "\n".join([*lines, f"    fix: {self.fix}"])


@dataclass(frozen=True)
class Overlap:
    """How many pairs of the test set have been seen in training, but for case and white space."""

    pairs: int  # in the test set
    same_pair: int
    same_source: int
    same_target: int

    def __str__(self) -> str:
        return (
            f"test set: {self.pairs:,} pairs; training holds the source of {self.same_source:,}, "
            f"the target of {self.same_target:,}, both as a pair of {self.same_pair:,}"
        )


@dataclass(frozen=True)
class Report:
    """What is wrong with a corpus: pairs = kept + dropped, and each dropped pair is in one finding that drops."""

    files: tuple[str, ...]
    pairs: int
    kept: int
    dropped: int
    scripts: dict[str, tuple[str, ...]]  # at home on each side, most common first, once it is clean
    ratio: float  # characters of a target to those of its source, the median
    overlap: Overlap | None  # where a test set was given
    findings: tuple[Finding, ...]  # one for each rule that was asked, in its order, found or not
    written: tuple[str, ...] = ()  # files

    def __str__(self) -> str:
        found = [finding for finding in self.findings if finding.count]
        rest = [finding.rule for finding in self.findings if not finding.count]
        scripts = ", ".join(f"{side} in {' and '.join(self.scripts[side]) or 'no'} script" for side in SIDES)
        head = [f"{' and '.join(self.files)}: {self.pairs:,} pairs"]
        head += [f"{scripts}; a target has {self.ratio:.2f} times the characters of its source (median)"]
        head += [str(self.overlap)] if self.overlap else []
        counts = ", ".join(f"{finding.rule} {finding.count:,}" for finding in found if finding.drops)
        done = ("kept", "dropped") if self.written else ("to keep", "to drop")
        total = f"{self.pairs:,} pairs = {self.kept:,} {done[0]} + {self.dropped:,} {done[1]}"
        last = [f"nothing found: {', '.join(rest)}"] if rest else []
        last += [f"{total} ({counts})" if counts else total]
        last += [f"written: {', '.join(self.written)}"] if self.written else []
        return "\n\n".join(["\n".join(head), *map(str, found), "\n".join(last)])


def doctor(
    source: str | Path,
    target: str | Path | None = None,
    *,
    test_source: str | Path | None = None,
    test_target: str | Path | None = None,
    rules: Collection[str] | None = None,
    clean_to: str | Path | None = None,
) -> Report:
    """Examine two aligned files, or a table of pairs, and say what is wrong; a test set is looked for in them.

    `rules` names those that drop what they find, the others only tell. `clean_to` is the beginning of the names of the
    files to write: .source and .target, or .tsv for a table, with what is kept, and .dropped.tsv with the rest.
    """
    if test_target and not test_source:
        raise ConfigError("--test-target has no --test-source beside it: give both or neither")
    room = check_room(clean_to, table=target is None) if clean_to else ()
    corpus = Corpus(read(source, target), read(test_source, test_target) if test_source else [])
    judgement = judge(corpus, DROPPING if rules is None else rules)
    if room:
        records = [read_lines(Path(source))] if target is None else list(zip(*corpus.pairs, strict=True))
        write(room, corpus, judgement, records)
    return Report(
        files=tuple(str(path) for path in (source, target) if path),
        pairs=len(corpus.pairs),
        kept=len(judgement.kept),
        dropped=len(corpus.pairs) - len(judgement.kept),
        scripts={side: corpus.home(judgement.kept, number) for number, side in enumerate(SIDES)},
        ratio=corpus.ratio(judgement.kept),
        overlap=overlap(corpus) if test_source else None,
        findings=tuple(finding(rule, corpus, judgement) for rule in RULES if test_source or rule.name not in OF_TEST),
        written=tuple(map(str, room)),
    )


def read(source: str | Path, target: str | Path | None) -> list[Pair]:
    return read_pairs(Path(source), Path(target)) if target else read_table(Path(source))


def finding(rule: Rule, corpus: Corpus, judgement: Judgement) -> Finding:
    found = sorted(judgement.found[rule.name].items())
    examples = tuple(Specimen(index + 1, *corpus.pairs[index], seen) for index, seen in found[:SHOWN])
    lines = tuple(index + 1 for index, _ in found)
    return Finding(rule.name, rule.finds, rule.fix, rule.name in judgement.dropping, len(found), lines, examples)


def overlap(corpus: Corpus) -> Overlap:
    train = {folded(pair) for pair in corpus.normalised}
    sources, targets = {pair.source for pair in train}, {pair.target for pair in train}
    test = [folded(pair) for pair in Corpus(corpus.test).normalised if pair.source and pair.target]
    return Overlap(
        pairs=len(corpus.test),
        same_pair=sum(pair in train for pair in test),
        same_source=sum(pair.source in sources for pair in test),
        same_target=sum(pair.target in targets for pair in test),
    )


def check_room(clean_to: str | Path, table: bool) -> tuple[Path, ...]:
    """The files to write, none of which is there yet; the last is for what is dropped."""
    paths = tuple(
        Path(f"{clean_to}{end}") for end in (*((".tsv",) if table else (".source", ".target")), ".dropped.tsv")
    )
    for path in paths:
        if path.exists():
            raise DataError(f"{path} exists already: choose another --clean-to, or move it away")
    if not paths[0].parent.is_dir():
        raise DataError(f"{paths[0].parent} is not a folder: make it first, or choose another --clean-to")
    return paths


def write(room: Sequence[Path], corpus: Corpus, judgement: Judgement, records: Sequence[Sequence[str]]) -> None:
    """The kept lines as they were, a file for each of `records`; and what was dropped: line, rule, source, target."""
    contents = [[lines[index] for index in judgement.kept] for lines in records]
    contents.append(list(dropped_lines(corpus, judgement)))
    with ExitStack() as on_failure:
        for path, lines in zip(room, contents, strict=True):
            try:
                with path.open("x", encoding="utf-8", newline="\n") as file:
                    on_failure.callback(path.unlink)  # no half a corpus is left behind
                    file.writelines(f"{line}\n" for line in lines)
            except OSError as error:
                raise DataError(f"{path} cannot be written: {error.strerror}; choose another --clean-to") from None
        on_failure.pop_all()


def dropped_lines(corpus: Corpus, judgement: Judgement) -> Iterator[str]:
    for index, rule in judgement.dropped():
        yield "\t".join([str(index + 1), rule, *without_tabs(corpus.pairs[index])])


def without_tabs(texts: Iterable[str]) -> list[str]:
    return [text.replace("\t", "\\t") for text in texts]


def visible(text: str) -> str:
    """A text for the terminal: what cannot be seen is spelled out, so that no text can steer it; long ones are cut."""
    cut = text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
    return "".join(c if c.isprintable() or c in HARMLESS else c.encode("unicode_escape").decode() for c in cut)
