"""Attention against torch's own, its two paths against each other, and the row that may look at nothing."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.errors import ConfigError
from regard.model.attention import Attention, attention_weights
from regard.model.cache import Kept
from regard.model.mask import causal, padding

WIDTH, HEADS = 14, 2


def make(width: int = WIDTH, heads: int = HEADS, dropout: float = 0.0) -> Attention:
    """An attention with nothing in it that is zero or one."""
    attention = Attention(width, heads, dropout)
    for parameter in attention.parameters():
        nn.init.normal_(parameter, std=0.5)
    return attention.eval()


def torch_attention(attention: Attention) -> nn.MultiheadAttention:
    reference = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    names = {
        "in_proj_weight": attention.qkv.weight,
        "in_proj_bias": attention.qkv.bias,
        "out_proj.weight": attention.output.weight,
        "out_proj.bias": attention.output.bias,
    }
    reference.load_state_dict({name: parameter.detach() for name, parameter in names.items()})
    return reference.eval()


def test_self_attention_is_torch_multihead_attention():
    attention, x = make(), torch.randn(3, 4, WIDTH)
    output, weights = torch_attention(attention)(x, x, x, attn_mask=~causal(4), average_attn_weights=False)
    torch.testing.assert_close(attention(x, mask=causal(4)), output)
    torch.testing.assert_close(attention.weights(x, mask=causal(4)), weights)


def test_attention_over_a_memory_is_torch_multihead_attention():
    attention, x, memory = make(), torch.randn(3, 4, WIDTH), torch.randn(3, 5, WIDTH)
    mask = padding(torch.tensor([5, 4, 1]), size=5)  # (B, 1, 1, S)
    output, weights = torch_attention(attention)(
        x, memory, memory, key_padding_mask=~mask[:, 0, 0], average_attn_weights=False
    )
    torch.testing.assert_close(attention(x, memory, mask), output)
    torch.testing.assert_close(attention.weights(x, memory, mask), weights)


def test_without_a_mask_everyone_may_look_at_everyone():
    attention, x, memory = make(), torch.randn(3, 4, WIDTH), torch.randn(3, 5, WIDTH)
    everyone = torch.ones(4, 5, dtype=torch.bool)
    torch.testing.assert_close(attention(x, memory), attention(x, memory, everyone))
    torch.testing.assert_close(attention.weights(x, memory), attention.weights(x, memory, everyone))


def test_the_weights_on_show_are_the_weights_used():
    """The explorer draws Attention.weights, training runs Attention.forward: one computation."""
    attention = make()
    x, memory = torch.randn(3, 4, WIDTH), torch.randn(3, 5, WIDTH)
    mask = padding(torch.tensor([5, 4, 1]), size=5)  # (B, 1, 1, S)
    weights = attention.weights(x, memory, mask)
    _, _, values = attention.project(x, memory)
    by_hand = attention.output((weights @ values).transpose(1, 2).flatten(2))
    torch.testing.assert_close(attention(x, memory, mask), by_hand)
    assert not weights[1, ..., 4:].any(), "the second sentence has 4 tokens; nothing may look past them"
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, HEADS, 4))


def visible(attention: Attention, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
    """What forward computes, through the weights that are shown."""
    q, k, v = attention.project(x, memory)
    return attention.output((attention_weights(q, k, mask) @ v).transpose(1, 2).flatten(2))


def fused(attention: Attention, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # torch may choose the other; this one is what a CPU trains with
        return attention(x, memory, mask)


def unfused(attention: Attention, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
    with sdpa_kernel(SDPBackend.MATH):  # what torch falls back to, as under attention dropout
        return attention(x, memory, mask)


@pytest.mark.parametrize("path", [fused, unfused, visible])
def test_who_may_look_at_nothing_takes_nothing_and_breaks_nothing(path):
    """A padded batch may hold an empty sentence; not a number would spread from it to every parameter."""
    attention = make()
    x, memory = torch.randn(3, 4, WIDTH, requires_grad=True), torch.randn(3, 5, WIDTH, requires_grad=True)
    mask = padding(torch.tensor([5, 0, 2]), size=5).repeat(1, 1, 4, 1)  # (B, 1, T, S)
    mask[2, :, 3] = False  # one position of the last sentence sees nothing either
    output = path(attention, x, memory, mask)
    torch.testing.assert_close(output[1], attention.output.bias.expand(4, WIDTH))
    torch.testing.assert_close(output[2, 3], attention.output.bias)
    output.square().sum().backward()
    for name, tensor in [("x", x), ("memory", memory), *attention.named_parameters()]:
        assert tensor.grad is not None, name
        assert tensor.grad.isfinite().all(), name
    assert memory.grad is not None
    assert not memory.grad[1].any(), "what nobody looked at learns nothing"


def test_both_paths_learn_alike():
    attention = make().double()
    x, memory = torch.randn(3, 4, WIDTH, dtype=torch.float64), torch.randn(3, 5, WIDTH, dtype=torch.float64)
    mask = padding(torch.tensor([5, 0, 2]), size=5)
    parameters = list(attention.parameters())
    used = torch.autograd.grad(attention(x, memory, mask).square().sum(), parameters)
    shown = torch.autograd.grad(visible(attention, x, memory, mask).square().sum(), parameters)
    torch.testing.assert_close(used, shown)


def test_weights_of_a_scale_of_ones_own():
    """The lectures' column form has no 1 / √d."""
    q, k = torch.randn(4, 6), torch.randn(5, 6)
    torch.testing.assert_close(attention_weights(q, k, scale=1.0), (q @ k.T).softmax(-1))
    torch.testing.assert_close(attention_weights(q, k), (q @ k.T / 6**0.5).softmax(-1))


def test_what_is_kept_lengthens_self_attention():
    attention, x = make(), torch.randn(3, 7, WIDTH)
    kept = Kept()
    parts = [attention(x[:, :4], mask=causal(4), kept=kept), attention(x[:, 4:], mask=causal(3, past=4), kept=kept)]
    torch.testing.assert_close(torch.cat(parts, dim=1), attention(x, mask=causal(7)))


def test_a_memory_is_looked_up_once():
    """Its keys and values are kept: what a later step passes as the memory is not projected again."""
    attention, x, memory = make(), torch.randn(3, 4, WIDTH), torch.randn(3, 5, WIDTH)
    kept = Kept()
    first = attention(x, memory, kept=kept)
    torch.testing.assert_close(first, attention(x, memory))
    torch.testing.assert_close(attention(x, torch.zeros_like(memory), kept=kept), first)


def test_attention_dropout_drops_weights_in_training_alone():
    """Each weight is dropped, or grows by 1 / (1 - p); what is shown is not dropped."""
    size = 16
    attention = Attention(width=size, heads=1, dropout=0.25)
    with torch.no_grad():  # values and output are the identity, so that the output is the weights
        attention.qkv.weight[2 * size :] = torch.eye(size)
        attention.output.weight.copy_(torch.eye(size))
    x, memory = torch.randn(3, 20, size), torch.eye(size).expand(3, size, size)
    weights = attention.weights(x, memory)[:, 0]  # (B, T, S)
    torch.testing.assert_close(attention.eval()(x, memory), weights)
    dropped = attention.train()(x, memory)
    torch.testing.assert_close(dropped, torch.where(dropped == 0, 0.0, weights / 0.75))
    assert 0.2 < (dropped == 0).float().mean() < 0.3
    torch.testing.assert_close(attention.weights(x, memory)[:, 0], weights)


def test_no_attention_dropout_unless_asked_for():
    attention, x = Attention(WIDTH, HEADS).train(), torch.randn(3, 4, WIDTH)
    assert attention(x).equal(attention(x))


def test_queries_keys_and_values_start_as_if_each_matrix_stood_alone():
    """Glorot's bound is that of a (D, D) matrix, not of the (3D, D) one that holds the three."""
    attention = Attention(width=64, heads=2)
    bound = (6 / (64 + 64)) ** 0.5
    for matrix in [*attention.qkv.weight.chunk(3), attention.output.weight]:
        assert 0.95 * bound < matrix.abs().max() <= bound
    assert not attention.qkv.bias.any()


def test_heads_look_each_for_itself():
    """Changing one head's slice of the queries changes that head's weights and no other's."""
    attention, x = make(), torch.randn(3, 4, WIDTH)
    before = attention.weights(x)
    with torch.no_grad():
        attention.qkv.weight[: WIDTH // HEADS] += 1
    after = attention.weights(x)
    assert before[:, 1].equal(after[:, 1])
    assert not torch.allclose(before[:, 0], after[:, 0])


def test_the_fused_kernel_is_equation_1():
    q, k, v = torch.randn(3, 2, 4, 7), torch.randn(3, 2, 5, 7), torch.randn(3, 2, 5, 7)
    torch.testing.assert_close(F.scaled_dot_product_attention(q, k, v), attention_weights(q, k) @ v)


def test_a_width_that_does_not_split_into_heads_is_refused():
    with pytest.raises(ConfigError) as caught:
        Attention(width=14, heads=4)
    assert str(caught.value) == "width=14 does not split into heads=4: make width a multiple of heads"
