"""A codec for pictures: patches ⇄ codes, each the nearest of a learned codebook."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LLOYD = 10  # rounds of k-means before the first step
DECAY = 0.99  # γ: the codes follow what the last hundred batches held
DEAD = 0.03  # a code with so small a part of its fair share is nearest to hardly anything
TINY = 1e-9  # so that something can be drawn where all distances are 0


class Codec(nn.Module):
    """A vector-quantised autoencoder: a picture as a grid of codes, one for each patch, and back.

        id = argmin_j ‖z − e_j‖,  z = u + f(u),  u the patches of x       van den Oord et al. 2017, equation 1
        x̂  = e_id + g(e_id)                                               ibid., equation 2

    A code is a vector of pixels, so it can be looked at. What f and g add, each patch from its neighbours, is nothing
    at first: learning starts from k-means over patches.

    Shapes: B pictures, C channels, H × W pixels, p the side of a patch, h = H / p, w = W / p, K codes, D = C p².
    """

    def __init__(self, channels: int, patch: int, codes: int, hidden: int):
        super().__init__()
        self.cut, self.join = nn.PixelUnshuffle(patch), nn.PixelShuffle(patch)  # (B, C, H, W) ⇄ (B, D, h, w)
        self.encoder = Neighbours(channels * patch**2, hidden)
        self.codebook = Codebook(codes, channels * patch**2)
        self.decoder = Neighbours(channels * patch**2, hidden)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The pictures again (B, C, H, W), what was quantised (B, h, w, D), and the ids (B, h, w) that it became.

        The gradient passes by the choice of a code as if z were the code itself (ibid., section 3.2).
        """
        z = self.states(x)
        ids = self.codebook.nearest(z)
        return self.paint(z + (self.codebook(ids) - z).detach()), z, ids

    def encode(self, x: Tensor) -> Tensor:
        """Pictures (B, C, H, W), in −1 … 1, as ids (B, h, w)."""
        return self.codebook.nearest(self.states(x))

    def decode(self, ids: Tensor) -> Tensor:
        """Ids (B, h, w) as pictures (B, C, H, W)."""
        return self.paint(self.codebook(ids))

    def states(self, x: Tensor) -> Tensor:
        return self.encoder(self.cut(x)).movedim(1, -1)

    def paint(self, vectors: Tensor) -> Tensor:
        return self.join(self.decoder(vectors.movedim(-1, 1)))


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
    """K vectors, each the running mean of what it is nearest to.

        N_j ← γ N_j + (1 − γ) n_j        its share of late, 1 if fair      van den Oord et al. 2017, appendix A.1
        e_j ← (γ N_j e_j + (1 − γ) Σ z) / N_j

    A code that is nearest to hardly anything would never move again. It is put on something that is far from its own
    code (after Dhariwal et al. 2020, section 3.1, who take anything).
    """

    def __init__(self, codes: int, width: int):
        super().__init__()
        self.vectors = nn.Parameter(torch.zeros(codes, width), requires_grad=False)  # learned, but by no gradient
        self.shares: Tensor
        self.register_buffer("shares", torch.ones(codes), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.vectors)

    def nearest(self, z: Tensor) -> Tensor:
        """The ids (…) of the vectors nearest to z (…, D)."""
        return (self.vectors.square().sum(-1) - 2 * z @ self.vectors.T).argmin(-1)  # ‖z‖² is the same for all

    @torch.no_grad()
    def start(self, z: Tensor, generator: torch.Generator) -> None:
        """k-means over z (N, D), begun from codes that lie far apart (Arthur and Vassilvitskii 2007)."""
        apart = torch.ones(len(z))
        for code in range(len(self.vectors)):
            self.vectors[code] = z[torch.multinomial(apart + TINY, 1, generator=generator)[0]]
            distance = (z - self.vectors[code]).square().sum(-1)
            apart = torch.minimum(apart, distance) if code else distance
        for _ in range(LLOYD):
            counts, sums = self.gather(z, self.nearest(z))
            self.vectors.copy_(torch.where(counts > 0, sums / counts, self.vectors))

    @torch.no_grad()
    def follow(self, z: Tensor, ids: Tensor, generator: torch.Generator) -> None:
        """Move the vectors towards what they are nearest to: z (N, D), ids (N,)."""
        fair = len(z) / len(self.vectors)
        counts, sums = self.gather(z, ids)
        summed = torch.lerp(self.vectors * self.shares[:, None], sums / fair, 1 - DECAY)
        self.shares.lerp_(counts[:, 0] / fair, 1 - DECAY)
        self.vectors.copy_(summed / self.shares[:, None])
        dead = self.shares < DEAD
        if dead.any():
            distance = (z - self(ids)).square().sum(-1)
            self.vectors[dead] = z[torch.multinomial(distance + TINY, int(dead.sum()), generator=generator)]
            self.shares[dead] = 1.0

    def gather(self, z: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        """For each code, how many of z are nearest to it (K, 1), and their sum (K, D)."""
        counts = torch.bincount(ids, minlength=len(self.vectors)).to(z.dtype)
        return counts[:, None], torch.zeros_like(self.vectors).index_add_(0, ids, z)
