"""A codec for pictures: a patch ⇄ two codes, the pattern that is drawn and the colours that it is drawn in."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LLOYD = 20  # rounds of k-means
EVEN = 0.02  # ‖c₁ − c₀‖² below which a patch is of one colour; white and black lie 4 apart in each channel
TINY = 1e-9  # so that something can be drawn where all distances are 0


class Codec(nn.Module):
    """Patches written as a pattern in two colours, each the nearest of a codebook.

        x = c₀ + a (c₁ − c₀),  a in 0 … 1 for each pixel        c₀ the brightest, c₁ the darkest of the patch
        x̂ = u + g(u)                                            u the same from the nearest codes, g learned

    So do block truncation coding (Delp and Mitchell 1979) and its successors in colour: within a few pixels a picture
    hardly has more than two colours. *What* is drawn and *in which colours* are told apart, and a red circle is made of
    codes that other circles and other red things are made of. What g adds, each patch from its neighbours, is nothing
    at first.

    Shapes: B pictures, C channels, H × W pixels, p the side of a patch, h = H / p, w = W / p, N patches.
    """

    def __init__(self, channels: int, patch: int, patterns: int, colours: int, hidden: int):
        super().__init__()
        self.cut, self.join = nn.PixelUnshuffle(patch), nn.PixelShuffle(patch)  # (B, C, H, W) ⇄ (B, C p², h, w)
        self.channels = channels
        self.patterns = Codebook(patterns, patch**2)
        self.colours = Codebook(colours, 2 * channels)
        self.mended = Neighbours(channels * patch**2, hidden)

    def encode(self, x: Tensor) -> Tensor:
        """Pictures (B, C, H, W), in −1 … 1, as ids (B, h, 2 w): of each patch its pattern, and then its colours."""
        patterns, colours = parted(self.patches(x))
        ids = self.patterns.nearest(patterns), len(self.patterns) + self.colours.nearest(colours)
        return torch.stack(ids, dim=-1).flatten(2)

    def decode(self, ids: Tensor) -> Tensor:
        """Ids (B, h, 2 w) as pictures (B, C, H, W)."""
        patterns, colours = self.patterns(ids[:, :, 0::2]), self.colours(ids[:, :, 1::2] - len(self.patterns))
        bright, dark = colours.unsqueeze(-1).chunk(2, dim=-2)  # (B, h, w, C, 1)
        patches = bright + patterns.unsqueeze(-2) * (dark - bright)  # (B, h, w, C, p²)
        return self.join(self.mended(patches.flatten(3).movedim(-1, 1)))

    def patches(self, x: Tensor) -> Tensor:
        """(B, h, w, C, p²)"""
        return self.cut(x).movedim(1, -1).unflatten(-1, (self.channels, -1))


def parted(patches: Tensor) -> tuple[Tensor, Tensor]:
    """The patterns (…, p²) and the colours (…, 2 C), the bright one first, of patches (…, C, p²)."""
    brightness = patches.mean(-2, keepdim=True)  # (…, 1, p²)
    bright, dark = (
        patches.take_along_dim(place.expand(*patches.shape[:-1], 1), -1)
        for place in (brightness.argmax(-1, keepdim=True), brightness.argmin(-1, keepdim=True))
    )  # (…, C, 1)
    way = dark - bright
    length = way.square().sum(-2)  # (…, 1)
    patterns = ((patches - bright) * way).sum(-2) / length.clamp(min=EVEN)
    even = length < EVEN
    patterns = patterns.clamp(0, 1).masked_fill(even, 0)
    means, even = patches.mean(-1, keepdim=True), even.unsqueeze(-1)
    colours = torch.cat([torch.where(even, means, bright), torch.where(even, means, dark)], dim=-2)
    return patterns, colours.squeeze(-1)


class Neighbours(nn.Module):
    """x + Conv(ReLU(Conv(ReLU(Conv(x))))), where the last Conv starts as 0."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.added = nn.Sequential(
            nn.Conv2d(width, hidden, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden, hidden, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden, width, 1),
        )
        for parameter in self.added[-1].parameters():
            nn.init.zeros_(parameter)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.added(x)


class Codebook(nn.Module):
    """K vectors, each the mean of what it is nearest to."""

    def __init__(self, codes: int, width: int):
        super().__init__()
        self.vectors = nn.Parameter(torch.zeros(codes, width), requires_grad=False)  # learned, but by no gradient

    def __len__(self) -> int:
        return len(self.vectors)

    def forward(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.vectors)

    def nearest(self, z: Tensor) -> Tensor:
        """The ids (…) of the vectors nearest to z (…, D)."""
        return (self.vectors.square().sum(-1) - 2 * z @ self.vectors.T).argmin(-1)  # ‖z‖² is the same for all

    @torch.no_grad()
    def learn(self, z: Tensor, generator: torch.Generator) -> None:
        """k-means over z (N, D), begun from codes that lie far apart (Arthur and Vassilvitskii 2007)."""
        apart = torch.ones(len(z))
        for code in range(len(self)):
            self.vectors[code] = z[torch.multinomial(apart + TINY, 1, generator=generator)[0]]
            distance = (z - self.vectors[code]).square().sum(-1)
            apart = torch.minimum(apart, distance) if code else distance
        for _ in range(LLOYD):
            ids = self.nearest(z)
            counts = torch.bincount(ids, minlength=len(self)).unsqueeze(1)
            sums = torch.zeros_like(self.vectors).index_add_(0, ids, z)
            self.vectors.copy_(torch.where(counts > 0, sums / counts, self.vectors))
