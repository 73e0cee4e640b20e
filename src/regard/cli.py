"""The command line: one function per verb. It parses, calls the library once, and prints.

Data goes to stdout, progress and words to stderr. Exit codes: 0 done, 1 a RegardError in one sentence, 2 wrong usage,
130 interrupted; a closed pipe ends quietly.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard import __version__
from regard.errors import ConfigError, RegardError

if TYPE_CHECKING:
    from regard.decoding.translate import Translation
    from regard.decoding.windows import AsTheyCome
    from regard.run import Run

app = typer.Typer(
    name="regard",
    help='The Transformer of "Attention Is All You Need": train it on your own text, use it, look inside it.',
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


DEMOS = {  # the module that shows a family, and the folder it leaves
    "translator": ("regard.demos.translator", "runs/demo"),
    "gpt": ("regard.demos.gpt", "runs/demo-gpt"),
    "bert": ("regard.demos.bert", "runs/demo-bert"),
    "vit": ("regard.demos.vit", "runs/demo-vit"),
    "dalle": ("regard.demos.dalle", "runs/demo-dalle"),
}


GOES_WITH = {  # options that mean something for some runs or inputs alone; with others they are refused
    "translate": {
        "lines": "--n-best --scores --confidence --alignment --json",
        "a .txt document": "--wrapped",
        "a .po document": "--fuzzy --reviewed",
        "a .pot document": "--fuzzy --reviewed",
        "a .xliff document": "--reviewed",
        "a .xlf document": "--reviewed",
    },
    "evaluate": {
        "a run that translates": "--from --to --with --compare --beam",
        "a run that restores text": "--from --to --with --compare --beam",
        "a run that writes text": "--stride",
    },
    "generate": {
        "a run that writes text": "--tokens --beam --json",
        "a run that paints": "--out --judge --of",
    },
    "classify": {
        "a run that compares pictures with captions": "--caption",
    },
    "explain": {
        "a run that translates": "--from --to --beam",
        "a run that restores text": "--from --to --beam",
        "a run that writes text": "--beam",
    },
}


class Device(StrEnum):
    auto, cpu, cuda, mps = "auto", "cpu", "cuda", "mps"


class Engine(StrEnum):
    auto, torch, ctranslate2 = "auto", "torch", "ctranslate2"


RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A folder that regard train or regard demo wrote.")]
OnDevice = Annotated[Device, typer.Option("--device", help="Where to compute; auto takes a GPU where there is one.")]
From = Annotated[
    str | None,
    typer.Option("--from", help="The language of the text, where a run must be told: imported ones of many."),
]
To = Annotated[str | None, typer.Option("--to", help="The language to translate into, where a run knows several.")]
Beam = Annotated[
    int | None, typer.Option("--beam", min=1, help="Hypotheses kept at each step; 1 is greedy. [run's own: 5]")
]
Beside = Annotated[
    list[Path] | None, typer.Option("--with", metavar="RUN2", help="Another run, to decide together with; repeatable.")
]
RULE = "─" * 40  # between two texts
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"regard {__version__}")
        raise typer.Exit


@app.callback()
def regard(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass


def refuse_idle(context: typer.Context, here: str, settings: Iterable[str] = ()) -> None:
    """Refuse an option that would be ignored here; a setting of --set counts as the option of its name."""
    given = [f"--{name.replace('_', '-')}" for name in settings]
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        given += parameter.opts if source and source.name == "COMMANDLINE" else []
    for option in given:
        places = [place for place, options in GOES_WITH[str(context.info_name)].items() if option in options.split()]
        if places and here not in places:
            raise typer.BadParameter(f"{option} goes with {' or '.join(places)}, not with {here}: leave it out.")


def kind_of(run: Run) -> str:
    from regard.run import USES

    return f"a run that {USES[run.task].does}"


def search_settings(context: typer.Context, assignments: Iterable[str]) -> dict[str, Any]:
    """The settings of the search that --set names; what else a verb takes has an option, or is not for users."""
    from regard.config import DecodeConfig, suggestion, value_of

    settings: dict[str, Any] = {}
    options = {name for parameter in context.command.params for name in parameter.opts}
    for assignment in assignments:
        key, equals, text = (part.strip() for part in assignment.partition("="))
        if not (key and equals):
            raise ConfigError(f"--set {assignment} is not of the form key=value: write, say, --set no_repeat=3")
        if key not in DecodeConfig.model_fields:
            option = f"--{key.replace('_', '-')}"
            hint = f"use {option}" if option in options else suggestion(DecodeConfig, [key.split(".")[-1]])
            raise ConfigError(f"--set {assignment} is no setting of the search; {hint}")
        settings[key] = value_of(text)
    return settings


@app.command()
def demo(
    what: Annotated[
        str, typer.Argument(metavar=f"[{'|'.join(DEMOS)}]", help="The family to show; the Transformer itself if none.")
    ] = "translator",
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder for the run and its pictures. [runs/demo, runs/demo-gpt …]")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Another seed is another run.")] = 1,
    device: OnDevice = Device.auto,
) -> None:
    """The whole tour, with nothing but this package: train, score, use, and show what it looks at."""
    from importlib import import_module

    if what not in DEMOS:
        raise typer.BadParameter(f"there is no demo of {what}: choose {', '.join(DEMOS)}.")
    module, folder = DEMOS[what]
    import_module(module).demo(out or Path(folder), seed=seed, on=device)


@app.command()
def train(
    out: Annotated[Path, typer.Option("--out", help="The run folder to write.")],
    recipe: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RECIPE.toml | RUN/config.json | PAIRS.tsv]",
            help="Settings, or those of a run to repeat it, or tab-separated pairs.",
        ),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--source", help="Sentences to translate, one a line (.gz, .xz too).")
    ] = None,
    target: Annotated[Path | None, typer.Option("--target", help="Their translations, line by line.")] = None,
    valid_source: Annotated[Path | None, typer.Option("--valid-source", help="The same two for validation;")] = None,
    valid_target: Annotated[
        Path | None, typer.Option("--valid-target", help="without them a part is set aside.")
    ] = None,
    text: Annotated[
        list[Path] | None, typer.Option("--text", help="Plain text to learn to write (.gz, .xz too); repeatable.")
    ] = None,
    valid_text: Annotated[
        list[Path] | None, typer.Option("--valid-text", help="The same for validation; without it the last tenth is.")
    ] = None,
    labelled: Annotated[
        Path | None, typer.Option("--labelled", help="Texts to tell apart: text, tab, label on each line.")
    ] = None,
    valid_labelled: Annotated[Path | None, typer.Option("--valid-labelled", help="The same for validation.")] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(
            "--pictures", help="A folder of a folder for each class, a .tsv of paths and captions, .npz, IDX."
        ),
    ] = None,
    valid_pictures: Annotated[Path | None, typer.Option("--valid-pictures", help="The same for validation.")] = None,
    languages: Annotated[
        str | None, typer.Option("--languages", help="Names of the two languages, such as en,de.")
    ] = None,
    both_ways: Annotated[bool, typer.Option("--both-ways", help="Learn target → source too, in one model.")] = False,
    time: Annotated[str | None, typer.Option("--time", metavar="20m", help="How long it may take, all in all.")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Any setting, as in model.width=512.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint in --out.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run that is in --out.")] = False,
    device: OnDevice = Device.auto,
) -> None:
    """Train a run from raw files:  regard train --source a.en --target a.de --out runs/en-de"""
    import regard
    from regard.config import Settings, override, read_recipe, validate
    from regard.training.inherit import like_its_parent

    is_recipe = recipe is not None and recipe.suffix in (".toml", ".json")
    given: dict[str, Any] = read_recipe(recipe) if is_recipe and recipe else {}
    if recipe is not None and not is_recipe:
        if source or target:
            raise typer.BadParameter(f"{recipe} already holds pairs: leave out --source and --target.")
        source = recipe
    elif bool(source) != bool(target):
        raise typer.BadParameter("--source and --target go together.")
    kinds = [source or valid_source, text or valid_text, labelled or valid_labelled, pictures or valid_pictures]
    if sum(map(bool, kinds)) > 1:
        raise typer.BadParameter("--source, --text, --labelled and --pictures are for different networks: give one.")
    named = {"source": source, "target": target, "valid_source": valid_source, "valid_target": valid_target}
    named |= {"labelled": labelled, "valid_labelled": valid_labelled}
    named |= {"pictures": pictures, "valid_pictures": valid_pictures}
    data: dict[str, Any] = {key: str(value) for key, value in named.items() if value is not None}
    listed = {"text": text, "valid_text": valid_text}
    data |= {key: [str(path) for path in paths] for key, paths in listed.items() if paths}
    data |= {"languages": languages.split(",")} if languages else {}
    data |= {"both_ways": True} if both_ways else {}
    if isinstance(section := given.setdefault("data", {}), dict):  # and if it is not, validation says so
        section.update(data)
    given = override(given, assignments or [])
    settings = validate(Settings, like_its_parent(given), str(recipe)) if is_recipe else given
    run = regard.train(settings, out, time=time, on=device, resume=resume, overwrite=overwrite)
    typer.echo(run.folder)


@app.command()
def doctor(
    pairs: Annotated[Path | None, typer.Argument(metavar="PAIRS.tsv", help="Tab-separated pairs, or:")] = None,
    source: Annotated[Path | None, typer.Option("--source", help="Sentences, one a line (.gz, .xz too).")] = None,
    target: Annotated[Path | None, typer.Option("--target", help="Their translations, line by line.")] = None,
    test: Annotated[Path | None, typer.Option("--test", help="Test pairs to look for, tab-separated, or:")] = None,
    test_source: Annotated[Path | None, typer.Option("--test-source", help="Sentences of the test set.")] = None,
    test_target: Annotated[Path | None, typer.Option("--test-target", help="Their translations.")] = None,
    rules: Annotated[
        str | None, typer.Option("--rules", help="The rules that drop, such as empty,duplicate; the others only tell.")
    ] = None,
    clean_to: Annotated[
        Path | None, typer.Option("--clean-to", metavar="PREFIX", help="Write what is kept and what is dropped there.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what is wrong with a corpus, and clean it:  regard doctor --source a.en --target a.de --clean-to clean"""
    import regard

    for table, one, two, option in ((pairs, source, target, "--"), (test, test_source, test_target, "--test-")):
        if table and (one or two):
            raise typer.BadParameter(f"{table} already holds pairs: leave out {option}source and {option}target.")
        if bool(one) != bool(two):
            raise typer.BadParameter(f"{option}source and {option}target go together.")
    if not (first := pairs or source):
        raise typer.BadParameter("there is nothing to examine: give --source and --target, or a file of pairs.")
    report = regard.doctor(
        first,
        target,
        test_source=test or test_source,
        test_target=test_target,
        rules=[rule.strip() for rule in rules.split(",")] if rules is not None else None,
        clean_to=clean_to,
    )
    typer.echo(json.dumps(asdict(report), ensure_ascii=False) if as_json else str(report))


@app.command()
def translate(
    context: typer.Context,
    run: RunFolder,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="A document: .txt .md .srt .po .tmx .xliff .html. Without one, lines come from stdin.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where to write the translated document.")] = None,
    from_: From = None,
    to: To = None,
    beam: Beam = None,
    n_best: Annotated[int, typer.Option("--n-best", min=1, help="Translations of each line, the best first.")] = 1,
    scores: Annotated[bool, typer.Option("--scores", help="Put each score and a tab before its line.")] = False,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Put each confidence and a tab before its line.")
    ] = False,
    min_confidence: Annotated[
        float | None,
        typer.Option("--min-confidence", min=0, max=1, help="Leave a line as it is where confidence is below."),
    ] = None,
    alignment: Annotated[
        bool, typer.Option("--alignment", help="Put a tab and the alignment, such as 0-0 1-2, after each line.")
    ] = False,
    glossary: Annotated[
        Path | None, typer.Option("--glossary", help="A file of terms and their translations, tab-separated.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep placeholders, tags and addresses as they are, in their places.")
    ] = False,
    keep_also: Annotated[
        list[str] | None, typer.Option("--keep-also", metavar="REGEX", help="Keep what this matches, too.")
    ] = None,
    beside: Beside = None,
    least_risk: Annotated[
        bool, typer.Option("--least-risk", help="Take the one that the others agree with, not the likeliest.")
    ] = False,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the search, as in no_repeat=3.")
    ] = None,
    engine: Annotated[
        Engine, typer.Option("--engine", help="What decodes; auto takes the fastest that gives torch's tokens.")
    ] = Engine.auto,
    precision: Annotated[
        str, typer.Option("--precision", help="CTranslate2's numbers: float32, int8, int8_float32 and others.")
    ] = "float32",
    batch: Annotated[
        int, typer.Option("--batch", min=1, help="Lines that torch decodes together; the text does not depend on it.")
    ] = 64,
    wrapped: Annotated[
        bool, typer.Option("--wrapped", help="In plain text, let sentences run on over the ends of lines.")
    ] = False,
    fuzzy: Annotated[bool, typer.Option("--fuzzy", help="In PO files, fill the entries marked fuzzy, too.")] = False,
    reviewed: Annotated[
        bool, typer.Option("--reviewed", help="In PO and XLIFF files, do not mark what is filled as to be looked at.")
    ] = False,
    as_json: Json = False,
    device: OnDevice = Device.auto,
) -> None:
    """Translate lines of text, or a document:  regard translate runs/demo --to fr < english.txt > french.txt"""
    import regard
    from regard.console import counted, say
    from regard.data.corpus import split_lines
    from regard.decoding.align import pharaoh
    from regard.decoding.windows import AsTheyCome
    from regard.documents import Options, translate_document

    if (file is None) != (out is None):
        raise typer.BadParameter("a document and --out go together; without them lines come from stdin.")
    refuse_idle(context, f"a {file.suffix.lower()} document" if file else "lines")
    decode = search_settings(context, assignments or [])
    loaded = regard.ensemble([regard.load(each, on=device) for each in (run, *(beside or []))]).reading(from_)
    how: dict[str, Any] = {
        "n_best": n_best,
        "least_risk": least_risk,
        "signals": confidence or alignment,
        "min_confidence": min_confidence,
        "keep": keep or file is not None,
        "keep_also": keep_also or [],
        "glossary": glossary,
        "engine": engine,
        "precision": precision,
        "batch": batch,
        **decode,
        **({"beam": beam} if beam else {}),
    }

    def translated(lines: Iterable[str] | AsTheyCome, unit: str) -> Iterator[Translation]:
        for number, each in enumerate(counted(regard.translate(loaded, lines, to, **how), f"{unit}s"), start=1):
            if each.doubts:
                say(f"{unit} {number}: {'; '.join(each.doubts)}")
            yield each

    if file and out:
        known = Options(*loaded.way(to), fuzzy=fuzzy, reviewed=reviewed, wrapped=wrapped)
        say(str(translate_document(file, out, lambda texts: map(str, translated(texts, "sentence")), known)))
        return
    stdin = os.fdopen(sys.stdin.fileno(), "rb", closefd=False)  # our own: a thread that reads sys.stdin blocks the exit
    for translation in translated(AsTheyCome(split_lines(stdin)), "line"):
        if as_json:
            typer.echo(json.dumps(asdict(translation), ensure_ascii=False))
            continue
        for each in translation.candidates:
            before, after = [f"{each.score:.4f}"] * scores, []
            if signals := each.signals:
                before += [f"{signals.confidence:.2f}"] * confidence
                after += [pharaoh(signals.links)] * alignment
            typer.echo("\t".join([*before, translation.source if translation.withheld else each.text, *after]))
        for _ in range(len(translation.candidates), n_best):
            typer.echo("\t" * (scores + confidence + alignment))


@app.command()
def evaluate(
    context: typer.Context,
    run: RunFolder,
    pairs: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Tab-separated pairs; or labelled texts, tagged words or pictures."),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--source", help="Or two files: sentences to translate, one a line,")
    ] = None,
    target: Annotated[Path | None, typer.Option("--target", help="and their reference translations.")] = None,
    text: Annotated[
        list[Path] | None, typer.Option("--text", help="Plain text to foretell, or to fill in; repeatable.")
    ] = None,
    stride: Annotated[
        int | None, typer.Option("--stride", min=1, help="With --text: tokens between windows. [half of one]")
    ] = None,
    from_: From = None,
    to: To = None,
    beside: Beside = None,
    compare: Annotated[
        Path | None, typer.Option("--compare", metavar="RUN2", help="Another run, to translate the same lines.")
    ] = None,
    beam: Beam = None,
    as_json: Json = False,
    device: OnDevice = Device.auto,
) -> None:
    """Score a run on held-out files:  regard evaluate runs/en-de --source test.en --target test.de"""
    import regard

    if text and (pairs or source or target):
        raise typer.BadParameter("--text is for a run that writes or fills in, pairs are for one that translates.")
    if pairs is not None and (source or target):
        raise typer.BadParameter(f"{pairs} already holds pairs: leave out --source and --target.")
    loaded = regard.load(run, on=device)
    refuse_idle(context, kind_of(loaded))
    if text:
        fills = loaded.task == "fill"
        read = regard.evaluate_hidden(loaded, text) if fills else regard.evaluate_text(loaded, text, stride)
        typer.echo(json.dumps(asdict(read)) if as_json else str(read))
        return
    judges = {
        "classify": regard.evaluate_classes,
        "paint": regard.evaluate_pictures,
        "match": regard.evaluate_matches,
        "tag": regard.evaluate_tags,
    }
    if pairs is not None and loaded.task in judges:
        found = judges[loaded.task](loaded, pairs)
        typer.echo(json.dumps(asdict(found), ensure_ascii=False) if as_json else str(found))
        return
    source = pairs or source
    if source is None or (target is None and pairs is None):
        raise typer.BadParameter("give --source and --target, or one file of tab-separated pairs, or --text.")
    runs = [regard.ensemble([loaded, *(regard.load(each, on=device) for each in beside or [])])]
    runs += [regard.load(compare, on=device)] if compare else []
    asking = [each.settings.data.tags == "both" for each in runs]  # --from is told to these, or refused by all
    told = [each.reading(from_) if asks or not any(asking) else each for each, asks in zip(runs, asking, strict=True)]
    result = regard.evaluate(told[0], source, target, to, *told[1:], **({"beam": beam} if beam else {}))
    typer.echo(json.dumps(asdict(result), ensure_ascii=False) if as_json else str(result))


@app.command()
def generate(
    context: typer.Context,
    run: RunFolder,
    caption: Annotated[
        str | None, typer.Argument(metavar="CAPTION", help="What to paint, or, as --prompt, to write on from.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where to put the picture, or all of them side by side (.png).")
    ] = None,
    prompt: Annotated[
        str | None, typer.Option("--prompt", help="What the text goes on from. Without it, what stands on stdin.")
    ] = None,
    tokens: Annotated[int, typer.Option("--tokens", min=1, help="How many to write, at most.")] = 200,
    n: Annotated[int, typer.Option("--n", min=1, help="How many texts or pictures.")] = 1,
    judge: Annotated[
        Path | None, typer.Option("--judge", metavar="RUN2", help="Keep the pictures that this run finds most fitting.")
    ] = None,
    of: Annotated[int | None, typer.Option("--of", min=1, help="With --judge: from how many. [eight for each]")] = None,
    temperature: Annotated[
        float | None, typer.Option("--temperature", help="Below 1 keeps to the likely, above 1 strays. [run's own: 1]")
    ] = None,
    top_k: Annotated[
        int | None, typer.Option("--top-k", min=0, help="Draw from so many of the likeliest tokens. [all]")
    ] = None,
    top_p: Annotated[
        float | None, typer.Option("--top-p", help="Draw from the likeliest that make up so much. [1]")
    ] = None,
    min_p: Annotated[
        float | None, typer.Option("--min-p", help="Draw what is so likely beside the likeliest. [0]")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Another seed draws another text. [1]")] = None,
    beam: Annotated[
        int | None, typer.Option("--beam", min=1, help="Search for the likeliest, so many side by side; 1 is greedy.")
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Another setting, as in no_repeat=3.")
    ] = None,
    as_json: Json = False,
    device: OnDevice = Device.auto,
) -> None:
    """Write on from a text, or paint:  regard generate runs/demo-gpt --prompt "The cat" """
    import regard
    from regard.decoding.generate import stream
    from regard.insight import painted

    if of is not None and judge is None:
        raise typer.BadParameter("--of says how many --judge chooses from: give both, or --n alone.")
    if caption is not None and prompt is not None:
        raise typer.BadParameter("CAPTION and --prompt are one and the same: give one of them.")
    named = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p, "seed": seed, "beam": beam}
    decode = search_settings(context, assignments or [])
    decode |= {name: value for name, value in named.items() if value is not None}
    loaded = regard.load(run, on=device)
    loaded.require("write", "paint")
    refuse_idle(context, kind_of(loaded), decode)
    if loaded.task == "paint" and not out:
        raise typer.BadParameter(f"{run} paints: say where to, as in --out picture.png.")
    prompt = caption if prompt is None else prompt
    given = prompt if prompt is not None or sys.stdin.isatty() else sys.stdin.buffer.read().decode(errors="replace")
    opening = given or ""
    if out:
        painted.check(out)
        among = regard.load(judge, on=device) if judge else None
        typer.echo(painted.save_painted(regard.paint(loaded, opening, n=n, judge=among, of=of, **decode), out))
        return
    if n == 1 and "beam" not in decode and not as_json:
        typer.echo(opening, nl=False)
        for piece in stream(loaded, opening, tokens=tokens, **decode):
            typer.echo(piece, nl=False)
        typer.echo()
        return
    for number, each in enumerate(regard.generate(loaded, opening, tokens=tokens, n=n, **decode)):
        if as_json:
            typer.echo(json.dumps(asdict(each), ensure_ascii=False))
        else:
            typer.echo(f"{RULE}\n{each}" if number else str(each))


@app.command()
def fill(
    run: RunFolder,
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="[TEXT]", help="A text with [MASK] where a word is missing. Without it, lines of stdin."
        ),
    ] = None,
    top: Annotated[
        int | None, typer.Option("--top", min=1, help="Print so many tokens for each [MASK], with their probabilities.")
    ] = None,
    as_json: Json = False,
    device: OnDevice = Device.auto,
) -> None:
    """Fill in what is missing in a text:  regard fill runs/bert "The [MASK] sat on the mat." --top 5"""
    import regard
    from regard.data.corpus import split_lines

    loaded = regard.load(run, on=device)
    for line in split_lines(sys.stdin.buffer) if text is None else [text]:
        filled = regard.fill(loaded, line, top or 5)
        if as_json:
            typer.echo(json.dumps(asdict(filled), ensure_ascii=False))
        elif top is None:
            typer.echo(filled.text)
        else:
            for number, candidates in enumerate(filled.masks, start=1):
                for each in candidates:
                    typer.echo(f"{number}\t{each.probability:.4f}\t{each.token}")


@app.command()
def classify(
    context: typer.Context,
    run: RunFolder,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILES", help="Pictures (.png, .jpg, .npz), or files of texts, one a line."),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="So many of the likeliest classes of each.")] = 1,
    captions: Annotated[
        list[str] | None,
        typer.Option("--caption", help="What a picture may show, for a run that compares; repeatable."),
    ] = None,
    as_json: Json = False,
    device: OnDevice = Device.auto,
) -> None:
    """Say which class each picture or line is of:  regard classify runs/demo-vit digit.png --top 3"""
    import regard
    from regard.decoding.classify import inputs

    loaded = regard.load(run, on=device)
    refuse_idle(context, kind_of(loaded))
    given = inputs(loaded, files or ["-"])
    compares = loaded.task == "match"
    found = (
        regard.match(loaded, given, captions or (), top=top) if compares else regard.classify(loaded, given, top=top)
    )
    for each in found:
        typer.echo(json.dumps(asdict(each), ensure_ascii=False) if as_json else str(each))


@app.command()
def tag(
    run: RunFolder,
    text: Annotated[
        str | None,
        typer.Argument(metavar="[TEXT]", help="A text of words with spaces between. Without it, lines of stdin."),
    ] = None,
    as_json: Json = False,
    device: OnDevice = Device.auto,
) -> None:
    """Print each word with its tag, and a blank line after each text:  regard tag runs/names < news.txt"""
    import regard
    from regard.data.corpus import split_lines

    loaded = regard.load(run, on=device)
    for line in split_lines(sys.stdin.buffer) if text is None else [text]:
        tagged = regard.tag(loaded, line)
        typer.echo(json.dumps(asdict(tagged), ensure_ascii=False) if as_json else str(tagged))


@app.command()
def explain(
    context: typer.Context,
    run: RunFolder,
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="What to look into: a sentence, a prompt, a caption, or an image file."),
    ],
    from_: From = None,
    to: To = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Where to put all maps (.png), all numbers (.json), or the explorer (.html)."),
    ] = None,
    layer: Annotated[int | None, typer.Option("--layer", min=1, help="One layer only. [text: the last]")] = None,
    head: Annotated[int | None, typer.Option("--head", min=1, help="One head only. [text: their mean]")] = None,
    beam: Beam = None,
    as_json: Json = False,
    device: OnDevice = Device.auto,
) -> None:
    """Show what a run looks at:  regard explain runs/demo "The animal is tired." --to fr"""
    import regard
    from regard.insight import bundle, figures, overlays
    from regard.insight.trace import to_json

    page = out if out and out.suffix.lower() == ".html" else None
    if page:
        bundle.page()
    elif out:
        figures.check(out)
    loaded = regard.load(run, on=device)
    refuse_idle(context, kind_of(loaded))
    loaded, decode = loaded.reading(from_), {"beam": beam} if beam else {}
    trace = bundle.save(loaded, text, to, page, **decode) if page else regard.explain(loaded, text, to, **decode)
    at, within = layer - 1 if layer else None, head - 1 if head else None
    drawn = figures.terminal if trace.patches is None else overlays.terminal
    picture = drawn(trace, layer=-1 if at is None else at, head=within)
    typer.echo(to_json(trace) if as_json else f"{trace.translation}\n\n{picture}", nl=False)
    if out and not page:
        figures.save(trace, out, layer=at, head=within)


@app.command()
def explore(
    run: RunFolder,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Where to serve it; 0 is any free one.")] = 8010,
    host: Annotated[
        str, typer.Option("--host", help="The address to serve it at; 127.0.0.1 is seen by this machine alone.")
    ] = "127.0.0.1",
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the address and open no browser.")] = False,
    from_: From = None,
    device: OnDevice = Device.auto,
) -> None:
    """Show a run thinking, in the browser:  regard explore runs/demo"""
    from regard.insight import explore as explorer

    explorer.explore(run, host=host, port=port, open_page=not no_open, on=device, source_language=from_)


class Format(StrEnum):
    huggingface, ctranslate2, onnx = "huggingface", "ctranslate2", "onnx"


@app.command()
def export(
    run: RunFolder,
    format: Annotated[Format, typer.Option("--format", help="The runtime that is to load it.")],
    out: Annotated[Path, typer.Option("--out", help="The new folder to write.")],
    precision: Annotated[
        str, typer.Option("--precision", help="ctranslate2: float32, int8, int8_float32, bfloat16 and others.")
    ] = "float32",
) -> None:
    """Write a run as another runtime's folder:  regard export runs/demo --format ctranslate2 --out demo-ct2"""
    import regard

    typer.echo(regard.export(regard.load(run, on="cpu"), format, out, precision))


@app.command("import")
def adopt(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A Hugging Face folder with model.safetensors.")],
    out: Annotated[Path, typer.Option("--out", help="The run folder to write.")],
) -> None:
    """Take a Hugging Face folder in as a run:  regard import opus-mt-en-de --out runs/en-de"""
    import regard

    typer.echo(regard.adopt(folder, out).folder)


def main() -> None:
    """Run a verb; a RegardError is one sentence on stderr, so that a traceback always means a fault of ours."""
    try:
        app()
    except RegardError as error:
        print(f"regard: {error}", file=sys.stderr)
        sys.exit(1)
