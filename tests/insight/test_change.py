"""A model changed from outside, against the same change made by hand; and nothing stays behind."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import pytest
import torch
from torch import nn

from regard.errors import RegardError
from regard.insight.change import switched_off, without_mask, without_positions
from regard.insight.trace import record
from regard.model.position import Unordered


def batch(run):
    source = torch.randint(5, 60, (2, 7))
    return source, torch.randint(5, 60, (2, 5)), torch.ones_like(source, dtype=torch.bool)


def hooks(model: nn.Module) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


@torch.no_grad()
def test_without_positions_is_a_model_that_was_built_without_them(run):
    given = batch(run)
    plain = run.model(*given)
    with without_positions(run.model):
        unordered = run.model(*given)
        shuffled = run.model(given[0][:, [3, 1, 0, 2, 6, 5, 4]], *given[1:])
    run.model.source_position = run.model.target_position = Unordered()
    torch.testing.assert_close(unordered, run.model(*given))
    torch.testing.assert_close(unordered, shuffled)  # a bag of words has no order
    assert not torch.allclose(unordered, plain)


@torch.no_grad()
def test_without_the_mask_the_decoder_looks_ahead(run):
    source, target, readable = batch(run)
    memory = run.model.encode(source, readable)
    with without_mask(run.model), record(run.model) as trace:
        seeing = run.model(source, target, readable)
    x = run.model.target_position(run.model.target_embedding(target))
    by_hand = run.model.decoder(x, None, memory, readable[:, None, None, :])
    torch.testing.assert_close(seeing, run.model.logits(by_hand))
    assert np.triu(trace.weights["decoder.blocks.0.self_attention"], 1).any(), "and what is recorded says so"
    other = target.clone()
    other[:, -1] += 1
    assert torch.equal(run.model(source, target, readable)[:, :-1], run.model(source, other, readable)[:, :-1])
    with without_mask(run.model):
        assert not torch.allclose(run.model(source, other, readable)[:, 0], seeing[:, 0])


def test_without_the_mask_a_cache_is_refused(run):
    source, target, readable = batch(run)
    with pytest.raises(RegardError) as caught, without_mask(run.model):
        run.model.decode(target[:, :1], run.model.encode(source, readable), readable, run.model.cache())
    assert str(caught.value) == (
        "decoder.blocks.0.self_attention was called with a cache: without a mask, decode without one"
    )
    assert not hooks(run.model)


@torch.no_grad()
def test_changes_add_up_and_nothing_of_them_stays(run):
    given = batch(run)
    plain = run.model(*given)
    for fails in (False, True):
        with ExitStack() as changes:
            if fails:
                changes.enter_context(pytest.raises(ZeroDivisionError))
            changes.enter_context(without_positions(run.model))
            changes.enter_context(without_mask(run.model))
            changes.enter_context(switched_off(run.model, "encoder.blocks.1.self_attention", 0))
            changes.enter_context(switched_off(run.model, "encoder.blocks.1.self_attention", 2))
            once = run.model(*given)
            assert hooks(run.model) == 2 + 4 + 2
            assert not fails or 1 / 0
        assert not hooks(run.model)
        assert torch.equal(run.model(*given), plain)
    both = switched_off(run.model, "encoder.blocks.1.self_attention", 0, 2)
    with without_positions(run.model), without_mask(run.model), both:
        torch.testing.assert_close(run.model(*given), once)
