"""Runs of one stack that were trained here go to transformers: the same logits, the same ids, and back again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import assume, example, given
from hypothesis import strategies as st

import regard
from foreign import HEADS, HIDDEN, LAYERS, POSITIONS, TEXTS, WIDTH
from regard.config import Settings, validate
from regard.errors import RegardError
from regard.exchange.tokenizer_out import described_as
from regard.model import build
from regard.run import TEXT, Run
from regard.tokens.characters import CharacterTokenizer
from regard.tokens.lines import Lines
from regard.tokens.text import BOS, EOS, PAD, TextTokenizer

SIZES = {"width": WIDTH, "hidden": HIDDEN, "heads": HEADS, "layers": LAYERS}
TOKENIZERS: dict[str, Any] = {
    "unigram": TextTokenizer.learn(TEXTS * 3, size=330),
    "bpe": TextTokenizer.learn(TEXTS * 3, size=340, kind="bpe"),
    "characters": CharacterTokenizer.learn(TEXTS),
}


def random_run(family: str, kind: str, folder: Path, task: str = "", labels: tuple[str, ...] = (), **model: Any) -> Run:
    """A run with every head that its settings have, and random parameters, none of them 0 or 1."""
    tokenizer = TOKENIZERS.get(kind)
    text = {"vocabulary": len(tokenizer), "max_positions": POSITIONS} if tokenizer else {}
    given = {
        "tokenizer": {"kind": kind} if tokenizer else {},
        "data": {"labels": labels},
        "train": {"task": task},
        "model": {"family": family, **SIZES, **text, **model},
    }
    settings = validate(Settings, given, "test")
    network = build(settings.model).eval()
    for parameter in network.parameters():
        parameter.data += torch.randn_like(parameter) * 0.2
    run = Run(settings, network, {TEXT: tokenizer} if tokenizer else {})
    run.save(folder)
    return run


def loaded(folder: Path) -> tuple[Any, Any]:
    """Their network, which must find all that it needs in the folder and nothing else, and their tokenizer."""
    from transformers import AutoTokenizer

    named = json.loads((folder / "config.json").read_text())["architectures"][0]
    return in_full(folder, named), AutoTokenizer.from_pretrained(folder)


def in_full(folder: Path, named: str) -> Any:
    import transformers

    model, told = getattr(transformers, named).from_pretrained(folder, output_loading_info=True)
    assert not any(told.values()), told
    return model.eval()


def batch(run: Run) -> tuple[torch.Tensor, torch.Tensor]:
    readable = torch.arange(11) < torch.tensor([[7], [3], [1], [11]])
    return torch.randint(4, len(run.tokenizers[TEXT]), readable.shape).where(readable, torch.tensor(PAD)), readable


def rows(run: Run, tokenizer: Any) -> torch.Tensor:
    """Their id of each of ours, as their tokenizer has it by the token's name."""
    ids = tokenizer.get_vocab()
    kind = run.settings.tokenizer.kind
    ours = described_as(run.tokenizers[TEXT], kind, False)["model"]["vocab"]
    names = [token for token, _ in ours] if isinstance(ours, list) else sorted(ours, key=ours.__getitem__)
    return torch.tensor([ids[name] for name in names])


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
@pytest.mark.parametrize("kind", TOKENIZERS)
@torch.no_grad()
def test_a_bert_fills_in_classifies_and_tags_alike(family: str, kind: str, tmp_path: Path):
    """Of a run with several heads, that of its task goes out."""
    heads = {
        "fill": lambda run, states: run.model.fill(states),
        "classify": lambda run, states: run.model.classify(states),
        "tag": lambda run, states: run.model.tag(states),
    }
    several = {"fills": True, "classes": 3, "tags": 3}
    for task, head in heads.items():
        run = random_run(family, kind, tmp_path / task, task, labels=("a", "b", "c"), **several)
        out = regard.export(run, "huggingface", tmp_path / f"out-{task}")
        model, tokenizer = loaded(out)
        there, (ids, readable) = rows(run, tokenizer), batch(run)
        expected = model(there[ids], readable.long()).logits
        ours = head(run, run.model.states(ids, readable))
        if task == "fill":
            expected = expected[..., there]
        else:
            assert model.config.id2label == {0: "a", 1: "b", 2: "c"}
        where = ... if task == "classify" else readable
        torch.testing.assert_close(ours[where], expected[where], atol=1e-5, rtol=1e-5)
        for text in TEXTS:
            ids = [BOS, *run.tokenizers[TEXT].encode(text), EOS]
            assert tokenizer(text).input_ids == there[ids].tolist()
        back = regard.adopt(out, tmp_path / f"back-{task}")
        assert (back.task, back.settings.data.labels) == (task, () if task == "fill" else ("a", "b", "c"))
        assert back.settings.model == run.settings.model.model_copy(
            update={"fills": task == "fill", "classes": 3 * (task == "classify"), "tags": 3 * (task == "tag")}
        )
        own = dict(run.model.named_parameters())
        for name, parameter in back.model.named_parameters():
            assert parameter.equal(own[name]), name


def test_a_body_without_heads_goes_out_as_one(tmp_path: Path):
    run = random_run("bert", "unigram", tmp_path / "run", fills=False)
    model, tokenizer = loaded_body(regard.export(run, "huggingface", tmp_path / "out"))
    ids, readable = batch(run)
    with torch.no_grad():
        expected = model(rows(run, tokenizer)[ids], readable.long()).last_hidden_state[readable]
        torch.testing.assert_close(run.model.states(ids, readable)[readable], expected, atol=1e-5, rtol=1e-5)


def loaded_body(folder: Path) -> tuple[Any, Any]:
    """Theirs always has a pooler, which ours without a classifier has not."""
    from transformers import AutoTokenizer, BertModel

    return BertModel.from_pretrained(folder, add_pooling_layer=False).eval(), AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize(("family", "hidden"), [("gpt", 4 * WIDTH), ("gpt2", HIDDEN)])
@pytest.mark.parametrize("kind", TOKENIZERS)
@torch.no_grad()
def test_a_gpt_writes_alike(family: str, hidden: int, kind: str, tmp_path: Path):
    run = random_run(family, kind, tmp_path / "run", hidden=hidden, tied=family == "gpt")
    out = regard.export(run, "huggingface", tmp_path / "out")
    model, tokenizer = loaded(out)
    ids, readable = batch(run)
    expected = model(ids, attention_mask=readable.long()).logits
    torch.testing.assert_close(run.model(ids)[readable], expected[readable], atol=1e-5, rtol=1e-5)
    for text in TEXTS:
        assert tokenizer(text).input_ids == [BOS, *run.writer.encode(text)]
        assert tokenizer.decode(run.writer.encode(text)) == run.writer.plain(text)
    [found] = regard.generate(run, "two five", tokens=9, beam=1)
    read = tokenizer("two five", return_tensors="pt")
    written = model.generate(**read, do_sample=False, max_new_tokens=9)[0, read.input_ids.size(1) :].tolist()
    assert list(found.ids) == written[: (*written, EOS).index(EOS)]
    back = regard.adopt(out, tmp_path / "back")
    for (name, ours), (_, theirs) in zip(run.model.named_parameters(), back.model.named_parameters(), strict=True):
        assert ours.equal(theirs), name


@pytest.mark.parametrize("channels", [1, 3])
@torch.no_grad()
def test_a_vit_tells_pictures_apart_alike(channels: int, tmp_path: Path):
    import transformers

    shape = {"picture": (8, 20), "patch": 4, "channels": channels, "classes": 3}
    run = random_run("vit", "", tmp_path / "run", labels=("a", "b", "c"), mean=(0.4,), deviation=(0.3,), **shape)
    out = regard.export(run, "huggingface", tmp_path / "out")
    model = in_full(out, "ViTForImageClassification")
    pixels = torch.randint(256, (5, channels, 8, 20), dtype=torch.uint8)
    reader: Any = transformers.AutoImageProcessor.from_pretrained(out, backend="pil")
    read = reader(list(pixels.numpy()), return_tensors="pt", input_data_format="channels_first")
    ours = run.model(pixels.float() / 127.5 - 1)
    torch.testing.assert_close(ours, model(**read).logits, atol=1e-5, rtol=1e-5)
    back = regard.adopt(out, tmp_path / "back")
    torch.testing.assert_close(back.model(pixels.float() / 127.5 - 1), ours, atol=1e-6, rtol=1e-6)
    assert back.settings.data.labels == ("a", "b", "c")


@pytest.mark.parametrize(
    ("family", "model", "message"),
    [
        ("gpt", {}, "OpenAIGPTLMHeadModel has no model.hidden=22"),
        ("gpt2", {"position": "rotary", "activation": "gelu"}, "GPT2LMHeadModel has no model.position=rotary"),
        ("gpt", {"hidden": 4 * WIDTH, "activation": "gelu"}, "OpenAIGPTLMHeadModel has no model.activation=gelu"),
        ("bert", {"norm_kind": "rms"}, "BertForMaskedLM has no model.norm_kind=rms"),
        ("distilbert", {"epsilon": 1e-5}, "DistilBertForMaskedLM has no model.epsilon=1e-05"),
    ],
)
def test_a_network_that_no_class_can_hold_is_refused(family: str, model: Any, message: str, tmp_path: Path):
    run = random_run(family, "unigram", tmp_path / "run", **model)
    with pytest.raises(RegardError) as caught:
        regard.export(run, "huggingface", tmp_path / "out")
    assert str(caught.value).startswith(f"no network of transformers is this run's: {message}; ")
    assert not (tmp_path / "out").exists()


def test_a_family_that_transformers_does_not_have_is_refused(tmp_path: Path):
    run = random_run("gpt3", "unigram", tmp_path / "run")
    with pytest.raises(RegardError) as caught:
        regard.export(run, "huggingface", tmp_path / "out")
    assert str(caught.value) == "transformers has no network just like model.family=gpt3: a run of it stays with regard"


CONTROL = ("<pad>", "<unk>", "<s>", "</s>")


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("lines", [False, True])
@given(
    text=st.text(
        alphabet=st.one_of(st.sampled_from(" \n\t\r▁é½aeiotwfvn<0x4>"), st.characters(exclude_categories=["Cs"]))
    )
)
@example("<0x41> is text")
def test_any_text_has_the_ids_that_it_has_here(kind: str, lines: bool, text: str):
    from tokenizers import Tokenizer

    assume(not any(token in text for token in CONTROL))  # which have a meaning there, and none here
    tokenizer = TOKENIZERS[kind]
    theirs = Tokenizer.from_str(json.dumps(described_as(tokenizer, kind, lines)))
    ours = Lines(tokenizer) if lines and kind != "characters" else tokenizer
    ids = ours.encode(text)
    assert theirs.encode(text, add_special_tokens=False).ids == ids
    if lines:
        assert theirs.decode(ids, skip_special_tokens=False) == ours.decode(ids)
