"""Other people's folders become runs: the same ids, the same logits, the same translations, and the way back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import regard
from counting import pairs
from foreign_translators import foreign, learned, their_ids
from regard.config import DecodeConfig
from regard.decoding.engine import differing
from regard.errors import RegardError
from regard.run import Run
from regard.tokens.text import BOS, EOS, PAD, UNKNOWN
from traded import batch_of, sources_for, translations

TEXTS = ["two five one", "  ½ ﬁve  café ", "日本 one", "seven six"]
KINDS = ["marian", "marian-two", "marian-many", "pegasus", "m2m_100", "m2m_100-many", "bart"]


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_transformers(kind: str, models, tmp_path: Path):
    model = foreign(kind, tmp_path / "theirs", models)
    run = regard.load(regard.adopt(tmp_path / "theirs", tmp_path / "run").folder or "")
    read, written = (their_ids(run, side) for side in ("source", "target"))
    own = (written >= 0).nonzero().flatten()
    known = (read >= 0).nonzero().flatten()
    source, readable = batch_of(sources_for(run, 7))
    source = known[source % len(known)]
    source = source.masked_fill(source <= EOS, EOS).masked_fill(~readable, PAD)
    target = own[torch.randint(EOS, len(own), (7, 5))]
    target[:, 0] = BOS
    starts = written[target]
    starts[:, 0] = model.config.decoder_start_token_id
    with torch.no_grad():
        ours = run.model(source, target, readable)
        theirs = model(read[source], readable.long(), decoder_input_ids=starts, use_cache=False).logits
        torch.testing.assert_close(ours[..., own], theirs[..., written[own]], atol=1e-5, rtol=1e-5)
        everything = ours.softmax(-1)[..., own].sum(-1)
        torch.testing.assert_close(everything, torch.ones(7, 5), msg="an id that they lack has probability 0")
        cache, memory = run.model.cache(), run.model.encode(source, readable)
        steps = [run.model.decode(token, memory, readable, cache) for token in target.split(1, 1)]
        torch.testing.assert_close(run.model.logits(torch.cat(steps, 1)), ours, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_export_gives_back_what_was_imported(kind: str, models, tmp_path: Path):
    theirs, out = tmp_path / "theirs", tmp_path / "out"
    foreign(kind, theirs, models)
    regard.export(regard.load(regard.adopt(theirs, tmp_path / "run").folder or ""), "huggingface", out)
    before, after = load_file(theirs / "model.safetensors"), load_file(out / "model.safetensors")
    assert before.keys() == after.keys()
    for name in before:
        near = "embed_positions" in name and kind == "pegasus"  # computed anew, in other roundings
        assert torch.allclose(before[name], after[name], atol=1e-6) if near else torch.equal(before[name], after[name])
    for path in theirs.iterdir():
        if path.suffix in (".json", ".spm", ".model"):
            assert path.name == "config.json" or (out / path.name).read_bytes() == path.read_bytes()
    assert json.loads((theirs / "config.json").read_text()) == json.loads((out / "config.json").read_text())


@pytest.mark.parametrize("kind", ["marian", "marian-two"])
def test_text_has_the_ids_that_marian_s_tokenizer_gives_it(kind: str, models, tmp_path: Path):
    from transformers import AutoTokenizer

    foreign(kind, tmp_path / "theirs", models)
    run = regard.adopt(tmp_path / "theirs", tmp_path / "run")
    tokenizer: Any = AutoTokenizer.from_pretrained(tmp_path / "theirs")
    unknown = tokenizer.unk_token_id
    read, written = (their_ids(run, side) for side in ("source", "target"))
    for text in TEXTS:
        assert tokenizer(text).input_ids == [unknown if id < 0 else id for id in read[run.encode_source(text)].tolist()]
        ids = written[run.encode_target(text)]
        assert tokenizer(text_target=text).input_ids == [unknown if id < 0 else id for id in ids.tolist()]


def test_an_imported_marian_translates_as_transformers_does(models, tmp_path: Path):
    from transformers import AutoTokenizer

    model = foreign("marian", tmp_path / "theirs", models)
    run = regard.adopt(tmp_path / "theirs", tmp_path / "run")
    tokenizer: Any = AutoTokenizer.from_pretrained(tmp_path / "theirs")
    texts = ["two five one", "one", "seven six three", "four four"]
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    never = {"bad_words_ids": [[model.config.pad_token_id], [1]]}
    written = model.generate(**batch, num_beams=4, early_stopping=True, max_length=12, length_penalty=0.7, **never)
    expected = tokenizer.batch_decode(written, skip_special_tokens=True, use_source_tokenizer=False)
    ours = regard.translate(run, texts, beam=4, max_length=11, max_ratio=20.0, length_penalty=0.7)
    told = [translation.candidates[0] for translation in ours]
    rows = their_ids(run, "target")
    assert [rows[list(each.ids)].tolist() for each in told] == [
        [id for id in row[1:] if id not in (0, model.config.pad_token_id)] for row in written.tolist()
    ]
    assert [each.text for each in told] == expected


def test_a_run_s_own_ids_lead_and_a_start_that_is_no_start_is_a_copy(models, tmp_path: Path):
    model = foreign("m2m_100", tmp_path / "theirs", models)
    run = regard.adopt(tmp_path / "theirs", tmp_path / "run")
    assert their_ids(run, "target")[[PAD, UNKNOWN, BOS, EOS]].tolist() == [1, 3, -1, 2]
    table = run.model.source_embedding.table.weight
    assert torch.equal(table[BOS], model.model.shared.weight[2])
    pieces = run.source_tokenizer.pieces(range(len(run.source_tokenizer)))
    assert pieces[:5] == ["<pad>", "<unk>", "<s>", "</s>", "<<s>:0>"]
    assert pieces[-4:] == ["__de__", "__en__", *(f"<unused:{id}>" for id in range(len(pieces) - 3, len(pieces) - 1))]
    assert run.source_tokenizer.decode(run.source_tokenizer.encode("two five")) == "two five"


def test_a_run_that_is_imported_works_as_any_other(models, tmp_path: Path):
    foreign("marian", tmp_path / "theirs", models)
    run = regard.adopt(tmp_path / "theirs", tmp_path / "run")
    assert len(translations(run, ["two five one", ""])) == 2
    trace = regard.explain(run, "two five one", max_length=4)
    assert trace.translation == translations_within(run, "two five one", 4)


def test_an_imported_run_is_the_same_in_the_engine(models, tmp_path: Path):
    for kind in ("marian", "bart"):
        foreign(kind, tmp_path / kind, models)
        run = regard.adopt(tmp_path / kind, tmp_path / f"run-{kind}")
        decode = DecodeConfig(beam=3, max_length=9)
        assert differing(run, sources_for(run, 6), decode) == []


def test_a_run_whose_origin_was_tampered_with_is_refused(models, tmp_path: Path):
    foreign("marian", tmp_path / "theirs", models)
    run = regard.adopt(tmp_path / "theirs", tmp_path / "run")
    rows = tmp_path / "run" / "origin" / "rows.json"
    for told in ({}, {"source": {"rows": [7] * 9, "copies": []}}, {"source": 1, "target": 2}):
        rows.write_text(json.dumps(told))
        with pytest.raises(RegardError) as caught:
            regard.export(run, "huggingface", tmp_path / "out")
        assert str(caught.value) == f"{rows} does not fit the run: import it again"


def translations_within(run: Run, text: str, length: int) -> str:
    return next(regard.translate(run, [text], max_length=length)).text


def spoiled(folder: Path, how: str) -> None:
    config = json.loads((folder / "config.json").read_text())
    parameters = folder / "model.safetensors"
    match how:
        case "pickled":
            parameters.rename(folder / "pytorch_model.bin")
        case "absent":
            parameters.unlink()
        case "cut":
            parameters.write_bytes(parameters.read_bytes()[:1000])
        case "linked":
            parameters.rename(folder.parent / "elsewhere")
            parameters.symlink_to(folder.parent / "elsewhere")
        case "huge":
            config |= {"encoder_ffn_dim": 2**30, "decoder_ffn_dim": 2**30}
        case "wordy":
            config |= {"vocab_size": 2**23}
        case "typed":
            config |= {"d_model": "twelve"}
        case "unlike":
            config |= {"decoder_ffn_dim": 24}
        case "other":
            config |= {"model_type": "t5"}
        case "beyond":
            config |= {"eos_token_id": 99999}
        case "renamed":
            save_file(
                {name.replace("fc1", "fc9"): tensor for name, tensor in load_file(parameters).items()}, parameters
            )
        case "untokenized":
            (folder / "source.spm").unlink()
        case "garbled":
            (folder / "source.spm").write_bytes(os.urandom(100))
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            "pickled",
            "{f} has its parameters pickled in a .bin file, which could run code: save it as model.safetensors",
        ),
        ("absent", "{f} has no model.safetensors: give the folder that save_pretrained of transformers wrote"),
        ("cut", "{f}/model.safetensors cannot be read as parameters: "),
        ("linked", "{f}/model.safetensors is a link that leads out of its folder: copy the folder with cp -rL first"),
        (
            "huge",
            "{f}/model.safetensors does not hold the model that config.json describes: model.encoder.layers.0.fc1",
        ),
        ("wordy", "{f}/model.safetensors has no matrix of 8388608 rows, which {f}/config.json calls vocab_size"),
        ("typed", "{f}/config.json: model.width='twelve' should be a whole number"),
        ("unlike", "{f}/config.json has ffn_dim of 20 in the encoder and 24 in the decoder: ours are alike"),
        (
            "other",
            "{f} is not a model that regard imports: its config.json should have a model_type of marian, pegasus",
        ),
        ("beyond", "{f} has ids beyond its vocabulary of "),
        ("renamed", "{f}/model.safetensors does not hold the model that config.json describes: model.encoder.layers.0"),
        ("untokenized", "{f} has none of source.spm, spiece.model, sentencepiece.bpe.model: its tokenizer is not"),
        ("garbled", "{f} has a sentencepiece model that is damaged"),
    ],
)
def test_a_folder_that_cannot_be_taken_in_is_refused_in_one_sentence(how: str, message: str, models, tmp_path: Path):
    folder = tmp_path / "theirs"
    foreign("marian", folder, models)
    spoiled(folder, how)
    with pytest.raises(RegardError) as caught:
        regard.adopt(folder, tmp_path / "run")
    assert str(caught.value).startswith(message.format(f=folder))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_two_bpe_models_over_one_table_of_ids_are_refused(models, tmp_path: Path):
    bpe = learned([pair.target for pair in pairs(60, seed=4)], "bpe")
    foreign("marian", tmp_path / "theirs", (models[0], bpe))
    with pytest.raises(RegardError, match="regard takes two sentencepiece models with one table of ids only if they"):
        regard.adopt(tmp_path / "theirs", tmp_path / "run")
    foreign("marian-two", tmp_path / "two", (models[0], bpe))
    assert len(regard.adopt(tmp_path / "two", tmp_path / "run").target_tokenizer) > 50


def test_a_bart_without_a_tokenizer_is_refused(models, tmp_path: Path):
    foreign("bart", tmp_path / "theirs", models)
    (tmp_path / "theirs" / "sentencepiece.bpe.model").unlink()
    with pytest.raises(RegardError) as caught:
        regard.adopt(tmp_path / "theirs", tmp_path / "run")
    assert str(caught.value) == (
        f"{tmp_path / 'theirs'} has no tokenizer.json and no merges.txt: copy the tokenizer's files into it, too"
    )
