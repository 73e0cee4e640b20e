"""The translator: nothing leaks, padding and caching change nothing, what is tied is one, and it learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config import Settings, TranslatorConfig
from regard.errors import ConfigError
from regard.model import build, parameters
from regard.model.dropout import Dropout
from regard.model.position import sinusoids
from regard.model.translator import Translator
from regard.run import build_as_saved

SOURCES, TARGETS, WIDTH = 29, 31, 18
SIZES: dict[str, Any] = {
    "width": WIDTH,
    "hidden": 22,
    "heads": 3,
    "layers": 2,
    "decoder_layers": 4,
    "max_positions": 40,
}
NORMS = pytest.mark.parametrize("norm", ["post", "pre"])
POSITIONS = pytest.mark.parametrize("position", ["halves", "interleaved", "learned", "none"])


def make(**settings: Any) -> Translator:
    """A model whose every parameter is stirred, so that no zero bias and no norm of ones can hide a mistake."""
    targets = TARGETS if settings.get("tied", "all") != "all" else SOURCES
    config = TranslatorConfig(source_vocabulary=SOURCES, target_vocabulary=targets, **SIZES | settings)
    model = build(config)
    assert isinstance(model, Translator)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model.eval()


def ids(*shape: int) -> Tensor:
    return torch.randint(3, SOURCES, shape)


def all_readable(source: Tensor) -> Tensor:
    return torch.ones_like(source, dtype=torch.bool)


@NORMS
@POSITIONS
@pytest.mark.parametrize("steps", [[1] * 8, [3, 1, 4], [8]], ids=["one by one", "several at once", "all at once"])
def test_cached_is_uncached(position: str, norm: str, steps: list[int]):
    model, source, target = make(position=position, norm=norm), ids(5, 7), ids(5, 8)
    readable = torch.arange(7) < torch.tensor([7, 3, 1, 5, 6]).unsqueeze(1)
    with torch.inference_mode():
        memory, cache = model.encode(source, readable), model.cache()
        parts = [model.logits(model.decode(part, memory, readable, cache)) for part in target.split(steps, dim=1)]
        torch.testing.assert_close(torch.cat(parts, dim=1), model(source, target, readable), atol=1e-5, rtol=1e-5)
    assert cache.length == 8


def test_a_cache_goes_where_its_hypotheses_go():
    """Rows that are dropped, swapped and doubled, as beam search does, decode on as if they had always stood there."""
    model, source, target = make(), ids(3, 7), ids(3, 6)
    readable = torch.arange(7) < torch.tensor([7, 3, 5]).unsqueeze(1)
    rows = torch.tensor([2, 0, 2, 2])
    with torch.inference_mode():
        memory, cache = model.encode(source, readable), model.cache()
        model.decode(target[:, :4], memory, readable, cache)
        cache.select_own(rows)
        cache.select_memory(rows)
        after = ids(4, 2)
        cached = model.logits(model.decode(after, memory[rows], readable[rows], cache))
        whole = model(source[rows], torch.cat([target[rows, :4], after], dim=1), readable[rows])
    torch.testing.assert_close(cached, whole[:, 4:], atol=1e-5, rtol=1e-5)


@NORMS
@POSITIONS
def test_padding_changes_nothing(position: str, norm: str):
    """A sentence alone has the logits that it has in a batch, whatever ids its padding holds."""
    model = make(position=position, norm=norm)
    lengths, target_lengths = [7, 3, 1, 5], [4, 6, 2, 1]
    source, target = ids(4, 7), ids(4, 6)
    readable = torch.arange(7) < torch.tensor(lengths).unsqueeze(1)
    with torch.no_grad():
        together = model(source, target, readable)
        for i, (s, t) in enumerate(zip(lengths, target_lengths, strict=True)):
            alone = model(source[i : i + 1, :s], target[i : i + 1, :t], readable[i : i + 1, :s])
            torch.testing.assert_close(together[i : i + 1, :t], alone, atol=1e-5, rtol=1e-5)


@NORMS
@POSITIONS
def test_the_future_does_not_leak(position: str, norm: str):
    """Another token at t: logits before t stay as they are, those at t change."""
    model, source, target = make(position=position, norm=norm), ids(5, 7), ids(5, 8)
    with torch.no_grad():
        before = model(source, target, all_readable(source))
        for t in range(8):
            changed = target.clone()
            changed[:, t] = (target[:, t] + 1) % SOURCES
            after = model(source, changed, all_readable(source))
            torch.testing.assert_close(after[:, :t], before[:, :t], atol=1e-6, rtol=0)
            assert (after[:, t] - before[:, t]).abs().amax(-1).gt(1e-3).all()


@NORMS
def test_every_source_token_matters(norm: str):
    model, source, target = make(norm=norm), ids(5, 7), ids(5, 8)
    with torch.no_grad():
        before = model(source, target, all_readable(source))
        for s in range(7):
            changed = source.clone()
            changed[:, s] = (source[:, s] + 1) % SOURCES
            after = model(changed, target, all_readable(source))
            assert (after - before).abs().amax(-1).gt(1e-4).all()


@pytest.mark.parametrize(("position", "ordered"), [("halves", True), ("learned", True), ("none", False)])
def test_order_is_known_by_positions_alone(position: str, ordered: bool):
    model, source, target = make(position=position), ids(5, 7), ids(5, 8)
    with torch.no_grad():
        forwards = model(source, target, all_readable(source))
        backwards = model(source.flip(1), target, all_readable(source))
    assert torch.allclose(forwards, backwards, atol=1e-5) is not ordered


@NORMS
@POSITIONS
@pytest.mark.parametrize("tied", ["all", "target", "none"])
def test_save_load_same_logits(tmp_path: Path, position: str, norm: str, tied: str):
    model = make(position=position, norm=norm, tied=tied)
    path = tmp_path / "model.safetensors"
    parameters.save(model, path)
    settings = Settings.model_validate({"model": model.config, "tokenizer": {"joint": tied == "all"}})
    loaded = build_as_saved(settings, path).eval()
    source, target = ids(5, 7), ids(5, 8)
    with torch.no_grad():
        assert loaded(source, target, all_readable(source)).equal(model(source, target, all_readable(source)))


def count(model: Translator) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_tied_embeddings_share_one_matrix():
    every, target, none = make(tied="all"), make(tied="target"), make(tied="none")
    assert every.source_embedding.table.weight is every.target_embedding.table.weight is every.output.table.weight
    assert target.source_embedding.table.weight is not target.target_embedding.table.weight
    assert target.target_embedding.table.weight is target.output.table.weight
    assert len({id(part.table.weight) for part in (none.source_embedding, none.target_embedding, none.output)}) == 3
    within = count(every) - SOURCES * WIDTH  # what is not embedding
    assert count(target) == within + (SOURCES + TARGETS) * WIDTH
    assert count(none) == within + (SOURCES + 2 * TARGETS) * WIDTH


def test_tied_embeddings_learn_as_one():
    model, source, target = make(tied="all"), ids(5, 7), ids(5, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(source, target, all_readable(source)).square().mean().backward()
    optimizer.step()
    assert model.source_embedding.table.weight.equal(model.output.table.weight)
    assert model.source_embedding.table.weight.equal(model.target_embedding.table.weight)


def test_the_number_of_parameters_is_what_the_equations_say():
    D, H = WIDTH, 22
    attention, feed_forward, norm = 4 * (D * D + D), D * H + H + H * D + D, 2 * D
    encoder = 2 * (attention + feed_forward + 2 * norm)
    decoder = 4 * (2 * attention + feed_forward + 3 * norm)
    assert count(make(norm="post")) == SOURCES * D + encoder + decoder
    assert count(make(norm="pre")) == SOURCES * D + encoder + decoder + 2 * norm, "one more norm ends each stack"
    assert count(make(position="learned")) == SOURCES * D + encoder + decoder + 2 * 40 * D


@NORMS
@pytest.mark.parametrize("dropped", ["dropout", "attention_dropout"])
def test_dropout_acts_in_training_alone(norm: str, dropped: str):
    model, source, target = make(norm=norm, **{"dropout": 0.0, dropped: 0.3}), ids(5, 7), ids(5, 8)
    still = make(norm=norm, dropout=0.0)
    still.load_state_dict(model.state_dict())
    readable = all_readable(source)
    with torch.no_grad():
        assert model.eval()(source, target, readable).equal(still(source, target, readable))
        once, again = model.train()(source, target, readable), model(source, target, readable)
    assert not torch.allclose(once, again)


def test_without_dropout_training_is_evaluation():
    model, source, target = make(dropout=0.0), ids(5, 7), ids(5, 8)
    with torch.no_grad():
        evaluated = model.eval()(source, target, all_readable(source))
        trained = model.train()(source, target, all_readable(source))
    torch.testing.assert_close(trained, evaluated)


@pytest.mark.parametrize("side", ["source", "target"])
def test_dropout_acts_on_the_sum_of_embedding_and_position(side: str):
    """Section 5.4 of the paper: "to the sums of the embeddings and the positional encodings in both stacks"."""
    model = make(dropout=0.25).train()
    tokens = ids(20, 30)
    entered: list[Tensor] = []
    stack = model.encoder if side == "source" else model.decoder
    handle = stack.register_forward_pre_hook(lambda module, inputs: entered.append(inputs[0]))
    with torch.no_grad():
        if side == "source":
            model.encode(tokens, all_readable(tokens))
            sums = model.source_position(model.source_embedding(tokens))
        else:
            model.decode(tokens, torch.randn(20, 7, WIDTH), torch.ones(20, 7, dtype=torch.bool))
            sums = model.target_position(model.target_embedding(tokens))
    handle.remove()
    (x,) = entered
    torch.testing.assert_close(x, torch.where(x == 0, 0.0, sums / 0.75))
    assert 0.2 < (x == 0).float().mean() < 0.3


@NORMS
def test_every_sublayer_is_dropped_out_alike(norm: str):
    """One after each sublayer (two in an encoder's block, three in a decoder's) and one on the embedding sums.

    The activations within the feed-forwards have a share of their own, and so have the weights of every attention."""
    model = make(norm=norm, dropout=0.3, activation_dropout=0.2, attention_dropout=0.1)
    shares = [module.p for module in model.modules() if isinstance(module, Dropout)]
    assert shares.count(0.3) == 2 * 2 + 4 * 3 + 1
    assert shares.count(0.2) == 2 + 4
    assert shares.count(0.1) == 2 + 4 * 2
    assert len(shares) == shares.count(0.3) + shares.count(0.2) + shares.count(0.1)


def test_a_scaled_start_makes_what_sublayers_add_smaller_by_the_depth_of_their_stack():
    sizes: dict[str, Any] = {"source_vocabulary": SOURCES, "target_vocabulary": SOURCES, **SIZES}
    torch.manual_seed(5)
    plain = dict(build(TranslatorConfig(**sizes)).named_parameters())
    torch.manual_seed(5)
    for name, parameter in build(TranslatorConfig(**sizes, initial="scaled")).named_parameters():
        adds = name.endswith(("output.weight", "outer.weight"))
        layers = 2 if name.startswith("encoder") else 4
        torch.testing.assert_close(parameter, plain[name] / (2 * layers) ** 0.5 if adds else plain[name])


@pytest.mark.parametrize("layout", ["halves", "interleaved"])
def test_the_base_of_the_positions_can_be_set(layout: str):
    model, nothing = make(position=layout, position_base=100.0), torch.zeros(1, 5, WIDTH)
    expected = sinusoids(torch.arange(5), WIDTH, base=100.0, layout=layout)
    torch.testing.assert_close(model.source_position(nothing)[0], expected)
    torch.testing.assert_close(model.target_position(nothing)[0], expected)


@NORMS
def test_one_batch_overfits(norm: Literal["post", "pre"]):
    sizes: dict[str, Any] = {"source_vocabulary": 29, "target_vocabulary": 29, "width": 32, "hidden": 64, "layers": 2}
    model = build(TranslatorConfig(**sizes, norm=norm, dropout=0.0))
    source, target, labels = ids(5, 7), ids(5, 8), ids(5, 8)
    readable = torch.arange(7) < torch.tensor([7, 3, 2, 5, 6]).unsqueeze(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss = torch.tensor(torch.inf)
    for _ in range(100):
        loss = F.cross_entropy(model(source, target, readable).flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.05


def test_an_empty_source_is_no_poison():
    """A sentence of nothing but padding has no memory to look at; its neighbours must not feel it."""
    model, source, target = make(), ids(3, 7), ids(3, 5)
    readable = torch.arange(7) < torch.tensor([7, 0, 4]).unsqueeze(1)
    logits = model(source, target, readable)
    assert logits.isfinite().all()
    logits.square().mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_learned_positions_end_where_the_table_ends():
    model, source = make(position="learned"), ids(2, 41)
    with pytest.raises(ConfigError) as caught:
        model.encode(source, all_readable(source))
    assert str(caught.value) == (
        "a sequence of 41 tokens does not fit model.max_positions=40: shorten it, or train with more positions"
    )


def test_a_new_model_starts_about_as_unsure_as_guessing():
    config = TranslatorConfig(source_vocabulary=500, target_vocabulary=500, dropout=0.0)
    model = build(config)
    source, target, labels = (torch.randint(500, (20, 10)) for _ in range(3))
    with torch.no_grad():
        loss = F.cross_entropy(model(source, target, all_readable(source)).flatten(0, 1), labels.flatten())
    assert loss < torch.tensor(500.0).log() + 1
