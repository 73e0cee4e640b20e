"""docs/families.md tells the truth: how many lines each family takes; and no family is asked for by name elsewhere."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

from regard.model import FAMILIES

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "regard"
ROW = re.compile(r"^\| \[`(\w+)`\]\(\.\./src/regard/model/(\w+)\.py\) \|[^|]+\| (\d+) \|", re.MULTILINE)
QUIET = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def lines_of_code(path: Path) -> int:
    """Lines that are not blank, comment, docstring or import."""
    text = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {line for token in tokens if token.type not in QUIET for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        said = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.stmt) and (said or isinstance(node, ast.Import | ast.ImportFrom)):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def test_the_page_tells_how_many_lines_each_family_takes():
    told = {name: int(lines) for name, _, lines in ROW.findall((ROOT / "docs" / "families.md").read_text("utf-8"))}
    assert told == {name: lines_of_code(SOURCES / "model" / f"{name}.py") for name in FAMILIES}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_one_short_file(name: str):
    assert FAMILIES[name].__module__ == f"regard.model.{name}"
    assert len((SOURCES / "model" / f"{name}.py").read_text("utf-8").splitlines()) <= 120


def test_no_family_is_asked_for_by_its_name():
    """A name is a key of FAMILIES and the mark of a class of settings; nothing compares itself with one."""
    for path in SOURCES.glob("**/*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Compare | ast.MatchValue):
                named = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
                assert not named & set(FAMILIES), f"{path.relative_to(ROOT)}, line {node.lineno}"
