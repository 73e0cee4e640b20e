"""Pictures ⇄ ids, through a codebook learned from the user's own pictures (model/codec.py has the network).

    32 × 32 pixels  ──encode──▶  8 × 8 ids, row by row  ──decode──▶  32 × 32 pixels, nearly the same

To a model that writes, a picture is then a text of 64 tokens: DALL-E (Ramesh et al. 2021) reads a caption and goes on
with them. Pictures are uint8, (N, H, W, C), as image files hold them; inside, numbers from −1 to 1, (N, C, H, W).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import ValidationError
from safetensors import SafetensorError
from torch import Tensor

from regard.config.base import Config, Count
from regard.errors import ConfigError, DataError, RunError
from regard.model import parameters
from regard.model.codec import Codec

DESCRIPTION, PARAMETERS = "codec.json", "codec.safetensors"
COMMITMENT = 0.25  # β of van den Oord et al. 2017, equation 3
DISTINCT = 1 << 14  # patches that k-means starts from
TOGETHER = 256  # pictures that are encoded or decoded at a time


class CodecConfig(Config):
    """What a codec is made of: enough to build it and to know what it reads."""

    height: Count  # of the pictures, in pixels
    width: Count
    channels: Count  # 1 for grey, 3 for colour
    patch: Count = 4  # pixels along the side of what becomes one token
    codes: Count = 256  # in the codebook
    hidden: Count = 64  # width of the convolutions


class ImageTokenizer:
    """A codec, and the size of the pictures that it knows."""

    def __init__(self, config: CodecConfig):
        if config.height % config.patch or config.width % config.patch:
            raise ConfigError(
                f"pictures of {config.height} × {config.width} pixels do not split into patches of {config.patch}: "
                "resize them, or choose another patch"
            )
        self.config = config
        self.grid = config.height // config.patch, config.width // config.patch  # h, w
        self.codec = Codec(config.channels, config.patch, config.codes, config.hidden)

    @classmethod
    def learn(
        cls,
        pictures: np.ndarray,
        *,
        patch: int = 4,
        codes: int = 256,
        hidden: int = 64,
        steps: int = 1000,
        batch: int = 32,
        learning_rate: float = 2e-3,
        seed: int = 0,
        report: Callable[[int, float], None] = lambda step, loss: None,
    ) -> ImageTokenizer:
        """A codebook that suits the pictures (N, H, W, C); the same pictures and seed give the same one.

        loss = ‖x − x̂‖² + β ‖z − e‖²          van den Oord et al. 2017, equation 3; the codes follow by averaging
        """
        if not len(pictures):
            raise DataError("there is no picture to learn a codebook from: the corpus is empty")
        _, height, width, channels = pictures.shape
        config = CodecConfig(height=height, width=width, channels=channels, patch=patch, codes=codes, hidden=hidden)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            tokenizer = cls(config)
        codec, generator = tokenizer.codec, torch.Generator().manual_seed(seed)
        codec.codebook.start(distinct_patches(codec, pictures, generator), generator)
        learned = [parameter for parameter in codec.parameters() if parameter.requires_grad]
        optimizer = torch.optim.Adam(learned, learning_rate, betas=(0.9, 0.99))
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: climb_and_fall(step / max(steps, 1)))
        for step in range(1, steps + 1):
            x = to_tensor(pictures[torch.randint(len(pictures), (batch,), generator=generator).numpy()])
            again, z, ids = codec(x)
            loss = F.mse_loss(again, x) + COMMITMENT * F.mse_loss(z, codec.codebook(ids))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            codec.codebook.follow(z.detach().flatten(0, 2), ids.flatten(), generator)
            report(step, loss.item())
        return tokenizer

    def __len__(self) -> int:
        """How many ids there are."""
        return self.config.codes

    @torch.no_grad()
    def encode(self, pictures: np.ndarray) -> Tensor:
        """The ids (N, h w) of pictures (N, H, W, C), row by row from the top."""
        known = (self.config.height, self.config.width, self.config.channels)
        if pictures.shape[1:] != known:
            raise DataError(
                f"the pictures are {sized(pictures.shape[1:])} and the codebook was learned from {sized(known)}: "
                "resize them to that"
            )
        parts = [self.codec.encode(to_tensor(part)).flatten(1) for part in in_parts(pictures)]
        return torch.cat(parts) if parts else torch.zeros(0, math.prod(self.grid), dtype=torch.long)

    @torch.no_grad()
    def decode(self, ids: Tensor) -> np.ndarray:
        """The pictures (N, H, W, C) of ids (N, h w)."""
        parts = [to_pixels(self.codec.decode(part)) for part in ids.unflatten(1, self.grid).split(TOGETHER)]
        return np.concatenate(parts)

    @property
    def patches(self) -> np.ndarray:
        """What each code is by itself, before its neighbours have a say, (K, p, p, C)."""
        return to_pixels(self.codec.join(self.codec.codebook.vectors[:, :, None, None]))

    def save(self, folder: Path) -> None:
        """Two files in a run folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / DESCRIPTION).write_text(self.config.model_dump_json(indent=2) + "\n", encoding="utf-8")
        parameters.save(self.codec, folder / PARAMETERS)

    @classmethod
    def load(cls, folder: Path) -> ImageTokenizer:
        description, path = folder / DESCRIPTION, folder / PARAMETERS
        try:
            config = CodecConfig.model_validate_json(description.read_bytes())
            with torch.device("meta"):  # takes no memory, whatever sizes the description claims
                expected = parameters.shapes(cls(config).codec)
            if parameters.shapes_in(path) != expected:
                raise RunError(f"{path} does not hold the codec that {description.name} describes: copy the run again")
            tokenizer = cls(config)
            parameters.load(tokenizer.codec, path)
        except FileNotFoundError as error:
            raise RunError(
                f"{error.filename or path} does not exist: a run that paints keeps its codec there"
            ) from None
        except (OSError, ValidationError, ConfigError, SafetensorError, RuntimeError):
            raise RunError(
                f"{folder} has a {description.name} or {path.name} that is damaged: copy the run again"
            ) from None
        return tokenizer


def to_tensor(pictures: np.ndarray) -> Tensor:
    """Pixels (N, H, W, C), 0 … 255, as numbers (N, C, H, W), −1 … 1."""
    return torch.from_numpy(np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))).float() / 127.5 - 1


def to_pixels(pictures: Tensor) -> np.ndarray:
    """Numbers (N, C, H, W) as pixels (N, H, W, C); what is out of range is brought back into it."""
    return ((pictures.clamp(-1, 1) + 1) * 127.5).round().byte().permute(0, 2, 3, 1).numpy()


def in_parts(pictures: np.ndarray) -> list[np.ndarray]:
    return [pictures[start : start + TOGETHER] for start in range(0, len(pictures), TOGETHER)]


def distinct_patches(codec: Codec, pictures: np.ndarray, generator: torch.Generator) -> Tensor:
    """Patches (≤ DISTINCT, D) of some of the pictures, each once however common: most of a picture is often paper."""
    enough = 4 * DISTINCT // math.prod(codec.cut(to_tensor(pictures[:1])).shape[2:]) + 1
    some = pictures[torch.randperm(len(pictures), generator=generator)[:enough].numpy()]
    patches = codec.cut(to_tensor(some)).movedim(1, -1).flatten(0, 2).unique(dim=0)
    return patches[torch.randperm(len(patches), generator=generator)[:DISTINCT]]


def climb_and_fall(done: float) -> float:
    """A learning rate: up over the first twentieth, then down along a cosine."""
    return min(1.0, 20 * done + 0.05) * (1 + math.cos(math.pi * done)) / 2


def sized(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))
