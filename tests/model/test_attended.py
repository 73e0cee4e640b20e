"""Attention in one piece is the attention that is written out; where it cannot be in one piece, it is not."""

import shutil

import pytest
import torch
from torch import Tensor
from torch.nn.utils import prune

from regard import compiled
from regard.compiled import Kernel
from regard.model import attended as module
from regard.model import kernel, matmul
from regard.model.attention import Attention
from regard.model.cache import Kept
from regard.model.mask import causal, padding
from regard.model.matmul import Linear
from regard.model.order import Rotary

COMPILER = next(filter(None, map(shutil.which, compiled.COMPILERS)), None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")

HEADS = 2
B, T, S = 7, 11, 13  # more than matmul.FEW tokens on either side


@pytest.fixture
def width(multiplying) -> int:
    """Of states that both kernels are for."""
    heads = kernel.kernel().library
    assert heads is not None, kernel.kernel().why
    return 2 * HEADS * heads.lanes()


def whole(output: Tensor) -> bool:
    """Whether it was made in one piece."""
    return type(output.grad_fn).__name__ == "AttendedBackward"


def learned(attention: Attention, x: Tensor, memory: Tensor | None, mask: Tensor | None) -> list[Tensor]:
    """The output, and the gradients of all that it came of, by a gradient that is the same each time."""
    output = attention(x, memory, mask)
    torch.manual_seed(3)
    given = [x, *([] if memory is None else [memory]), *attention.parameters()]
    return [output, *torch.autograd.grad(output, given, torch.randn_like(output))]


MASKS = {
    "none": None,
    "padding": padding(torch.tensor([13, 4, 1, 9, 2, 13, 6]), size=S),
    "each query's": torch.rand(B, 1, T, S, generator=torch.Generator().manual_seed(0)) < 0.6,
}


@pytest.mark.parametrize("mask", MASKS)
def test_over_a_memory_it_is_the_attention_written_out(width, mask, monkeypatch):
    attention = Attention(width, HEADS)
    x, memory = torch.randn(B, T, width, requires_grad=True), torch.randn(B, S, width, requires_grad=True)
    own = learned(attention, x, memory, MASKS[mask])
    assert whole(own[0])
    monkeypatch.setattr(matmul, "kernel", lambda: Kernel(None, "torch's"))
    monkeypatch.setattr(kernel, "kernel", lambda: Kernel(None, "torch's"))
    others = learned(attention, x, memory, MASKS[mask])
    assert not whole(others[0])
    for one, other in zip(own, others, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mask", [None, causal(T)])
@pytest.mark.parametrize("order", ["sentences first", "tokens first", "features apart"])
def test_over_itself_it_is_the_attention_written_out_wherever_states_lie(width, mask, order, monkeypatch):
    attention = Attention(width, HEADS)
    x = {
        "sentences first": torch.randn(B, T, width),
        "tokens first": torch.randn(T, B, width).transpose(0, 1),
        "features apart": torch.randn(B, width, T).mT,
    }[order].requires_grad_()
    own = learned(attention, x, None, mask)
    assert whole(own[0])
    monkeypatch.setattr(module, "kernels_for", lambda *given: None)
    monkeypatch.setattr(matmul, "kernel", lambda: Kernel(None, "torch's"))
    for one, other in zip(own, learned(attention, x, None, mask), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_what_looks_at_nothing_takes_nothing(width):
    attention = Attention(width, HEADS)
    x, memory = torch.randn(B, T, width), torch.randn(B, S, width, requires_grad=True)
    mask = torch.ones(B, 1, T, S, dtype=torch.bool)
    mask[2], mask[4, :, 3] = False, False
    output, *gradients = learned(attention, x.requires_grad_(), memory, mask)
    assert whole(output)
    torch.testing.assert_close(output[2], attention.output.bias.expand(T, width))
    torch.testing.assert_close(output[4, 3], attention.output.bias)
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert not gradients[1][2].any()


def test_it_is_apart_where_something_happens_between_the_pieces(width):
    """Weights dropped, keys turned or kept; other numbers; several threads; few, long or odd states; no training."""
    x, memory = torch.randn(B, T, width), torch.randn(B, S, width)
    attention = Attention(width, HEADS)
    assert whole(attention(x))
    assert whole(attention(x, memory))
    assert not whole(Attention(width, HEADS, dropout=0.1)(x))
    assert not whole(Attention(width, HEADS, order=Rotary(width // HEADS))(x))
    assert not whole(attention(x, kept=Kept()))
    assert not whole(attention(x[:, :9]))  # 63 tokens
    assert not whole(attention(x, memory[:, :9]))
    assert not whole(attention(torch.randn(1, 129, width)))
    assert not whole(attention(x, mask=torch.zeros(T, T)))  # a bias
    assert not whole(Attention(3 * HEADS, HEADS)(torch.randn(B, T, 3 * HEADS)))
    assert not whole(attention.double()(x.double()))
    attention.float()
    with torch.autocast("cpu", torch.bfloat16):
        assert not whole(attention(x))
    torch.set_num_threads(2)
    assert not whole(attention(x))
    torch.set_num_threads(1)
    assert not whole(attention.eval()(x))


def test_states_that_do_not_fit_are_refused_as_ever(width):
    attention = Attention(width, HEADS)
    for x, memory in (
        (torch.randn(B, T, width + 1), None),
        (torch.randn(B, T, width), torch.randn(B, S, width + 1)),
        (torch.randn(B, T, width), torch.randn(B - 2, S, width)),
    ):
        with pytest.raises(RuntimeError):
            attention(x, memory)


@pytest.mark.parametrize("part", ["qkv", "output"])
def test_a_linear_map_of_ones_own_is_asked(width, part):
    """As those are who adapt a trained network by what they hang in: it must not be passed by."""

    class Silent(Linear):
        def forward(self, input: Tensor) -> Tensor:
            return torch.zeros(*input.shape[:-1], self.out_features)

    attention, x = Attention(width, HEADS), torch.randn(B, T, width)
    assert whole(attention(x))
    torch.nn.init.ones_(attention.output.bias)
    setattr(attention, part, Silent(width, getattr(attention, part).out_features))
    torch.testing.assert_close(attention(x), torch.full_like(x, 1.0 if part == "qkv" else 0.0))


@pytest.mark.parametrize("part", ["qkv", "output"])
def test_what_is_pruned_stays_pruned(width, part):
    """A hook makes its matrix anew before each use, from what is learned and a mask."""
    attention, x = Attention(width, HEADS), torch.randn(B, T, width)
    layer = getattr(attention, part)
    prune.random_unstructured(layer, "weight", amount=0.5)
    with torch.no_grad():
        layer.weight_orig *= 2  # a step of learning
    torch.testing.assert_close(attention(x), attention.eval()(x))
