"""What is promised to those who build on regard: the names, the folder's format, and that the door opens quickly."""

from __future__ import annotations

import json
import subprocess
import sys
from types import ModuleType

import pytest

import regard
from process import REGARD
from regard.config import FORMAT

COMMANDS = [REGARD], [sys.executable, "-m", "regard"]


def test_the_public_names_are_these():
    assert regard.__all__ == [
        "RegardError",
        "Run",
        "__version__",
        "adopt",
        "classify",
        "demo",
        "doctor",
        "ensemble",
        "evaluate",
        "evaluate_classes",
        "evaluate_hidden",
        "evaluate_matches",
        "evaluate_pictures",
        "evaluate_tags",
        "evaluate_text",
        "explain",
        "export",
        "fill",
        "generate",
        "load",
        "match",
        "paint",
        "tag",
        "train",
        "translate",
    ]
    for name in regard.__all__:
        for _ in range(2):  # a module of the same name would take the verb's place once it is imported
            assert not isinstance(getattr(regard, name), ModuleType), name
    assert dir(regard) == sorted(regard.__all__)
    with pytest.raises(AttributeError, match="module 'regard' has no attribute 'trian'"):
        regard.trian  # noqa: B018


def test_a_run_folder_has_format_1_and_these_files(counting):
    assert FORMAT == 1
    assert json.loads((counting / "config.json").read_text())["format"] == 1
    assert sorted(path.name for path in counting.iterdir()) == [
        "README.md",
        "alignment.json",
        "checkpoints",
        "confidence.json",
        "config.json",
        "curve.png",
        "metrics.jsonl",
        "model.safetensors",
        "tokenizer.model",
    ]


def test_the_command_is_the_module_too():
    called = [subprocess.run([*command, "trian"], capture_output=True, text=True) for command in COMMANDS]
    assert [each.returncode for each in called] == [2, 2]
    assert called[0].stderr.replace("regard", "python -m regard", 2) == called[1].stderr


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["train", "--help"], ["translate", "--help"]])
def test_help_does_not_wait_for_torch(arguments):
    code = "import sys; from regard.cli import app\ntry: app()\nfinally: print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
    assert len(done.stdout.splitlines()) > 1
