"""What is written for people is true: every option has its help and its page, and the README's examples run."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from pkgutil import resolve_name

import pytest
import typer.main

import regard
from counting import pairs
from process import call
from regard.cli import app
from regard.config import Settings

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")])
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("verb", sorted(COMMANDS))
def test_every_option_has_its_help_and_stands_on_the_verb_s_page(verb):
    page = (ROOT / "docs" / f"{verb}.md").read_text()
    for parameter in COMMANDS[verb].params:
        if parameter.name == "help":
            continue
        assert parameter.help, f"{verb} {parameter.name} has no help"
        option = next((name for name in parameter.opts if name.startswith("--")), None)
        assert option is None or f"`{option}" in page, f"docs/{verb}.md does not tell of {option}"
    assert COMMANDS[verb].help, f"{verb} has no help"


def test_the_readme_names_every_verb():
    readme = (ROOT / "README.md").read_text()
    assert set(re.findall(r"^\| \[`regard (\w+)`\]", readme, re.MULTILINE)) == set(COMMANDS)


def test_every_link_between_the_pages_leads_somewhere():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}, which does not exist"


def test_the_settings_that_the_pages_name_exist():
    settings = Settings()
    named = r"`(data|tokenizer|model|train|decode)\.([a-z_]+)(?:=[^`]*)?`"
    for page in PAGES:
        for section, key in re.findall(named, page.read_text()):
            assert hasattr(getattr(settings, section), key), f"{page.name} names {section}.{key}, which is no setting"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_python_of_the_pages_uses_what_there_is(page):
    """Every block compiles; what it imports of regard, and every regard.name, in text too, exists."""
    text = page.read_text()
    names = set(re.findall(r"`(regard(?:\.[a-z]\w*)+)", text))
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        for node in ast.walk(ast.parse(code, page.name)):
            match node:
                case ast.Attribute(ast.Name("regard"), name):
                    names.add(f"regard.{name}")
                case ast.Import(aliases):
                    names |= {alias.name for alias in aliases}
                case ast.ImportFrom(module, aliases):
                    names |= {f"{module}.{alias.name}" for alias in aliases}
    for name in sorted(names):
        if name.split(".")[0] == "regard":
            resolve_name(name)  # or it raises


def test_the_python_of_the_readme_runs(counting, capsys):
    """With the numbers' run in the place of the demo's."""
    readme = (ROOT / "README.md").read_text()
    code = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert code
    exec(
        compile(code[1].replace("runs/demo", str(counting)).replace("I am a student.", "one two"), "README.md", "exec"),
        {},
    )
    assert capsys.readouterr().out.startswith("un deux\n(1, 2, ")


def test_the_python_of_the_page_on_trust_gives_a_run_its_confidence(counting, tmp_path):
    """With the numbers' run, as if it were imported, in the place of an imported one."""
    run = shutil.copytree(counting, tmp_path / "run", ignore=shutil.ignore_patterns("confidence.json"))
    (tmp_path / "valid.tsv").write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs(20, seed=2)))
    page = (ROOT / "docs" / "trust.md").read_text()
    code = next(each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "learn_trust" in each)
    for written, meant in (("runs/en-roa", run), ("valid.tsv", tmp_path / "valid.tsv"), ("fra", "fr")):
        code = code.replace(f'"{written}"', repr(str(meant)))
    exec(compile(code, "trust.md", "exec"), {})
    [translation] = regard.translate(regard.load(run), ["one two"], "fr", signals=True)
    assert translation.candidates[0].signals
    assert translation.candidates[0].signals.calibrated


def commands(code: str) -> Iterator[list[str]]:
    """The words of every regard that shell code calls, without pipes and redirections."""
    for line in code.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
        if "regard" in words:
            yield list(takewhile(lambda word: not re.match("[|&;<>]", word), words[words.index("regard") + 1 :]))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_shell_of_the_pages_can_be_called(page):
    """Every verb of a block takes its arguments; of those in the text, all is there that they name."""
    text = page.read_text()
    for code in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        for verb, *arguments in commands(code):
            COMMANDS[verb].make_context(verb, arguments)  # or it raises
    for verb, rest in re.findall(r"`(?:[A-Z_]+=\S+ )?regard ([a-z]+)([^`]*)`", text):
        known = {option for parameter in COMMANDS[verb].params for option in parameter.opts}
        named = set(re.findall(r"--[a-z][a-z-]*", rest))
        assert named <= known, f"{page.name} calls regard {verb} with {named - known}"


def test_help_and_version_can_be_called():
    assert call("--help").stdout.startswith("Usage: regard")
    assert call("--version").stdout == "regard 0.1.0\n"
    assert call("nonsense").returncode == 2
