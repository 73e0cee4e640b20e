"""A trace is filled from outside: it shows what is used, changes nothing, and leaves nothing behind."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch import nn

from regard.errors import ConfigError, RegardError
from regard.insight.change import switched_off
from regard.insight.trace import record, to_json
from regard.model.attention import Attention
from regard.model.mask import causal, padding


def batch(run, lengths=(7, 4)):
    """source (2, 7) with padding, target (2, 5), readable."""
    source = torch.randint(4, 300, (len(lengths), max(lengths)))
    readable = padding(torch.tensor(lengths), max(lengths))[:, 0, 0]
    return source, torch.randint(4, 300, (len(lengths), 5)), readable


def attentions(model):
    return {name: module for name, module in model.named_modules() if isinstance(module, Attention)}


def hooks(model):
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_forward_hooks_with_kwargs", "_forward_pre_hooks_with_kwargs")
    return sum(len(getattr(module, kind)) for module in model.modules() for kind in kinds)


@torch.no_grad()
def test_the_weights_reproduce_the_output_of_each_attention(run):
    """weights @ values → output projection is what the fused kernel gave, in every one of the model's attentions."""
    model, given = run.model, {}
    spies = [
        module.register_forward_hook(
            lambda m, args, named, out, name=name: given.update({name: (args, named, out)}), with_kwargs=True
        )
        for name, module in attentions(model).items()
    ]
    with record(model) as trace:
        model(*batch(run))
    for spy in spies:
        spy.remove()
    assert list(trace.weights) == list(given)
    assert len(given) == 2 + 2 * 4
    for name, (args, _, out) in given.items():
        attention = attentions(model)[name]
        x, memory = args[0], args[1] if len(args) > 1 else None
        _, _, values = attention.project(x, memory)
        by_hand = attention.output((torch.from_numpy(trace.weights[name]) @ values).transpose(1, 2).flatten(2))
        torch.testing.assert_close(out, by_hand)


@torch.no_grad()
def test_tracing_changes_no_logit(run):
    given = batch(run)
    plain = run.model(*given)
    with record(run.model):
        traced = run.model(*given)
    assert torch.equal(plain, traced), "to the last bit"


def test_tracing_changes_no_gradient_and_no_draw_of_dropout(run):
    given, gradients = batch(run), []
    for watched in (False, True):
        run.model.train().zero_grad()
        torch.manual_seed(3)
        if watched:
            with record(run.model):
                run.model(*given).sum().backward()
        else:
            run.model(*given).sum().backward()
        gradients.append([parameter.grad.clone() for parameter in run.model.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))


def test_no_hook_stays_behind(run):
    with record(run.model):
        assert hooks(run.model)
    assert not hooks(run.model)


def test_no_hook_stays_behind_after_an_error(run):
    with (
        pytest.raises(ZeroDivisionError),
        record(run.model),
        switched_off(run.model, "encoder.blocks.0.self_attention", 1),
    ):
        raise ZeroDivisionError
    assert not hooks(run.model)


@torch.no_grad()
def test_weights_are_positive_sum_to_one_and_keep_to_the_masks(run):
    with record(run.model) as trace:
        run.model(*batch(run, lengths=(7, 4)))
    for name, weights in trace.weights.items():
        assert (weights >= 0).all()
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5, err_msg=name)
    assert trace.weights["decoder.blocks.3.cross_attention"].shape == (2, 3, 5, 7)
    assert not trace.weights["encoder.blocks.1.self_attention"][1, ..., 4:].any(), "the second sentence has 4 tokens"
    assert not np.triu(trace.weights["decoder.blocks.0.self_attention"], 1).any(), "no step sees what comes after it"


@torch.no_grad()
def test_any_model_with_attention_can_be_recorded():
    """No family is known to record: here, one causal attention in a sequence of layers."""

    class Tiny(nn.Module):
        def __init__(self):
            super().__init__()
            self.look = Attention(width=6, heads=2)

        def forward(self, x):
            return self.look(x=x, mask=causal(x.size(1)))

    with record(Tiny()) as trace:
        Tiny()(torch.randn(1, 3, 6))
    assert not trace.weights, "another model's pass is not recorded"
    model = Tiny()
    with record(model) as trace:
        model(torch.randn(1, 3, 6))
    assert {name: weights.shape for name, weights in trace.weights.items()} == {"look": (1, 2, 3, 3)}
    assert trace.kinds == ()


@torch.no_grad()
def test_a_pass_with_a_cache_is_refused(run):
    source, target, readable = batch(run)
    memory = run.model.encode(source, readable)
    with pytest.raises(RegardError, match="was called with a cache") as caught, record(run.model):
        run.model.decode(target[:, :1], memory, readable, run.model.cache())
    assert str(caught.value) == (
        "decoder.blocks.0.self_attention was called with a cache: record a pass over the whole sequence, without one"
    )
    assert not hooks(run.model)


@torch.no_grad()
def test_maps_are_stacked_layer_by_layer_for_a_single_sentence(run):
    source, target, readable = batch(run)
    with record(run.model) as trace:
        run.model(source[:1], target[:1], readable[:1])
    assert trace.encoder.shape == (2, 3, 7, 7)
    assert trace.decoder.shape == (4, 3, 5, 5)
    assert trace.cross.shape == (4, 3, 5, 7)
    np.testing.assert_array_equal(trace.cross[2, 1], trace.weights["decoder.blocks.2.cross_attention"][0, 1])
    with record(run.model) as trace:
        run.model(source, target, readable)
    with pytest.raises(RegardError, match="this trace is of 2 sentences at once: record one sentence to look at it"):
        _ = trace.encoder
    with pytest.raises(ConfigError, match="attention 'self' is unknown: choose from encoder, decoder, cross"):
        trace.maps("self")


@torch.no_grad()
@pytest.mark.parametrize("off", [(0,), (2,), (0, 2), (0, 1, 2)])
def test_a_head_switched_off_is_its_slice_zeroed_before_the_output_matrix(off):
    attention = Attention(width=12, heads=3)
    x, memory = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    _, _, values = attention.project(x, memory)
    heads = attention.weights(x, memory) @ values  # (B, H, T, d)
    heads[:, list(off)] = 0
    by_hand = attention.output(heads.transpose(1, 2).flatten(2))
    with switched_off(attention, "", *off):
        torch.testing.assert_close(attention(x, memory), by_hand)
    assert not torch.allclose(attention(x, memory), by_hand), "back on"


@torch.no_grad()
def test_a_head_that_the_output_matrix_ignores_can_be_switched_off_unnoticed(run):
    given, name = batch(run), "decoder.blocks.1.cross_attention"
    plain = run.model(*given)
    with switched_off(run.model, name, 1):
        assert not torch.allclose(run.model(*given), plain)
    attentions(run.model)[name].output.weight[:, 4:8] = 0  # what head 1 of 3 would bring in, 4 features wide
    plain = run.model(*given)
    with switched_off(run.model, name, 1):
        torch.testing.assert_close(run.model(*given), plain)


def test_switching_off_what_is_not_there_says_what_is(run):
    with pytest.raises(ConfigError) as caught, switched_off(run.model, "encoder.block.0.self_attention", 0):
        pass
    assert str(caught.value) == (
        "the model has no attention 'encoder.block.0.self_attention'; did you mean encoder.blocks.0.self_attention?"
    )
    with pytest.raises(ConfigError) as caught, switched_off(run.model, "encoder.blocks.0.self_attention", 3):
        pass
    assert str(caught.value) == "encoder.blocks.0.self_attention has no head 3: its heads are 0 to 2"


@torch.no_grad()
def test_json_holds_the_names_shapes_and_numbers(run):
    source, target, readable = batch(run, lengths=(7,))
    with record(run.model) as trace:
        run.model(source, target, readable)
    read = json.loads(to_json(trace))
    assert list(read["weights"]) == list(trace.weights)
    for name, weights in read["weights"].items():
        assert weights["shape"] == list(trace.weights[name].shape[1:])
        np.testing.assert_allclose(weights["values"], trace.weights[name][0], atol=1e-6)
