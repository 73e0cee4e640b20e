"""regard export and regard import, as they are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from process import call
from regard.cli import main
from regard.run import Run


def test_a_run_goes_out_comes_back_and_still_counts(post_norm: Run, tmp_path: Path):
    assert post_norm.folder
    out = call("export", post_norm.folder, "--format", "huggingface", "--out", tmp_path / "hf")
    assert (out.returncode, out.stdout) == (0, f"{tmp_path / 'hf'}\n"), out.stderr
    back = call("import", tmp_path / "hf", "--out", tmp_path / "run")
    assert (back.returncode, back.stdout) == (0, f"{tmp_path / 'run'}\n"), back.stderr
    translated = call("translate", tmp_path / "run", "--to", "fr", stdin="two five one\n")
    assert translated.stdout == "deux cinq un\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["import", "nowhere", "--out", "run"], 1, "regard: nowhere is not a model that regard imports: "),
        (["export", "nowhere", "--format", "onnx", "--out", "x"], 1, "regard: nowhere is not a run folder: "),
        (["export", "nowhere", "--format", "tflite", "--out", "x"], 2, "Usage: regard export"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    arguments: list[str], code: int, words: str, tmp_path: Path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["regard", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    told = capsys.readouterr().err
    assert left.value.code == code
    assert told.startswith(words)
    assert code == 2 or told.count("\n") == 1
    assert not list(tmp_path.iterdir())
