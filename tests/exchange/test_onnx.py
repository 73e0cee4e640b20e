"""A run goes to onnxruntime, where our own search runs over its graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from counting import pairs
from regard.config import DecodeConfig
from regard.decoding.search import search
from regard.decoding.torch_engine import decode_batch, limits_of
from regard.errors import RegardError
from regard.exchange.onnx import OnnxTranslator
from regard.run import Run
from traded import batch_of, random_run, sources_for

NETWORKS = [
    {"norm": "post", "tied": "target"},
    {"norm": "pre", "position": "learned", "max_positions": 30, "activation": "gelu"},
    {"norm": "post", "position": "none", "output_bias": True, "embedding_norm": True},
]


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_a_random_network_has_the_beam_that_it_has_here(network: dict[str, Any], tokenizers, tmp_path: Path):
    run = random_run(tokenizers, tmp_path / "run", **network)
    model = OnnxTranslator(regard.export(run, "onnx", tmp_path / "out"))
    sources = sources_for(run, 9)
    source, readable = batch_of(sources)
    decode = DecodeConfig(beam=3, length_penalty=0.8, max_length=12, max_ratio=0.4)
    limits, never = limits_of(sources, decode), torch.tensor(run.target_tokenizer.unwritten)
    ours = search(run.model, source, readable, decode, limits, never)
    for cached in (True, False):
        theirs = search(model, source, readable, decode, limits, never, cached)
        for one, other in zip(ours, theirs, strict=True):
            assert [each.ids for each in one.hypotheses] == [each.ids for each in other.hypotheses]
            assert one.hypotheses[0].score == pytest.approx(other.hypotheses[0].score, abs=1e-4)


def test_a_trained_run_translates_alike(post_norm: Run, tmp_path: Path):
    model = OnnxTranslator(regard.export(post_norm, "onnx", tmp_path / "out"))
    sources = [post_norm.encode_source(pair.source, "fr") for pair in pairs(30, seed=11)]
    source, readable = batch_of(sources)
    decode = post_norm.settings.decode
    theirs = search(
        model, source, readable, decode, limits_of(sources, decode), torch.tensor(post_norm.target_tokenizer.unwritten)
    )
    ours = decode_batch(post_norm, sources, decode)
    assert [each.hypotheses[0].ids for each in ours] == [each.hypotheses[0].ids for each in theirs]


def test_exporting_leaves_the_run_as_it_was(post_norm: Run, tmp_path: Path):
    source, readable = batch_of(sources_for(post_norm, 5))
    with torch.no_grad():
        before = post_norm.model(source, source, readable)
        for format in ("onnx", "ctranslate2", "huggingface"):
            regard.export(post_norm, format, tmp_path / format)
        regard.export(post_norm, "ctranslate2", tmp_path / "int8", "int8")
        assert torch.equal(post_norm.model(source, source, readable), before)
    assert not post_norm.model.training


def test_graphs_are_refused_where_there_are_none(tmp_path: Path):
    with pytest.raises(RegardError, match=f"{tmp_path} does not hold the graphs of a run: "):
        OnnxTranslator(tmp_path)
