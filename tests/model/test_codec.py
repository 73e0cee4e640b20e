"""The codec: a patch is a pattern in two colours, and both are told apart."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.model.codec import Codebook, Codec, parted

COLOURS = {"red": (0.6, -0.8, -0.65), "yellow": (1.0, 0.75, -0.6), "white": (1.0, 1.0, 1.0), "black": (-1.0,) * 3}


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(3)


def drawn(pattern: torch.Tensor, bright: str, dark: str) -> torch.Tensor:
    """A patch (C, p²) of a pattern, 0 … 1."""
    first, second = (torch.tensor(COLOURS[name]).unsqueeze(1) for name in (bright, dark))
    return first + pattern * (second - first)


@given(st.lists(st.floats(0, 1), min_size=7, max_size=7))
def test_what_is_drawn_and_in_which_colours_are_told_apart(amounts):
    """The same pattern in other colours is the same pattern, and other patterns in the same colours have these."""
    pattern = torch.tensor([0.0, 1.0, *amounts])
    for bright, dark in (("white", "red"), ("yellow", "black"), ("white", "black")):
        found, colours = parted(drawn(pattern, bright, dark))
        torch.testing.assert_close(found, pattern, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(colours, torch.tensor([*COLOURS[bright], *COLOURS[dark]]), rtol=0, atol=1e-6)


def test_a_patch_of_one_colour_has_no_pattern_and_that_colour_twice():
    even = torch.tensor(COLOURS["red"]).unsqueeze(1) + torch.randn(3, 16) / 1000
    pattern, colours = parted(even)
    assert pattern.tolist() == [0] * 16
    torch.testing.assert_close(colours, even.mean(1).repeat(2))


def test_a_new_codec_with_codes_for_each_patch_gives_pictures_of_two_colours_back_as_they_were():
    codec = Codec(channels=3, patch=3, patterns=20, colours=2, hidden=5)
    pattern = torch.rand(20, 9)
    pattern[:, 0], pattern[:, 5] = 0, 1
    patches = [drawn(each, "white", ("red", "black")[place % 2]) for place, each in enumerate(pattern)]
    x = codec.join(torch.stack(patches).view(1, 4, 5, 27).movedim(-1, 1))  # (1, 3, 12, 15)
    torch.testing.assert_close(codec.patches(x), torch.stack(patches).view(1, 4, 5, 3, 9))
    patterns, colours = parted(codec.patches(x).flatten(0, 2))
    codec.patterns.learn(patterns, generator())
    codec.colours.learn(colours, generator())
    ids = codec.encode(x)
    assert ids.shape == (1, 4, 10)
    assert ids[..., 0::2].unique().tolist() == [*range(20)]
    assert ids[..., 1::2].unique().tolist() == [20, 21]
    torch.testing.assert_close(codec.decode(ids), x)


def test_a_code_is_the_nearest():
    codebook = Codebook(codes=11, width=4)
    codebook.vectors.copy_(torch.randn(11, 4))
    z = torch.randn(2, 3, 5, 4)
    assert torch.equal(codebook.nearest(z), torch.cdist(z.flatten(0, 2), codebook.vectors).argmin(-1).view(2, 3, 5))


def test_the_codes_are_as_k_means_leaves_them():
    """Where groups are far apart there is one code in each, at its mean."""
    middles = torch.tensor([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    groups = middles[:, None] + torch.randn(3, 50, 2) / 10
    codebook = Codebook(codes=3, width=2)
    codebook.learn(groups.flatten(0, 1), generator())
    order = codebook.nearest(middles)
    assert sorted(order.tolist()) == [0, 1, 2]
    torch.testing.assert_close(codebook.vectors[order].data, groups.mean(1))


def test_more_codes_than_patches_do_no_harm():
    codebook = Codebook(codes=7, width=2)
    z = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    codebook.learn(z, generator())
    torch.testing.assert_close(codebook(codebook.nearest(z)), z)


def test_a_patch_is_put_right_by_its_neighbours_and_by_nothing_further():
    codec = Codec(channels=1, patch=2, patterns=2, colours=3, hidden=6)
    for parameter in codec.mended.parameters():
        torch.nn.init.normal_(parameter)
    x = torch.rand(1, 4, 7, 9, requires_grad=True)
    codec.mended(x)[0, :, 3, 4].sum().backward()
    assert x.grad is not None
    heard = x.grad.abs().sum((0, 1)) > 0
    assert heard.nonzero().amin(0).tolist() == [1, 2]
    assert heard.nonzero().amax(0).tolist() == [5, 6]
