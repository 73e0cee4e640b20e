"""What holds for every family: no future leaks, padding and cache change nothing, what is saved is what is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError
from torch import Tensor

from regard.config import (
    BartConfig,
    BertConfig,
    ClipConfig,
    DalleConfig,
    DistilbertConfig,
    Gpt2Config,
    Gpt3Config,
    GptConfig,
    RobertaConfig,
    Settings,
    TranslatorConfig,
    VitConfig,
)
from regard.errors import ConfigError, DataError
from regard.insight.trace import record
from regard.model import FAMILIES, build, parameters
from regard.run import build_as_saved

SIZES: dict[str, Any] = {"width": 18, "hidden": 22, "heads": 3, "layers": 2, "dropout": 0.0}
VOCABULARY, LENGTH = 29, 11
TEXT: dict[str, Any] = {**SIZES, "vocabulary": VOCABULARY, "max_positions": 13}
DALLE: dict[str, Any] = {**SIZES, "text_vocabulary": 13, "image_vocabulary": 16, "text_length": 5, "grid": (3, 2)}
VIT: dict[str, Any] = {**SIZES, "picture": (8, 20), "patch": 4, "channels": 2, "classes": 5}
PAIR: dict[str, Any] = {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY, "max_positions": 13}
HEADS: dict[str, Any] = {"classes": 5, "tags": 7}
DEEP_DALLE: dict[str, Any] = {**DALLE, "layers": 6}
CONFIGS = {
    "translator": TranslatorConfig(**SIZES, **PAIR),
    "bart": BartConfig(**SIZES, **PAIR),
    "bert": BertConfig(**TEXT, **HEADS),
    "roberta": RobertaConfig(**TEXT, **HEADS),
    "distilbert": DistilbertConfig(**TEXT, **HEADS),
    "gpt": GptConfig(**TEXT),
    "gpt2": Gpt2Config(**TEXT),
    "gpt3": Gpt3Config(**TEXT, band=2),
    "vit": VitConfig(**VIT),
    "dalle": DalleConfig(**DALLE),
    "clip": ClipConfig(**VIT, vocabulary=VOCABULARY, max_positions=13),
}
POSITIONS: list[Any] = ["learned", "halves", "interleaved", "rotary", "alibi", "shaw", "t5", "none"]
WRITERS: dict[str, Any] = {name: CONFIGS[name] for name in ("gpt", "gpt2", "gpt3", "dalle")}
WRITERS |= {f"gpt2, {position}": Gpt2Config(**TEXT, position=position) for position in POSITIONS[1:]}
WRITERS |= {
    "gpt2, llama's": Gpt2Config(**TEXT, position="rotary", norm_kind="rms", gated=True, activation="swish", tied=False),
    "gpt3, rotary": Gpt3Config(**TEXT, band=2, position="rotary"),
    "dalle, sparse": DalleConfig(**DEEP_DALLE, sparse=True),
    "dalle, rotary": DalleConfig(**DALLE, position="rotary"),
}
READERS: dict[str, Any] = {name: CONFIGS[name] for name in ("bert", "roberta", "distilbert")}
READERS |= {f"bert, {position}": BertConfig(**TEXT, **HEADS, position=position) for position in POSITIONS[1:]}
READERS |= {"bert, newer": BertConfig(**TEXT, **HEADS, norm="pre", norm_kind="rms", gated=True, activation="swish")}


def make(config: Any) -> Any:
    """A network whose every parameter is stirred, so that no zero bias and no norm of ones can hide a mistake."""
    model = build(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


def ids(*shape: int) -> Tensor:
    return torch.randint(3, VOCABULARY, shape)


def given_to(name: str) -> tuple[Tensor, ...]:
    """What a network of the family reads."""
    match name:
        case "translator" | "bart":
            return ids(3, 7), ids(3, 6), torch.ones(3, 7, dtype=torch.bool)
        case "bert" | "roberta" | "distilbert":
            return ids(3, 7), torch.ones(3, 7, dtype=torch.bool)
        case "vit":
            return (torch.randn(3, 2, 8, 20),)
        case "clip":
            return torch.randn(3, 2, 8, 20), ids(4, 7), torch.ones(4, 7, dtype=torch.bool)
        case _:
            return (ids(3, LENGTH),)


def test_every_family_is_here():
    assert list(CONFIGS) == list(FAMILIES)
    for name, config in CONFIGS.items():
        assert config.family == name
        assert type(build(config)) is FAMILIES[name]


def test_every_family_says_what_it_is_for():
    assert {name: family.tasks for name, family in FAMILIES.items()} == {
        "translator": ("translate", "denoise"),
        "bart": ("denoise", "translate"),
        **dict.fromkeys(("bert", "roberta", "distilbert"), ("fill", "classify", "tag")),
        **dict.fromkeys(("gpt", "gpt2", "gpt3"), ("write",)),
        "vit": ("classify",),
        "dalle": ("paint",),
        "clip": ("match",),
    }


@pytest.mark.parametrize("name", FAMILIES)
def test_save_load_same_logits(tmp_path: Path, name: str):
    model = make(CONFIGS[name])
    parameters.save(model, tmp_path / "model.safetensors")
    loaded: Any = build_as_saved(Settings(model=CONFIGS[name]), tmp_path / "model.safetensors").eval()
    given = given_to(name)
    with torch.no_grad():
        assert loaded(*given).equal(model(*given))


@pytest.mark.parametrize("name", [*FAMILIES, *WRITERS, *READERS])
def test_tracing_changes_no_logit_and_sees_every_attention(name: str):
    model = make((CONFIGS | WRITERS | READERS)[name])
    given = given_to(name.split(",")[0])
    with torch.no_grad():
        before = model(*given)
        with record(model) as trace:
            assert model(*given).equal(before)
    for weights in trace.weights.values():
        torch.testing.assert_close(torch.from_numpy(weights).sum(-1), torch.ones(weights.shape[:-1]))
    kind = "decoder" if hasattr(model, "decoder") else "encoder"
    assert len(trace.named(kind)) == getattr(model, kind).blocks.__len__()


def test_clip_is_a_vit_and_a_bert_and_the_cosine_between_what_they_say():
    config = ClipConfig(**VIT, vocabulary=VOCABULARY, max_positions=13)
    both, pictures, texts = make(config), torch.randn(3, 2, 8, 20), ids(4, 7)
    readable = torch.arange(7) < torch.tensor([[7], [2], [5], [6]])
    vit, bert = make(VitConfig(**VIT)), make(BertConfig(**TEXT, classes=5, fills=False, token_types=0, norm="pre"))
    shared = both.state_dict()
    vit.load_state_dict({name: shared[name] for name in vit.state_dict()})
    bert.load_state_dict({name: shared[f"reader.{name}"] for name in bert.state_dict()})
    with torch.no_grad():
        both.reader_sharpness.fill_(1.3)
        seen, read = vit(pictures), bert.classify(bert.states(texts, readable))
        cosines = F.cosine_similarity(seen.unsqueeze(1), read.unsqueeze(0), dim=-1)
        torch.testing.assert_close(both(pictures, texts, readable), torch.tensor(1.3).exp() * cosines)
        both.reader_sharpness.fill_(9.0)
        torch.testing.assert_close(both(pictures, texts, readable), 100 * cosines)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_new_network_is_as_unsure_as_guessing(name: str):
    """However it starts: logits are near each other, and no gradient is nowhere."""
    model: Any = build(CONFIGS[name])
    logits = model(*given_to(name))
    logits.log_softmax(-1)[..., 0].mean().backward()
    assert logits.std() < (1 / 0.07 if name == "clip" else 3)  # cosines, as sharp as the paper starts
    heads = ("pooler", "classifier", "tagger") if hasattr(model, "fill") else ()  # which this pass does not ask
    for part, parameter in model.named_parameters():
        assert parameter.grad is not None or part.startswith(heads), part
        assert parameter.grad is None or parameter.grad.isfinite().all(), part


# Those that write


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("steps", [[1] * LENGTH, [3, 1, 7], [LENGTH]], ids=["one by one", "several", "all at once"])
def test_cached_is_uncached(name: str, steps: list[int]):
    model, tokens = make(WRITERS[name]), ids(4, LENGTH)
    with torch.inference_mode():
        cache = model.cache()
        parts = [model.logits(model.decode(part, cache)) for part in tokens.split(steps, dim=1)]
        torch.testing.assert_close(torch.cat(parts, dim=1), model(tokens), atol=1e-4, rtol=1e-4)
    assert cache.length == LENGTH


@pytest.mark.parametrize("name", WRITERS)
def test_the_future_does_not_leak(name: str):
    """Another token at t: logits before t stay as they are, those at t change."""
    model, tokens = make(WRITERS[name]), ids(4, LENGTH)
    with torch.no_grad():
        before = model(tokens)
        for t in range(LENGTH):
            changed = tokens.clone()
            changed[:, t] = (tokens[:, t] + 1) % VOCABULARY
            after = model(changed)
            torch.testing.assert_close(after[:, :t], before[:, :t], atol=1e-5, rtol=0)
            assert (after[:, t] - before[:, t]).abs().amax(-1).gt(1e-3).all()


@pytest.mark.parametrize("name", WRITERS)
def test_a_cache_goes_where_its_hypotheses_go(name: str):
    model, tokens, rows = make(WRITERS[name]), ids(3, 9), torch.tensor([2, 0, 2, 2])
    with torch.inference_mode():
        cache = model.cache()
        model.decode(tokens[:, :6], cache)
        cache.select_own(rows)
        after = ids(4, 2)
        cached = model.logits(model.decode(after, cache))
        whole = model(torch.cat([tokens[rows, :6], after], dim=1))
    torch.testing.assert_close(cached, whole[:, 6:], atol=1e-4, rtol=1e-4)


def seen_by_the_last(config: Any, layer: int) -> list[int]:
    """Positions that the last token looks at in a layer."""
    with torch.no_grad(), record(model := make(config)) as trace:
        model(ids(1, LENGTH))
    return trace.weights[f"decoder.blocks.{layer}.self_attention"][0, 0, -1].nonzero()[0].tolist()


def test_every_second_layer_of_gpt3_looks_back_over_a_band():
    sizes: dict[str, Any] = {**TEXT, "layers": 4}
    config = Gpt3Config(**sizes, band=2)
    assert [seen_by_the_last(config, layer) for layer in range(4)] == [list(range(LENGTH)), [8, 9, 10]] * 2


def test_a_sparse_dalle_looks_along_rows_and_columns_and_at_all_the_text():
    """The grid is of 3 rows of 2: the last code stands at 5 + 5 in the sequence, and 9 beside it, 8 above it."""
    config = DalleConfig(**DEEP_DALLE, sparse=True)
    row, column = [*range(5), 8, 9, 10], [*range(5), 6, 8, 10]
    assert [seen_by_the_last(config, layer) for layer in range(6)] == [row, column, row, row, row, column]


def test_a_code_of_dalle_knows_its_row_and_its_column():
    model = make(CONFIGS["dalle"])
    places, (table, row, column) = (
        model.position.rows(),
        (getattr(model.position, n) for n in ("table", "row", "column")),
    )
    expected = [*table, *(row[i] + column[j] for i in range(3) for j in range(2))]
    torch.testing.assert_close(places, torch.stack(expected))
    with pytest.raises(ConfigError) as caught:
        model(ids(1, 12))
    assert str(caught.value) == (
        "a sequence of 12 tokens does not fit model.max_positions=11: shorten it, or train with more positions"
    )


def test_the_vocabulary_of_dalle_is_that_of_text_and_then_that_of_pictures():
    assert make(CONFIGS["dalle"])(ids(2, LENGTH)).shape == (2, LENGTH, 13 + 16)


def test_tied_is_one_matrix_and_untied_two():
    tied, untied = (make(Gpt2Config(**TEXT, tied=tied)) for tied in (True, False))
    assert tied.output.table.weight is tied.embedding.table.weight
    count = {model: sum(p.numel() for p in model.parameters()) for model in (tied, untied)}
    assert count[untied] - count[tied] == VOCABULARY * SIZES["width"]


# Those that read


def answers(model: Any, tokens: Tensor, readable: Tensor) -> list[Tensor]:
    states = model.states(tokens, readable)
    return [model.fill(states), model.classify(states), model.tag(states)]


@pytest.mark.parametrize("name", READERS)
def test_padding_changes_nothing(name: str):
    """A text alone has the logits that it has in a batch, whatever ids its padding holds."""
    model, lengths, tokens = make(READERS[name]), [7, 3, 1, 5], ids(4, 7)
    readable = torch.arange(7) < torch.tensor(lengths).unsqueeze(1)
    with torch.no_grad():
        fill, classify, tag = answers(model, tokens, readable)
        for i, length in enumerate(lengths):
            alone = answers(model, tokens[i : i + 1, :length], readable[i : i + 1, :length])
            together = [fill[i : i + 1, :length], classify[i : i + 1], tag[i : i + 1, :length]]
            torch.testing.assert_close(together, alone, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", READERS)
def test_every_token_looks_both_ways(name: str):
    model, tokens = make(READERS[name]), ids(3, 7)
    readable = torch.ones(3, 7, dtype=torch.bool)
    with torch.no_grad():
        before = model(tokens, readable)
        for t in range(7):
            changed = tokens.clone()
            changed[:, t] = (tokens[:, t] + 1) % VOCABULARY
            assert (model(changed, readable) - before).abs().amax(-1).gt(1e-4).all()


@pytest.mark.parametrize("position", POSITIONS)
def test_order_is_known_by_positions_alone(position: Any):
    model, tokens = make(BertConfig(**TEXT, position=position)), ids(3, 7)
    readable = torch.ones(3, 7, dtype=torch.bool)
    with torch.no_grad():
        same = torch.allclose(model(tokens.flip(1), readable).flip(1), model(tokens, readable), atol=1e-5)
    assert same is (position in ("none", "alibi")), "ALiBi tells how far, the same both ways"


def test_a_head_is_there_if_the_settings_have_it():
    bare = make(BertConfig(**TEXT, fills=False))
    assert not any(hasattr(bare, head) for head in ("filler", "output", "pooler", "classifier", "tagger"))


# ViT


@pytest.mark.parametrize("summary", ["class", "mean"])
def test_every_patch_matters(summary: Any):
    model, pictures = make(VitConfig(**VIT, summary=summary)), torch.randn(3, 2, 8, 20)
    with torch.no_grad():
        before = model(pictures)
        assert before.shape == (3, 5)
        assert model.states(pictures).shape == (3, 10 + (summary == "class"), 18)
        for row in range(2):
            for column in range(5):
                changed = pictures.clone()
                changed[:, :, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4] += 1
                assert (model(changed) - before).abs().amax(-1).gt(1e-4).all()


def test_the_mean_is_of_patches_and_there_is_no_class_token():
    model, pictures = make(VitConfig(**VIT, summary="mean")), torch.randn(3, 2, 8, 20)
    assert model.summary is None
    torch.testing.assert_close(model(pictures), model.classifier(model.states(pictures).mean(1)))


def test_patches_are_cut_row_by_row():
    """What a patch becomes is one matrix times its pixels."""
    model, pictures = make(VitConfig(**VIT, summary="mean")), torch.randn(3, 2, 8, 20)
    entered: list[Tensor] = []
    model.position.register_forward_pre_hook(lambda module, given: entered.append(given[0]))
    model(pictures)
    matrix = model.embedding.weight.flatten(1)  # (D, C · 4 · 4)
    for i in range(10):
        row, column = divmod(i, 5)
        pixels = pictures[:, :, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4].flatten(1)
        torch.testing.assert_close(entered[0][:, i], pixels @ matrix.T + model.embedding.bias)


def test_a_picture_of_another_size_is_refused():
    with pytest.raises(DataError) as caught:
        make(CONFIGS["vit"])(torch.zeros(1, 3, 8, 20))
    assert str(caught.value) == (
        "a picture of 3 × 8 × 20 was given to a network that was made for 2 × 8 × 20: resize it"
    )


def test_pictures_that_do_not_split_into_patches_are_refused():
    with pytest.raises(ValidationError) as caught:
        VitConfig(picture=(28, 30), patch=4)
    assert (
        "model.picture of 28 × 30 pixels does not split into patches of model.patch=4: choose a patch that divides both"
    ) in str(caught.value)


# How they start, and that they learn


def test_matrices_start_as_the_papers_have_them():
    """N(0, 0.02), and what GPT-2's sublayers add smaller by √(2 · layers)."""
    sizes: dict[str, Any] = {"vocabulary": 500, "width": 64, "hidden": 256, "layers": 3}
    for config, last in ((GptConfig(**sizes), 0.02), (Gpt2Config(**sizes), 0.02 / 6**0.5)):
        for name, parameter in build(config).named_parameters():
            if parameter.dim() > 1:
                expected = last if name.endswith(("output.weight", "outer.weight")) else 0.02
                assert parameter.std().item() == pytest.approx(expected, rel=0.1), name
            elif name.endswith("bias"):
                assert not parameter.any(), name


@pytest.mark.parametrize("name", ["bert", "gpt", "gpt2", "gpt3", "vit", "dalle", "bart"])
def test_one_batch_overfits(name: str):
    sizes = {"width": 32, "hidden": 64, "heads": 4}
    model: Any = build(CONFIGS[name].model_copy(update=sizes))
    given = given_to(name)
    labels = torch.randint(model(*given).size(-1), model(*given).shape[:-1])
    optimizer, loss = torch.optim.Adam(model.parameters(), lr=5e-3), torch.tensor(torch.inf)
    for _ in range(100):
        loss = F.cross_entropy(model(*given).flatten(0, -2), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.1
