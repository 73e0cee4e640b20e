"""Image files → pixels: upright, on white, grey or in colour, and of one size if that is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from regard.errors import DataError

Size = tuple[int, int]  # height and width, in pixels


def read_picture(path: Path, size: Size | None = None) -> np.ndarray:
    """One image file as pixels (H, W, C): upright, on white, grey (1) only if it is grey."""
    image = flat(path)
    if size is not None:
        image = fitted(image, size)
    pixels = np.asarray(image)
    return pixels.reshape(*pixels.shape[:2], -1)


def stacked(paths: Sequence[Path], size: Size | None) -> np.ndarray:
    """Image files as one array (N, H, W, C): in colour if any of them is."""
    pictures = [read_picture(paths[0], size)]
    height, width = pictures[0].shape[:2]
    for path in paths[1:]:
        picture = read_picture(path, size)
        if picture.shape[:2] != (height, width):  # told at once: all of a camera's may be more than memory holds
            raise DataError(
                f"{path} has {picture.shape[0]} × {picture.shape[1]} pixels and {paths[0]} has {height} × {width}: "
                "bring all to one size, as with --set data.picture_size=[32,32]"
            )
        pictures.append(picture)
    channels = max(picture.shape[-1] for picture in pictures)
    return np.stack([np.broadcast_to(picture, (height, width, channels)) for picture in pictures])


def flat(path: Path) -> Image.Image:
    """An image file without transparency, turned as its camera says, in mode L (grey) or RGB."""
    try:
        with refusing_bombs(), path.open("rb") as file, Image.open(file) as opened:
            image = ImageOps.exif_transpose(opened)
            if image.mode.startswith("I;16"):
                return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
            kind = "L" if image.mode in ("1", "L", "LA") else "RGB"
            if image.has_transparency_data:
                image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
            return image.convert(kind)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: give the path of an image file") from None
    except UnidentifiedImageError:
        raise DataError(f"{path} is not an image that can be read: save it as .png or .jpg") from None
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise DataError(f"{path} has more than {Image.MAX_IMAGE_PIXELS:,} pixels: make it smaller") from None
    except (OSError, ValueError, SyntaxError) as error:
        raise DataError(f"{path} cannot be read as an image, {error}: save it again") from None


@contextmanager
def refusing_bombs() -> Iterator[None]:
    """Within, what Pillow only warns of, a picture of very many pixels, is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        yield


def fitted(image: Image.Image, size: Size) -> Image.Image:
    """Scaled and cut at the longer sides, so that nothing is squeezed."""
    height, width = size
    return ImageOps.fit(image, (width, height), Image.Resampling.LANCZOS)


def resized(pixels: np.ndarray, size: Size | None) -> np.ndarray:
    if size is None or pixels.shape[1:3] == size:
        return pixels
    images = [fitted(Image.fromarray(each.squeeze(-1) if each.shape[-1] == 1 else each), size) for each in pixels]
    return np.stack([np.asarray(image).reshape(*size, -1) for image in images])
