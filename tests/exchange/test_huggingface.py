"""A run goes to transformers and comes back, and gives the same tokens on either side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import regard
from counting import pairs
from regard.decoding.search import search
from regard.decoding.torch_engine import limits_of
from regard.errors import RegardError
from regard.run import Run
from regard.tokens.text import BOS, EOS, PAD
from traded import TEXTS, batch_of, random_run, sources_for, translations


def loaded(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    return AutoModelForSeq2SeqLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize(("norm", "kind"), [("post", "MarianMTModel"), ("pre", "PegasusForConditionalGeneration")])
def test_a_trained_run_translates_alike_in_transformers(norm: str, kind: str, tmp_path: Path, request):
    run: Run = request.getfixturevalue(f"{norm}_norm")
    model, tokenizer = loaded(regard.export(run, "huggingface", tmp_path / "out"))
    assert type(model).__name__ == kind
    texts = [pair.source for pair in pairs(40, seed=7)]
    batch = tokenizer([f">>fr<< {text}" for text in texts], return_tensors="pt", padding=True)
    written = tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True)
    assert written == translations(run, texts, "fr")
    back = tokenizer([f">>en<< {text}" for text in written], return_tensors="pt", padding=True)
    assert tokenizer.batch_decode(model.generate(**back), skip_special_tokens=True) == translations(run, written, "en")


NETWORKS = [
    {"norm": "post"},
    {"norm": "pre"},
    {"norm": "post", "position": "interleaved", "activation": "gelu"},
    {"norm": "pre", "position": "interleaved", "activation": "swish"},
    {"norm": "post", "tied": "target"},
    {"norm": "post", "tied": "none", "scale_embedding": False},
    {"norm": "post", "output_bias": True},
]


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_a_random_network_has_the_logits_and_the_beam_it_has_here(network: dict[str, Any], tokenizers, tmp_path: Path):
    run = random_run(tokenizers, tmp_path / "run", **network)
    model, _ = loaded(regard.export(run, "huggingface", tmp_path / "out"))
    sources = sources_for(run)
    source, readable = batch_of(sources)
    target = torch.randint(4, run.translator.target_vocabulary, (len(sources), 9))
    with torch.no_grad():
        theirs = model(source, readable.long(), decoder_input_ids=target, use_cache=False).logits
        torch.testing.assert_close(run.model(source, target, readable), theirs, atol=1e-5, rtol=1e-5)
    decode = run.settings.decode
    found = search(
        run.model,
        source,
        readable,
        decode,
        [decode.max_length] * len(sources),
        torch.tensor(run.target_tokenizer.unwritten),
    )
    written = model.generate(input_ids=source, attention_mask=readable.long())
    assert model.generation_config.max_length == decode.max_length + 1
    for each, row in zip(found, written.tolist(), strict=True):
        best = each.hypotheses[0]
        expected = [BOS, *best.ids] + [EOS] * best.finished
        assert row[: len(expected)] == expected
        assert set(row[len(expected) :]) <= {PAD}
    assert set(limits_of(sources, decode)) == {14}, "which no limit of a single sentence undercuts here"


def test_text_has_the_same_ids_there_and_comes_back_the_same(tokenizers, tmp_path: Path):
    run = random_run(tokenizers, tmp_path / "run", tied="target")
    _, tokenizer = loaded(regard.export(run, "huggingface", tmp_path / "out"))
    for text in [*TEXTS, "  two   spaces ", "<0x41> is text"]:
        assert tokenizer(text).input_ids == run.encode_source(text)
        assert tokenizer(text_target=text).input_ids == run.encode_target(text)
        plain = run.target_tokenizer.decode(run.encode_target(text))
        assert tokenizer.decode(run.encode_target(text), skip_special_tokens=True) == plain


def test_what_comes_back_is_what_went_out(post_norm: Run, pre_norm: Run, tokenizers, tmp_path: Path):
    separate = random_run(tokenizers, tmp_path / "separate", tied="target")
    untied = random_run(tokenizers, tmp_path / "untied", tied="none", output_bias=True)
    for number, run in enumerate([post_norm, pre_norm, separate, untied]):
        out = regard.export(run, "huggingface", tmp_path / f"out{number}")
        again = regard.adopt(out, tmp_path / f"run{number}")
        assert again.settings.model == run.settings.model.model_copy(
            update={"initial": "xavier", "max_positions": again.translator.max_positions}
        )
        for (name, ours), (other, theirs) in zip(
            run.model.named_parameters(), again.model.named_parameters(), strict=True
        ):
            assert name == other
            assert torch.equal(ours, theirs)
        texts = [pair.source for pair in pairs(10, seed=8)]
        to = "fr" if run.settings.data.both_ways else None
        assert translations(again, texts, to) == translations(run, texts, to)
        once_more = regard.export(regard.load(tmp_path / f"run{number}"), "huggingface", tmp_path / f"again{number}")
        first, second = load_file(out / "model.safetensors"), load_file(once_more / "model.safetensors")
        assert first.keys() == second.keys()
        assert all(torch.equal(first[name], second[name]) for name in first)
        for name in ("config.json", "generation_config.json", "vocab.json", "tokenizer_config.json"):
            assert json.loads((out / name).read_text()) == json.loads((once_more / name).read_text())


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (
            {"position": "learned"},
            "no network of transformers is this run's: MarianMTModel has no model.position=learned; "
            "BartForConditionalGeneration has no model.embedding_norm=False; try --format ctranslate2 or onnx",
        ),
        (
            {"norm": "pre", "tied": "target"},
            "no network of transformers is this run's: PegasusForConditionalGeneration shares one matrix between both "
            "sides, unlike model.tied=target; M2M100ForConditionalGeneration has no model.position=halves; "
            "try --format ctranslate2 or onnx",
        ),
        (
            {"position_base": 500.0},
            "no network of transformers is this run's: MarianMTModel has no model.position_base=500.0; "
            "BartForConditionalGeneration has no model.position=halves; try --format ctranslate2 or onnx",
        ),
    ],
)
def test_a_network_that_no_class_can_hold_is_refused(network: dict[str, Any], message: str, tokenizers, tmp_path: Path):
    run = random_run(tokenizers, tmp_path / "run", **network)
    with pytest.raises(RegardError) as caught:
        regard.export(run, "huggingface", tmp_path / "out")
    assert str(caught.value) == message
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_there_is_not_overwritten(post_norm: Run, tmp_path: Path):
    (tmp_path / "mine").write_text("work of years")
    with pytest.raises(RegardError) as caught:
        regard.export(post_norm, "huggingface", tmp_path)
    assert str(caught.value) == f"{tmp_path} already exists: give the name of a new folder, or remove it first"
    assert (tmp_path / "mine").read_text() == "work of years"
