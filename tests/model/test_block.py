"""The block: what goes around a sublayer, where dropout acts, and what a memory adds."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from regard.model.attention import Attention
from regard.model.block import ACTIVATIONS, Block, FeedForward, Gated, PostNorm, PreNorm, Stack
from regard.model.listening import listening
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


def layer_norm(x: torch.Tensor, norm: nn.Module) -> torch.Tensor:
    """g ⊙ (x - μ) / σ + b                                    Ba et al. 2016, equation 3"""
    assert isinstance(norm, nn.LayerNorm)
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


@pytest.mark.parametrize("part", ["inner", "outer"])
def test_a_linear_map_of_ones_own_is_asked(part):
    """As those are who adapt a trained network by what they hang in: it must not be passed by."""

    class Silent(nn.Linear):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            return torch.zeros(*input.shape[:-1], self.out_features)

    feed_forward, x = FeedForward(WIDTH, 10), torch.randn(2, 3, WIDTH)
    nn.init.ones_(feed_forward.outer.bias)
    layer = getattr(feed_forward, part)
    setattr(feed_forward, part, Silent(layer.in_features, layer.out_features))
    torch.testing.assert_close(feed_forward(x), torch.full_like(x, 1.0 if part == "inner" else 0.0))


@pytest.mark.parametrize("part", ["inner", "activation", "outer"])
def test_who_listens_to_a_part_in_training_hears_it(part):
    feed_forward, heard = FeedForward(WIDTH, 10), []
    x = torch.randn(2, 3, WIDTH)
    feed_forward(x)
    with listening([(part, getattr(feed_forward, part))], lambda name, *_: heard.append(name)):
        feed_forward(x)
    assert heard == [part]


def test_a_gated_feed_forward_is_llama_s():
    """SwiGLU, here without biases as Llama has it                                     Shazeer 2020, equation 6"""
    from transformers.models.llama.configuration_llama import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaMLP

    gated, x = Gated(WIDTH, 10), torch.randn(2, 3, WIDTH)
    reference = LlamaMLP(LlamaConfig(hidden_size=WIDTH, num_attention_heads=2, intermediate_size=10))
    names = {"gate_proj": gated.gate, "up_proj": gated.inner, "down_proj": gated.outer}
    reference.load_state_dict({f"{name}.weight": layer.weight for name, layer in names.items()})
    torch.testing.assert_close(gated(x), reference(x))


def test_a_gated_feed_forward_has_its_biases():
    gated, x = Gated(WIDTH, 10, "gelu"), torch.randn(2, 3, WIDTH)
    stir(gated)
    by_hand = gated.outer(F.gelu(x @ gated.gate.weight.T + gated.gate.bias) * gated.inner(x))
    torch.testing.assert_close(gated(x), by_hand)


def test_the_two_gelus():
    """x Φ(x), and the approximation by a tanh that its authors give             Hendrycks and Gimpel 2016, section 2"""
    x = torch.linspace(-6, 6, 101, dtype=torch.float64)
    torch.testing.assert_close(ACTIVATIONS["gelu"]()(x), x * torch.special.ndtr(x))
    by_hand = x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))
    torch.testing.assert_close(ACTIVATIONS["gelu-tanh"]()(x), by_hand)
    assert 0 < (ACTIVATIONS["gelu"]()(x) - by_hand).abs().max() < 1e-3


@pytest.mark.parametrize("kind", [PostNorm, PreNorm])
def test_a_norm_may_be_rms_norm(kind: type[PostNorm] | type[PreNorm]):
    """x / √(mean x² + ε) · g, as Llama has it                                    Zhang and Sennrich 2019, equation 4"""
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    around, x = kind(WIDTH, norm=lambda width: nn.RMSNorm(width, eps=0.1)), torch.randn(2, 3, WIDTH)
    stir(around)
    reference = LlamaRMSNorm(WIDTH, eps=0.1)
    reference.load_state_dict(around.norm.state_dict())
    expected = reference(x + x.sin()) if kind is PostNorm else x + reference(x).sin()
    torch.testing.assert_close(around(x, torch.sin), expected)


def test_a_stack_takes_one_mask_for_all_blocks_or_one_for_each():
    blocks, x = [make() for _ in range(3)], torch.randn(2, 4, WIDTH)
    masks = [causal(4), torch.ones(4, 4, dtype=torch.bool), torch.eye(4, dtype=torch.bool)]
    y = x
    for block, mask in zip(blocks, masks, strict=True):
        y = block(y, mask)
    stack = Stack(blocks)
    torch.testing.assert_close(stack(x, masks), y)
    torch.testing.assert_close(stack(x, causal(4)), stack(x, [causal(4)] * 3))


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
    y = layer_norm(x + block.self_attention(x, mask=mask), block.around_self.norm)
    y = layer_norm(y + block.cross_attention(y, memory, memory_mask), block.around_cross.norm)
    y = layer_norm(y + block.feed_forward(y), block.around_feed.norm)
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
