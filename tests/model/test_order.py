"""What attention is told of positions: each piece against a reference, shown as it is used, cached as uncached."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.errors import ConfigError
from regard.model.attention import Attention, attention_weights
from regard.model.cache import Kept
from regard.model.mask import causal, padding
from regard.model.order import Alibi, Buckets, Order, Rotary, Shaw, rotate, slopes

WIDTH, HEADS = 18, 3
HEAD = WIDTH // HEADS
PIECES: dict[str, Callable[[], Order]] = {
    "none": Order,
    "rotary": lambda: Rotary(HEAD),
    "rotary, interleaved": lambda: Rotary(HEAD, base=100.0, layout="interleaved"),
    "rotary, in part": lambda: Rotary(4),
    "alibi": lambda: Alibi(HEADS),
    "shaw": lambda: Shaw(HEAD, reach=2),
    "t5": lambda: Buckets(HEADS, buckets=6, farthest=5),
    "t5, both ways": lambda: Buckets(HEADS, buckets=8, farthest=5, both_ways=True),
}
EACH = pytest.mark.parametrize("piece", PIECES)


def make(piece: str, dropout: float = 0.0) -> Attention:
    attention = Attention(WIDTH, HEADS, dropout, PIECES[piece]())
    for parameter in attention.parameters():
        nn.init.normal_(parameter, std=0.5)
    return attention.eval()


def visible(attention: Attention, x: Tensor, mask: Tensor | None) -> Tensor:
    """What forward computes, through the weights that are shown."""
    _, _, v = attention.project(x)
    taken = attention.order.take(attention.weights(x, mask=mask), v)
    return attention.output(taken.transpose(1, 2).flatten(2))


@EACH
@pytest.mark.parametrize("masked", [True, False])
def test_the_weights_on_show_are_the_weights_used(piece: str, masked: bool):
    attention, x = make(piece), torch.randn(2, 7, WIDTH)
    mask = causal(7) & padding(torch.tensor([7, 4]), 7) if masked else None
    torch.testing.assert_close(attention(x, mask=mask), visible(attention, x, mask))
    torch.testing.assert_close(attention.weights(x, mask=mask).sum(-1), torch.ones(2, HEADS, 7))


@EACH
@pytest.mark.parametrize("steps", [[1] * 7, [3, 1, 3], [7]], ids=["one by one", "several at once", "all at once"])
def test_cached_is_uncached(piece: str, steps: list[int]):
    attention, x, kept = make(piece), torch.randn(2, 7, WIDTH), Kept()
    parts = [attention(part, mask=causal(part.size(1), kept.length), kept=kept) for part in x.split(steps, dim=1)]
    torch.testing.assert_close(torch.cat(parts, dim=1), attention(x, mask=causal(7)))


@EACH
def test_who_may_look_at_nothing_takes_nothing_and_breaks_nothing(piece: str):
    attention, x = make(piece), torch.randn(2, 7, WIDTH, requires_grad=True)
    mask = padding(torch.tensor([7, 0]), 7)
    output = attention(x, mask=mask)
    torch.testing.assert_close(output[1], attention.output.bias.expand(7, WIDTH))
    output.square().sum().backward()
    for name, tensor in [("x", x), *attention.named_parameters()]:
        assert tensor.grad is not None, name
        assert tensor.grad.isfinite().all(), name


@EACH
def test_both_paths_learn_alike(piece: str):
    attention, x = make(piece).double(), torch.randn(2, 7, WIDTH, dtype=torch.float64)
    parameters = list(attention.parameters())
    used = torch.autograd.grad(attention(x, mask=causal(7)).square().sum(), parameters)
    shown = torch.autograd.grad(visible(attention, x, causal(7)).square().sum(), parameters)
    torch.testing.assert_close(used, shown)
    assert all(gradient.any() for gradient in used)


@EACH
def test_dropping_weights_keeps_their_mean(piece: str):
    """In training with dropout the unfused path is taken, whatever the piece; its mean is what is not dropped."""
    attention, x = make(piece, dropout=0.25), torch.randn(1, 7, WIDTH)
    with torch.no_grad():
        still, drawn = attention(x)[0], attention.train()(x.expand(4000, -1, -1))
    error = drawn.std(0) / math.sqrt(len(drawn))
    assert (error > 0).all(), "each was dropped at some time"
    assert ((drawn.mean(0) - still).abs() < 5 * error).all()


@EACH
def test_attention_learns_the_order_from_the_piece_alone(piece: str):
    """Without one, reversing the tokens reverses what they take; with one, it does not."""
    attention, x = make(piece), torch.randn(2, 7, WIDTH)
    reversed_alike = torch.allclose(attention(x.flip(1)).flip(1), attention(x), atol=1e-5)
    assert reversed_alike is (piece in ("none", "alibi")), "what ALiBi knows is the distance, the same both ways"


@EACH
def test_a_model_s_precision_is_kept(piece: str):
    attention, x = make(piece).double(), torch.randn(2, 7, WIDTH, dtype=torch.float64)
    assert attention(x, mask=causal(7)).dtype == torch.float64
    assert attention.weights(x, mask=causal(7)).dtype == torch.float64


@EACH
def test_training_in_bfloat16_is_a_coarser_float32(piece: str, bfloat16_works: bool):
    if not bfloat16_works:
        pytest.skip("this machine has no bfloat16 that works")
    attention, x = make(piece), torch.randn(2, 7, WIDTH)
    full = attention(x, mask=causal(7))
    with torch.autocast("cpu", torch.bfloat16):
        low = attention(x, mask=causal(7))
    assert low.dtype == torch.bfloat16
    torch.testing.assert_close(low.float(), full, atol=0.15, rtol=0.05)
    low.float().square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in attention.parameters())


@pytest.mark.parametrize("piece", [name for name, make in PIECES.items() if make().fused])
def test_the_fused_kernel_takes_it(piece: str):
    attention, x = make(piece), torch.randn(2, 7, WIDTH)
    with torch.no_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # refuses what it cannot do
        fused = attention(x, mask=causal(7))
    torch.testing.assert_close(fused, visible(attention, x, causal(7)))


# Rotary


def test_rotary_is_llama_s():
    from transformers.models.llama.configuration_llama import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    config = LlamaConfig(hidden_size=WIDTH, num_attention_heads=HEADS, max_position_embeddings=50)
    q, k = torch.randn(2, HEADS, 7, HEAD), torch.randn(2, HEADS, 7, HEAD)
    cosines, sines = LlamaRotaryEmbedding(config)(q, torch.arange(5, 12).unsqueeze(0))
    order = Rotary(HEAD)
    torch.testing.assert_close(
        (order.turn(q, past=5), order.turn(k, past=5)), apply_rotary_pos_emb(q, k, cosines, sines)
    )


def test_angles_that_grew_in_a_validation_serve_training():
    """Validation runs in inference mode, in between the steps of training."""
    order, x = Rotary(HEAD), torch.randn(2, HEADS, 290, HEAD, requires_grad=True)
    with torch.inference_mode():
        order.turn(x[:, :, :100].repeat(1, 1, 3, 1))
    order.turn(x).square().sum().backward()
    torch.testing.assert_close(x.grad, 2 * x)  # a turn changes no length


def test_interleaved_rotary_is_a_turn_of_complex_numbers():
    """Neighbouring features as real and imaginary part, times e^(i m θ)           Su et al. 2021, equation 13"""
    x, base = torch.randn(2, HEADS, 7, HEAD), 100.0
    angles = torch.arange(5, 12).unsqueeze(1) * base ** (-torch.arange(0, HEAD, 2) / HEAD)  # (T, d / 2)
    turned = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * torch.polar(torch.ones_like(angles), angles)
    order = Rotary(HEAD, base, layout="interleaved")
    torch.testing.assert_close(order.turn(x, past=5), torch.view_as_real(turned).flatten(-2))


def test_a_turned_query_and_key_know_their_distance_alone():
    q, k, order = torch.randn(1, 1, 1, HEAD), torch.randn(1, 1, 1, HEAD), Rotary(HEAD)

    def score(m: int, n: int) -> Tensor:
        return order.turn(q, past=m) @ order.turn(k, past=n).mT

    torch.testing.assert_close(score(9, 4), score(1009, 1004), atol=1e-4, rtol=0)
    assert not torch.allclose(score(9, 4), score(9, 5))


def test_features_beyond_the_turned_ones_stay():
    x = torch.randn(2, HEADS, 7, HEAD)
    turned = Rotary(4).turn(x, past=3)
    assert turned[..., 4:].equal(x[..., 4:])
    torch.testing.assert_close(turned[..., :4], Rotary(4).turn(x[..., :4], past=3))


def test_another_layout_is_refused():
    with pytest.raises(ConfigError) as caught:
        rotate(torch.zeros(1, 2), torch.zeros(1, 1), torch.zeros(1, 1), layout="thirds")
    assert str(caught.value) == "layout='thirds' is neither halves nor interleaved"


# ALiBi


@pytest.mark.parametrize("heads", [1, 2, 3, 6, 8, 12, 16])
def test_slopes_are_bloom_s(heads: int):
    """Theirs is −slope × distance up to a constant for each query, which no softmax sees."""
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    theirs = build_alibi_tensor(torch.ones(1, 5), heads, torch.float32)  # (H, 1, S): slope × position
    torch.testing.assert_close(torch.tensor(slopes(heads)), theirs[:, 0, 1])
    (ours,) = Alibi(heads).bias(torch.zeros(1, heads, 5, 4), keys=5)  # (H, T, S)
    shift = (theirs - ours).masked_fill(~causal(5), torch.nan)
    torch.testing.assert_close(shift.nan_to_num(-1e9).amax(-1), shift.nan_to_num(1e9).amin(-1), atol=1e-6, rtol=0)


def test_slopes_of_a_power_of_two_are_the_paper_s():
    """A geometric sequence that starts at 2^(−8 / n), which is also its ratio           Press et al. 2022, section 3"""
    assert slopes(8) == [1 / 2**i for i in range(1, 9)]


# Shaw


def test_relative_vectors_are_equations_3_and_4():
    """Position by position, as the paper writes them."""
    reach, length = 2, 7
    order = Shaw(HEAD, reach)
    nn.init.normal_(order.keys)
    nn.init.normal_(order.values)
    q, k, v = (torch.randn(2, HEADS, length, HEAD) for _ in range(3))
    weights = attention_weights(q, k, causal(length), bias=order.bias(q, length))
    taken = order.take(weights, v)
    for i in range(length):
        rows = [max(-reach, min(reach, j - i)) + reach for j in range(i + 1)]
        scores = torch.stack(
            [(q[:, :, i] * (k[:, :, j] + order.keys[row])).sum(-1) / math.sqrt(HEAD) for j, row in enumerate(rows)], -1
        )
        expected = scores.softmax(-1)
        torch.testing.assert_close(weights[:, :, i, : i + 1], expected)
        sums = [expected[..., j, None] * (v[:, :, j] + order.values[row]) for j, row in enumerate(rows)]
        torch.testing.assert_close(taken[:, :, i], torch.stack(sums).sum(0))


# T5


@pytest.mark.parametrize("both_ways", [True, False])
def test_buckets_are_t5_s(both_ways: bool):
    from transformers.models.t5.configuration_t5 import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    config = T5Config(
        d_model=WIDTH,
        d_kv=HEAD,
        num_heads=HEADS,
        relative_attention_num_buckets=10,
        relative_attention_max_distance=23,
        is_decoder=not both_ways,
    )
    theirs = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    nn.init.normal_(theirs.relative_attention_bias.weight)
    order = Buckets(HEADS, buckets=10, farthest=23, both_ways=both_ways)
    order.table.data.copy_(theirs.relative_attention_bias.weight)
    torch.testing.assert_close(
        order.bias(torch.zeros(1, HEADS, 40, HEAD), keys=40), theirs.compute_bias(40, 40), atol=0, rtol=0
    )
    last = order.bias(torch.zeros(1, HEADS, 3, HEAD), keys=40)
    assert last.equal(theirs.compute_bias(40, 40)[:, :, -3:]), "with a cache, the queries are the last ones"
