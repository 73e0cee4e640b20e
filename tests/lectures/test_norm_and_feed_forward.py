"""LayerNorm (Ba et al. 2016), why it helps (Xu et al. 2019); the feed-forward (Vaswani et al. 2017, section 3.3)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from benchmarks.lectures import norm_race, pupil, smooth, steps_to, without_norms
from regard.model.block import FeedForward, PostNorm


def test_layer_norm_is_g_times_x_minus_mu_over_sigma_plus_b_with_the_one_over_h_variance():
    """h = g ⊙ (x − μ) / σ + b, μ = 1/H Σ x_i, σ² = 1/H Σ (x_i − μ)² (Ba et al. 2016, equation 4)."""
    H = 6
    norm: Any = PostNorm(width=H).norm
    g, b, x = (torch.randn(H) for _ in "gbx")
    with torch.no_grad():
        norm.weight.copy_(g)
        norm.bias.copy_(b)
    mu = sum(x.tolist()) / H
    sigma = (sum((each - mu) ** 2 for each in x.tolist()) / H) ** 0.5
    torch.testing.assert_close(norm(x), g * (x - mu) / sigma + b, rtol=1e-4, atol=1e-4)
    unbiased = g * (x - mu) / x.std(correction=1) + b
    assert (norm(x) - unbiased).abs().amax() > 0.01, "1/(H−1) would be another number"


def test_every_norm_of_the_model_works_over_the_features_of_one_word():
    """Layer, not batch: the norm of a word does not depend on the other words (Ba et al. 2016, section 3)."""
    norms = [module for module in pupil(layers=2).modules() if isinstance(module, nn.LayerNorm)]
    assert len(norms) == 2 * 2 + 2 * 3  # around each sublayer: two in an encoder layer, three in a decoder layer
    x = torch.randn(2, 5, 64)
    for norm in norms:
        torch.testing.assert_close(norm(x)[1, 3], norm(x[1, 3]))
        torch.testing.assert_close(norm(x).mean(-1), torch.zeros(2, 5), atol=1e-5, rtol=0)


def test_a_sublayer_is_wrapped_as_layer_norm_of_x_plus_sublayer_of_x():
    """x = LayerNorm(x + Sublayer(x)) (Vaswani et al. 2017, section 3.1)."""
    around, sublayer, x = PostNorm(width=6), FeedForward(width=6, hidden=9), torch.randn(2, 5, 6)
    torch.testing.assert_close(around(x, sublayer), nn.LayerNorm(6)(x + sublayer(x)))
    assert {type(module) for name, module in pupil().named_modules() if "around" in name.split(".")[-1]} == {PostNorm}


def test_layer_norm_makes_training_faster():
    """Ba et al. 2016; measured: same first parameters, sentences and learning rate, with the norms and without."""
    normed, bare = norm_race(layers=3, steps=150)
    reached = steps_to(normed, goal=1.6)
    assert reached is not None
    assert reached < (steps_to(bare, goal=1.6) or 151)
    assert smooth(normed)[-1] < 0.8 * smooth(bare)[-1]


def test_layer_norm_centres_and_scales_the_gradient_too():
    """Why it helps (Xu et al. 2019): the gradient it passes back has mean 0, and shrinks as its input grows."""
    norm, direction = PostNorm(width=8).norm, torch.randn(8)

    def gradient(x: torch.Tensor) -> torch.Tensor:
        x = x.clone().requires_grad_()
        return torch.autograd.grad((norm(x) * direction).sum(), x)[0]

    x = torch.randn(8)
    assert abs(direction.mean().item()) > 0.01
    assert abs(gradient(x).mean().item()) < 1e-5
    torch.testing.assert_close(gradient(10 * x), gradient(x) / 10, rtol=1e-3, atol=1e-5)


def test_a_model_without_norms_has_none():
    """What the race compares: no LayerNorm is left, and every other parameter is as it was."""
    normed, bare = pupil(layers=2), without_norms(pupil(layers=2))
    assert not [module for module in bare.modules() if isinstance(module, nn.LayerNorm)]
    kept = dict(normed.named_parameters())
    assert all(torch.equal(parameter, kept[name]) for name, parameter in bare.named_parameters())
    assert all(".norm." in name for name in kept.keys() - dict(bare.named_parameters()).keys())


def test_the_feed_forward_is_max_of_0_and_xw1_plus_b1_times_w2_plus_b2():
    """FFN(x) = max(0, x W₁ + b₁) W₂ + b₂ (Vaswani et al. 2017, equation 2)."""
    feed_forward, x = FeedForward(width=5, hidden=7), torch.randn(2, 3, 5)
    for layer in (feed_forward.inner, feed_forward.outer):
        nn.init.normal_(layer.bias)
    W1, b1 = feed_forward.inner.weight.T, feed_forward.inner.bias
    W2, b2 = feed_forward.outer.weight.T, feed_forward.outer.bias
    torch.testing.assert_close(feed_forward(x), torch.clamp(x @ W1 + b1, min=0) @ W2 + b2)


def test_the_feed_forward_is_the_same_at_every_position():
    """ "Applied to each position separately and identically" (ibid., section 3.3)."""
    feed_forward, x = FeedForward(width=5, hidden=7), torch.randn(2, 3, 5)
    torch.testing.assert_close(feed_forward(x)[1, 2], feed_forward(x[1, 2]))
