"""Pictures ⇄ ids, through codebooks learned from the user's own pictures (model/codec.py has the network).

    32 × 32 pixels  ──encode──▶  8 × 16 ids, row by row  ──decode──▶  32 × 32 pixels, nearly the same

Of each patch of 4 × 4 pixels there are two ids: the pattern in it, and the colours. To a model that writes, a picture
is then a text of 128 tokens: DALL-E (Ramesh et al. 2021) reads a caption and goes on with them. Pictures are uint8,
(N, H, W, C), as image files hold them; inside, numbers from −1 to 1, (N, C, H, W).
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
from regard.model.codec import Codec, parted

DESCRIPTION, PARAMETERS = "codec.json", "codec.safetensors"
DISTINCT = 1 << 14  # patches that the codes are learned from
TOGETHER = 256  # pictures that are encoded or decoded at a time


class CodecConfig(Config):
    """What a codec is made of: enough to build it and to know what it reads."""

    height: Count  # of the pictures, in pixels
    width: Count
    channels: Count  # 1 for grey, 3 for colour
    patch: Count = 4  # pixels along the side of what becomes two tokens
    codes: Count = 256  # of patterns
    colours: Count = 64  # pairs of them
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
        self.grid = config.height // config.patch, 2 * (config.width // config.patch)  # of ids
        self.codec = Codec(config.channels, config.patch, config.codes, config.colours, config.hidden)

    @classmethod
    def learn(
        cls,
        pictures: np.ndarray,
        *,
        patch: int = 4,
        codes: int = 256,
        colours: int = 64,
        hidden: int = 64,
        steps: int = 1000,
        batch: int = 32,
        learning_rate: float = 2e-3,
        seed: int = 0,
        report: Callable[[int, float], None] = lambda step, loss: None,
    ) -> ImageTokenizer:
        """Codebooks that suit the pictures (N, H, W, C); the same pictures and seed give the same ones.

        The codes are means of the patches they stand for; then, by gradient, what is lost is put right from neighbours.
        """
        if not len(pictures):
            raise DataError("there is no picture to learn a codebook from: the corpus is empty")
        _, height, width, channels = pictures.shape
        sizes = {"patch": patch, "codes": codes, "colours": colours, "hidden": hidden}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            tokenizer = cls(CodecConfig(height=height, width=width, channels=channels, **sizes))
        codec, generator = tokenizer.codec, torch.Generator().manual_seed(seed)
        patterns, colour_pairs = parted(distinct_patches(codec, pictures, generator))
        codec.patterns.learn(patterns, generator)
        codec.colours.learn(colour_pairs, generator)
        optimizer = torch.optim.Adam(codec.mended.parameters(), learning_rate, betas=(0.9, 0.99))
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: climb_and_fall(step / max(steps, 1)))
        for step in range(1, steps + 1):
            x = to_tensor(pictures[torch.randint(len(pictures), (batch,), generator=generator).numpy()])
            loss = F.mse_loss(codec.decode(codec.encode(x)), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            report(step, loss.item())
        return tokenizer

    def __len__(self) -> int:
        """How many ids there are."""
        return self.config.codes + self.config.colours

    def kind(self, place: int) -> range:
        """The ids that may stand in this place of a picture: those of patterns, or those of colours."""
        return range(self.config.codes, len(self)) if place % 2 else range(self.config.codes)

    @torch.no_grad()
    def encode(self, pictures: np.ndarray) -> Tensor:
        """The ids (N, h · 2 w) of pictures (N, H, W, C), row by row from the top; grey or in colour, as it has them."""
        known = (self.config.height, self.config.width, self.config.channels)
        given, pictures = pictures.shape[1:], in_colour(pictures, self.config.channels)
        if pictures.shape[1:] != known:
            raise DataError(
                f"the pictures are {sized(given)} and the codebook was learned from {sized(known)}: resize them to that"
            )
        parts = [self.codec.encode(to_tensor(part)).flatten(1) for part in in_parts(pictures)]
        return torch.cat(parts) if parts else torch.zeros(0, math.prod(self.grid), dtype=torch.long)

    @torch.no_grad()
    def decode(self, ids: Tensor) -> np.ndarray:
        """The pictures (N, H, W, C) of ids (N, h · 2 w)."""
        parts = [to_pixels(self.codec.decode(part)) for part in ids.unflatten(1, self.grid).split(TOGETHER)]
        return np.concatenate(parts)

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


def in_colour(pictures: np.ndarray, channels: int) -> np.ndarray:
    """Pictures (N, H, W, C) with as many channels as a network reads: grey ones are grey in colour, too."""
    match pictures.shape[-1], channels:
        case 3, 1:
            return (pictures @ np.array([0.299, 0.587, 0.114]))[..., None].round().astype(np.uint8)  # ITU-R BT.601
        case 1, 3:
            return np.broadcast_to(pictures, (*pictures.shape[:-1], 3))
    return pictures


def to_tensor(pictures: np.ndarray) -> Tensor:
    """Pixels (N, H, W, C), 0 … 255, as numbers (N, C, H, W), −1 … 1."""
    return torch.from_numpy(np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))).float() / 127.5 - 1


def to_pixels(pictures: Tensor) -> np.ndarray:
    """Numbers (N, C, H, W) as pixels (N, H, W, C); what is out of range is brought back into it."""
    return ((pictures.clamp(-1, 1) + 1) * 127.5).round().byte().permute(0, 2, 3, 1).numpy()


def in_parts(pictures: np.ndarray) -> list[np.ndarray]:
    return [pictures[start : start + TOGETHER] for start in range(0, len(pictures), TOGETHER)]


def distinct_patches(codec: Codec, pictures: np.ndarray, generator: torch.Generator) -> Tensor:
    """Patches (≤ DISTINCT, C, p²) of some of the pictures, each once however common: most of a picture may be paper."""
    enough = 4 * DISTINCT // math.prod(codec.patches(to_tensor(pictures[:1])).shape[1:3]) + 1
    some = pictures[torch.randperm(len(pictures), generator=generator)[:enough].numpy()]
    patches = codec.patches(to_tensor(some)).flatten(0, 2).unique(dim=0)
    return patches[torch.randperm(len(patches), generator=generator)[:DISTINCT]]


def climb_and_fall(done: float) -> float:
    """A learning rate: up over the first twentieth, then down along a cosine."""
    return min(1.0, 20 * done + 0.05) * (1 + math.cos(math.pi * done)) / 2


def sized(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))
