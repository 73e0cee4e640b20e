"""The codec: what it starts from, how its codes move, and what the gradient sees."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from regard.model.codec import DECAY, Codebook, Codec


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(3)


def test_a_new_codec_with_a_code_for_each_patch_gives_pictures_back_as_they_were():
    codec = Codec(channels=2, patch=3, codes=20, hidden=5)
    x = torch.rand(1, 2, 12, 15)
    codec.codebook.start(codec.cut(x).movedim(1, -1).flatten(0, 2), generator())
    ids = codec.encode(x)
    assert ids.shape == (1, 4, 5)
    assert ids.unique().numel() == 20
    torch.testing.assert_close(codec.decode(ids), x)
    again, z, same = codec(x)
    torch.testing.assert_close(again, x)
    assert torch.equal(ids, same)
    assert z.shape == (1, 4, 5, 18)


def test_a_code_is_the_nearest():
    codebook = Codebook(codes=11, width=4)
    codebook.vectors.copy_(torch.randn(11, 4))
    z = torch.randn(2, 3, 5, 4)
    assert torch.equal(codebook.nearest(z), torch.cdist(z.flatten(0, 2), codebook.vectors).argmin(-1).view(2, 3, 5))


def test_the_codes_start_as_k_means_leaves_them():
    """Where groups are far apart there is one code in each, at its mean."""
    middles = torch.tensor([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    groups = middles[:, None] + torch.randn(3, 50, 2) / 10
    codebook = Codebook(codes=3, width=2)
    codebook.start(groups.flatten(0, 1), generator())
    order = codebook.nearest(middles)
    assert sorted(order.tolist()) == [0, 1, 2]
    torch.testing.assert_close(codebook.vectors[order].data, groups.mean(1))


def test_more_codes_than_patches_do_no_harm():
    codebook = Codebook(codes=7, width=2)
    z = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    codebook.start(z, generator())
    torch.testing.assert_close(codebook(codebook.nearest(z)), z)


def test_codes_follow_the_running_mean():
    """e = m / N, with both kept as van den Oord et al. write them."""
    codebook = Codebook(codes=3, width=2)
    codebook.vectors.copy_(torch.randn(3, 2))
    counts, sums = torch.full((3,), 8 / 3), codebook.vectors * 8 / 3
    for _ in range(5):
        z = torch.randn(8, 2)
        ids = codebook.nearest(z)
        codebook.follow(z, ids, generator())
        chosen = F.one_hot(ids, 3).float()
        counts = DECAY * counts + (1 - DECAY) * chosen.sum(0)
        sums = DECAY * sums + (1 - DECAY) * chosen.T @ z
        torch.testing.assert_close(codebook.vectors.data, sums / counts[:, None])


def test_a_dead_code_comes_back_where_the_error_is():
    codebook = Codebook(codes=2, width=1)
    codebook.vectors.copy_(torch.tensor([[0.0], [1000.0]]))
    z = torch.tensor([[0.0]] * 30 + [[5.0]])
    steps = 0
    while codebook.vectors[1] > 999:
        codebook.follow(z, codebook.nearest(z), generator())
        steps += 1
    assert steps > 300, "it was given time"
    assert codebook.vectors[1] == 5
    assert codebook.shares[1] == 1


def test_the_gradient_passes_by_the_choice():
    codec = Codec(channels=1, patch=2, codes=4, hidden=3)
    x = torch.rand(2, 1, 4, 6)
    codec.codebook.start(codec.cut(x).movedim(1, -1).flatten(0, 2), generator())
    again, _, _ = codec(x)
    again.sum().backward()
    bias = dict(codec.encoder.named_parameters())["added.4.bias"]
    assert bias.grad is not None
    assert torch.equal(bias.grad, torch.full((4,), 2 * 2 * 3.0)), "each of the 2 · 2 · 3 patches counts fully"
    assert codec.codebook.vectors.grad is None


def test_a_patch_hears_of_its_neighbours_and_of_nothing_further():
    codec = Codec(channels=1, patch=2, codes=2, hidden=6)
    for parameter in codec.encoder.parameters():
        torch.nn.init.normal_(parameter)
    x = torch.rand(1, 1, 14, 18, requires_grad=True)
    codec.states(x)[0, 3, 4].sum().backward()
    assert x.grad is not None
    heard = codec.cut(x.grad).abs().sum((0, 1)) > 0
    assert heard.nonzero().amin(0).tolist() == [1, 2]
    assert heard.nonzero().amax(0).tolist() == [5, 6]
