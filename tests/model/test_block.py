"""The block: what goes around a sublayer, where dropout acts, and what a memory adds."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regard.model.attention import Attention
from regard.model.block import Block, FeedForward, PostNorm, PreNorm, Stack
from regard.model.mask import causal

WIDTH = 6


def stir(module: nn.Module) -> None:
    """Nothing stays zero or one, where a mistake could hide."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, mean=0.1, std=0.5)


def make(around: type[PostNorm] | type[PreNorm] = PostNorm, reads: bool = False) -> Block:
    block = Block(lambda: Attention(WIDTH, 2), FeedForward(WIDTH, 10), lambda: around(WIDTH), reads)
    stir(block)
    return block.eval()


def layer_norm(x: torch.Tensor, norm: nn.LayerNorm) -> torch.Tensor:
    """g ⊙ (x - μ) / σ + b                                    Ba et al. 2016, equation 3"""
    centred = x - x.mean(-1, keepdim=True)
    deviation = (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt()
    return norm.weight * centred / deviation + norm.bias


@pytest.mark.parametrize(("name", "function"), [("relu", lambda x: x.clamp(min=0)), ("gelu", F.gelu)])
def test_feed_forward_is_equation_2(name: str, function):
    feed_forward, x = FeedForward(WIDTH, 10, name), torch.randn(2, 3, WIDTH)
    stir(feed_forward)
    inner, outer = feed_forward.inner, feed_forward.outer
    by_hand = function(x @ inner.weight.T + inner.bias) @ outer.weight.T + outer.bias
    torch.testing.assert_close(feed_forward(x), by_hand)


def test_post_norm_norms_the_sum():
    around, x = PostNorm(WIDTH), torch.randn(2, 3, WIDTH)
    stir(around)
    torch.testing.assert_close(around(x, torch.sin), layer_norm(x + x.sin(), around.norm))


def test_pre_norm_norms_what_the_sublayer_reads():
    around, x = PreNorm(WIDTH), torch.randn(2, 3, WIDTH)
    stir(around)
    torch.testing.assert_close(around(x, torch.sin), x + layer_norm(x, around.norm).sin())


@pytest.mark.parametrize("kind", [PostNorm, PreNorm])
def test_dropout_acts_on_the_sublayer_s_output_before_it_is_added(kind: type[PostNorm] | type[PreNorm]):
    """Section 5.4 of the paper; the residual itself is never dropped."""
    around, x = kind(WIDTH, dropout=0.25), torch.randn(20, 30, WIDTH)
    around.norm = nn.Identity()  # pyright: ignore[reportAttributeAccessIssue]
    torch.testing.assert_close(around.eval()(x, torch.cos), x + x.cos())
    added = around.train()(x, torch.cos) - x
    kept = added.abs() > 1e-6
    torch.testing.assert_close(added[kept], (x.cos() / 0.75)[kept], atol=1e-5, rtol=1e-5)
    assert 0.2 < 1 - kept.float().mean().item() < 0.3


def test_a_post_norm_block_is_three_sublayers_in_the_paper_s_order():
    block, x, memory = make(PostNorm, reads=True), torch.randn(2, 3, WIDTH), torch.randn(2, 4, WIDTH)
    mask, memory_mask = causal(3), torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]]).bool()[:, None, None]
    y = layer_norm(x + block.self_attention(x, mask=mask), block.around_self.norm)  # pyright: ignore
    y = layer_norm(y + block.cross_attention(y, memory, memory_mask), block.around_cross.norm)  # pyright: ignore
    y = layer_norm(y + block.feed_forward(y), block.around_feed.norm)  # pyright: ignore
    torch.testing.assert_close(block(x, mask, memory, memory_mask), y)


def test_a_block_that_reads_no_memory_has_no_parameters_for_it():
    count = {reads: sum(parameter.numel() for parameter in make(reads=reads).parameters()) for reads in (True, False)}
    assert count[True] - count[False] == 4 * WIDTH * WIDTH + 4 * WIDTH + 2 * WIDTH, "an attention and a norm"


@pytest.mark.parametrize("around", [PostNorm, PreNorm])
def test_a_stack_applies_its_blocks_in_turn_and_then_its_norm(around: type[PostNorm] | type[PreNorm]):
    first, second, norm = make(around), make(around), nn.LayerNorm(WIDTH)
    stir(norm)
    x = torch.randn(2, 3, WIDTH)
    torch.testing.assert_close(Stack([first, second])(x), second(first(x)))
    torch.testing.assert_close(Stack([first, second], norm)(x), norm(second(first(x))))


def test_every_block_of_a_stack_reads_the_same_memory():
    first, second = make(reads=True), make(reads=True)
    x, memory = torch.randn(2, 3, WIDTH), torch.randn(2, 4, WIDTH)
    by_hand = second(first(x, memory=memory), memory=memory)
    torch.testing.assert_close(Stack([first, second])(x, memory=memory), by_hand)
