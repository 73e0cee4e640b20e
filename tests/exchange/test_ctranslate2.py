"""A run goes to CTranslate2, by itself and as the engine, and gives the tokens of our own search."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest
import torch

import regard
from counting import pairs
from regard.config import DecodeConfig
from regard.decoding.ctranslate2_engine import CTranslate2Engine, Split, failure
from regard.decoding.engine import differing
from regard.decoding.search import Found
from regard.decoding.torch_engine import TorchEngine
from regard.errors import RegardError
from regard.run import Run, load
from traded import random_run, sources_for, translations

NETWORKS = [
    {"norm": "post"},
    {"norm": "pre", "activation": "gelu"},
    {"norm": "post", "tied": "target", "position": "interleaved"},
    {"norm": "pre", "tied": "none", "position": "learned", "max_positions": 30, "position_offset": 2},
    {"norm": "post", "position": "spread", "position_offset": 2, "embedding_norm": True, "activation": "swish"},
    {"norm": "pre", "scale_embedding": False, "output_bias": True, "position_base": 300.0},
]


def written(found: Found) -> list[tuple[tuple[int, ...], bool]]:
    return [(each.ids, each.finished) for each in found.hypotheses]


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_a_random_network_has_the_beam_that_it_has_here(network: dict[str, Any], tokenizers, tmp_path: Path):
    """All of the beam, with scores, each sentence under a limit of its own."""
    run = random_run(tokenizers, tmp_path / "run", **network)
    sources = sources_for(run)
    for decode in (
        DecodeConfig(beam=4, length_penalty=0.8, max_length=12, max_ratio=0.4),
        DecodeConfig(beam=3, length_penalty=0.0, max_length=6),
        DecodeConfig(beam=2, length_penalty=1.3, max_length=9),
        DecodeConfig(beam=1, max_length=8),
    ):
        ours = TorchEngine(run).search(sources, decode)
        for batch in (1, 5, 64):
            theirs = CTranslate2Engine(run, split=Split(1, 1, batch)).search(sources, decode)
            for mine, other in zip(ours, theirs, strict=True):
                best = written(mine)[: len(other.hypotheses)]
                assert written(other)[: decode.beam] == best
                for one, two in zip(mine.hypotheses, other.hypotheses, strict=False):
                    assert two.score == pytest.approx(one.score, abs=1e-4)
                    assert two.log_probability == pytest.approx(one.log_probability, abs=1e-3)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_trained_run_translates_alike(norm: str, request):
    run: Run = request.getfixturevalue(f"{norm}_norm")
    sources = [run.encode_source(pair.source, "fr") for pair in pairs(70, seed=9)]
    assert differing(run, sources, run.settings.decode) == []


def test_the_folder_is_all_that_ctranslate2_needs(post_norm: Run, tmp_path: Path):
    import ctranslate2
    import sentencepiece

    folder = regard.export(post_norm, "ctranslate2", tmp_path / "out")
    translator = ctranslate2.Translator(str(folder), inter_threads=1, intra_threads=1)
    source, target = (
        sentencepiece.SentencePieceProcessor(str(folder / f"{side}.spm")) for side in ("source", "target")
    )
    texts = [pair.source for pair in pairs(12, seed=10)]
    tokens = [[">>fr<<", *source.encode(text, out_type=str)] for text in texts]
    results = translator.translate_batch(tokens, beam_size=5)
    assert [target.decode(each.hypotheses[0]) for each in results] == translations(post_norm, texts, "fr")


@pytest.mark.parametrize("precision", ["int8", "int8_float32"])
def test_a_smaller_precision_is_smaller_and_translates(precision: str, post_norm: Run, tmp_path: Path):
    folder = regard.export(post_norm, "ctranslate2", tmp_path / "out", precision)
    full = regard.export(post_norm, "ctranslate2", tmp_path / "full")
    small, large = ((each / "model.bin").stat().st_size for each in (folder, full))
    assert small < 0.8 * large, "positions stay as they are, and a small network has more of them than of the rest"
    sources = [post_norm.encode_source(text, "fr") for text in ["two five", "one"]]
    found = CTranslate2Engine(post_norm, precision).search(sources, post_norm.settings.decode)
    assert [post_norm.target_tokenizer.decode(each.hypotheses[0].ids) for each in found] == ["deux cinq", "un"]


def test_an_engine_is_made_once_and_again_when_the_run_changes(tokenizers, tmp_path: Path):
    run = random_run(tokenizers, tmp_path / "run")
    CTranslate2Engine(run)
    model = tmp_path / "run" / "engines" / "ctranslate2-float32" / "model.bin"
    made, notes = model.stat().st_mtime_ns, json.loads((model.parent / "notes.json").read_text())
    assert [each for name, each in notes.items() if name.startswith("machine")] == [{"fails": ""}]
    CTranslate2Engine(load(tmp_path / "run"))
    assert model.stat().st_mtime_ns == made
    os.utime(tmp_path / "run" / "model.safetensors", ns=(1, 1))
    CTranslate2Engine(load(tmp_path / "run"))
    assert model.stat().st_mtime_ns != made


def test_an_engine_leaves_torch_its_threads(tokenizers, tmp_path: Path):
    torch.set_num_threads(2)
    engine = CTranslate2Engine(random_run(tokenizers, tmp_path / "run"), split=Split(1, 1))
    assert torch.get_num_threads() == 2
    engine.search([[5, 6, 3]], DecodeConfig(max_length=4))
    assert torch.get_num_threads() == 2


def test_what_kills_a_child_is_told_and_not_tried_here(tmp_path: Path):
    dying = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
    assert failure(tmp_path, trial=dying) == "where a trial died of SIGILL"
    assert (
        failure(tmp_path, trial="import time; time.sleep(9)", patience=0.2) == "where a trial did not end within 0.2 s"
    )
    assert failure(tmp_path, trial="1 / 0") == "where a trial failed (ZeroDivisionError: division by zero)"
    assert failure(tmp_path, trial="") == ""


def test_a_precision_that_does_not_work_here_is_refused(tokenizers, tmp_path: Path, monkeypatch):
    run = random_run(tokenizers, tmp_path / "run")
    monkeypatch.setattr("regard.decoding.ctranslate2_engine.failure", lambda folder: "where a trial died of SIGILL")
    with pytest.raises(RegardError) as caught:
        CTranslate2Engine(run, "int8")
    assert str(caught.value) == (
        "CTranslate2 does not compute in int8 on this machine, where a trial died of SIGILL: try float32, or torch"
    )
    monkeypatch.setattr("ctranslate2.get_supported_compute_types", lambda device: {"int8", "float32"})
    with pytest.raises(RegardError) as caught:
        CTranslate2Engine(run, "bfloat16")
    assert str(caught.value) == ("CTranslate2 does not compute in bfloat16 on this machine: choose from float32, int8")


def test_what_ranks_otherwise_or_is_steered_is_not_followed():
    """Of more finished hypotheses than the beam is wide it keeps the best by its own penalty, which is length^α."""
    assert CTranslate2Engine.follows(DecodeConfig(beam=3, length_penalty=0.7, max_length=9, max_ratio=1.5))
    steered: list[dict[str, Any]] = [{"penalty": "paper"}, {"coverage": 0.2}, {"samples": 2}, {"no_repeat": 3}]
    assert not any(CTranslate2Engine.follows(DecodeConfig(**each)) for each in steered)


def test_what_does_not_work_is_tried_once(tokenizers, tmp_path: Path, monkeypatch):
    run = random_run(tokenizers, tmp_path / "run")
    for reason in ("where a trial died of SIGILL", "which is asked no more"):
        monkeypatch.setattr("regard.decoding.ctranslate2_engine.failure", lambda folder, reason=reason: reason)
        with pytest.raises(RegardError, match="on this machine, where a trial died of SIGILL: try float32, or torch"):
            CTranslate2Engine(run, "int8")


@pytest.mark.parametrize("changed", [{"max_length": 30}, {}])
def test_what_is_too_long_for_the_table_of_positions_is_left_to_torch(changed, tokenizers, tmp_path: Path):
    """Be it a source or what may be written; sinusoids of ours know no end."""
    run = random_run(tokenizers, tmp_path / "run", max_positions=20)
    decode = DecodeConfig(max_length=12).model_copy(update=changed)
    run.settings = run.settings.model_copy(update={"decode": DecodeConfig(max_length=12)})
    sources = [[5, 6, 3], [5] * 20 + [3], [6, 5, 7, 9, 3], [7] * 11 + [3]]
    engine = CTranslate2Engine(run)
    assert engine.longest == 20
    found = engine.search(sources, decode, best=1)
    assert [written(each)[0] for each in found] == [
        written(each)[0] for each in TorchEngine(run).search(sources, decode)
    ]


def test_two_who_make_an_engine_at_once_both_have_it(tokenizers, tmp_path: Path):
    random_run(tokenizers, tmp_path / "run")
    begun = "from regard.run import load; from regard.decoding.ctranslate2_engine import CTranslate2Engine as Engine; "
    asked = f"run = load({str(tmp_path / 'run')!r}); print(len(Engine(run).search([[5, 3]], run.settings.decode)))"
    both = [Popen([sys.executable, "-c", begun + asked], stdout=PIPE, stderr=PIPE, text=True) for _ in range(2)]
    assert [each.communicate() for each in both] == [("1\n", "")] * 2
    left = sorted(path.name for path in (tmp_path / "run" / "engines").iterdir())
    assert left == ["ctranslate2-float32"]


def test_an_unknown_precision_is_refused(post_norm: Run, tmp_path: Path):
    with pytest.raises(RegardError) as caught:
        regard.export(post_norm, "ctranslate2", tmp_path / "out", "int4")
    assert str(caught.value) == (
        "precision 'int4' is unknown to CTranslate2: choose from float32, int8, int8_float32, int8_bfloat16, "
        "bfloat16, int16, float16, int8_float16"
    )
    with pytest.raises(RegardError) as caught:
        regard.export(post_norm, "tflite", tmp_path / "out")
    assert str(caught.value) == "format 'tflite' is unknown: choose from huggingface, ctranslate2, onnx"
