"""Image files as tensors: 8 bits a channel, grey or RGB, upright, opaque."""

import io
import struct
import sys
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
import torch
from torch import Tensor

from saccade._threads import own_filters
from saccade.data.media import attachment, read_bytes
from saccade.errors import ArgumentError, SaccadeError, pip_install

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["LARGEST", "SUFFIXES", "Pixels", "batch_of", "encode_png", "image_of", "read_image"]

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp")
"""Suffixes of image files in a folder. A file given by path may have any."""
LARGEST = 64
"""Pixels of the sides of images by default, at most."""

_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # no PostScript, which would run a program
_MOST_BYTES, _MOST_PIXELS, _LEAST_SIDE = 256 << 20, 64_000_000, 2
_GREY = ("1", "L", "I", "I;16", "I;16B", "I;16L", "I;16N")
_STEPS = {"L;2": 85, "L;4": 17}  # between levels of 2 and 4 bits, as Pillow spreads them over 8
_DAMAGED = (  # errors of decoders on bytes that are no image
    OSError, SyntaxError, ValueError, TypeError, KeyError, IndexError, EOFError, OverflowError, AttributeError,
    struct.error, zlib.error,
)  # fmt: skip


def read_image(
    source: Path | BinaryIO, name: str, *, channels: int | None = None, size: tuple[int, int] | None = None
) -> Tensor:
    """Read an image file (PNG, JPEG, GIF, BMP, WebP, TIFF, PPM).

    It is turned upright by its EXIF data. Of an animation the first frame is read, transparent parts lie over white,
    and 16 bits a channel become 8. With a size it is scaled until it covers that, and its middle is cut out.

    Args:
        source: the file, or its bytes.
        name: of the image in messages.
        channels: 1 (grey, by luminance) or 3 (RGB); None: 1 if the file is grey without transparency, else 3.
        size: height and width of the result; None: those of the file.

    Returns:
        `(channels, height, width)`, uint8.

    Raises:
        ArgumentError: if it is no image of these kinds, is damaged, has more than 64 million pixels or a side below 2,
            or has numbers of more than 16 bits.
        SaccadeError: if Pillow is not installed.

    Example:
        >>> from PIL import Image
        >>> file = io.BytesIO()
        >>> Image.new("RGBA", (4, 3), (255, 0, 0, 0)).save(file, "PNG")
        >>> read_image(io.BytesIO(file.getvalue()), "clear.png", channels=1, size=(2, 2))[0, 0]
        tensor([255, 255], dtype=torch.uint8)
    """
    data = read_bytes(source, name, "an image", _MOST_BYTES, "scale it down")
    pillow, operations = _pillow()
    if not data:
        raise ArgumentError(f"{name}: expected an image, got an empty file")
    if channels not in (None, 1, 3):
        raise ArgumentError(f"channels: expected 1 or 3, got {channels}")
    with own_filters():
        warnings.simplefilter("ignore")  # of damaged metadata, and of a size that is checked here
        try:
            with pillow.open(io.BytesIO(data), formats=_FORMATS) as image:
                width, height = image.size
                if width * height > _MOST_PIXELS:
                    raise pillow.DecompressionBombError(f"{width} × {height}")
                if min(image.size) < _LEAST_SIDE:
                    raise ArgumentError(f"{name}: expected an image of 2 × 2 pixels or more, got {width} × {height}")
                _scale_level(image)
                upright = operations.exif_transpose(image)
                grey = channels == 1 or (
                    channels is None and upright.mode in _GREY and "transparency" not in upright.info
                )
                pixels = _opaque(_eight_bits(upright, name)).convert("L" if grey else "RGB")
                if size is not None and pixels.size != size[::-1]:
                    pixels = operations.fit(pixels, size[::-1], pillow.Resampling.BICUBIC)
        except (pillow.DecompressionBombError, MemoryError) as error:
            got = str(error) if "×" in str(error) else "more"
            expected = "expected an image of at most 64 million pixels"
            raise ArgumentError(f"{name}: {expected}, got {got}; scale it down") from error
        except pillow.UnidentifiedImageError as error:
            kinds = ", ".join(_FORMATS[:-1])
            raise ArgumentError(f"{name}: expected an image ({kinds} or {_FORMATS[-1]}), got another file") from error
        except ArgumentError:
            raise
        except _DAMAGED as error:
            got = " ".join(str(error).split())[:100] or type(error).__name__
            raise ArgumentError(f"{name}: expected a whole image, got a damaged one ({got})") from error
    array = np.array(pixels, dtype=np.uint8)
    return torch.from_numpy(array[None] if grey else np.ascontiguousarray(array.transpose(2, 0, 1)))


class Pixels(NamedTuple):
    """An image with its name, `(channels, height, width)`, uint8."""

    name: str
    image: Tensor


def image_of(line: str, channels: int, size: tuple[int, int] | None = None) -> Pixels:
    """Read an image from a path, or from standard input for "-".

    It has 1 channel (grey) or 3 (RGB): see `read_image`.
    """
    name: str = "standard input" if line == "-" else line
    source: Any = attachment(line) or (sys.stdin.buffer if line == "-" else Path(line))
    return Pixels(line, read_image(source, name, channels=channels, size=size))


def batch_of(images: Sequence[Pixels]) -> Tensor:
    """Return images of one size as a batch, `(batch, channels, height, width)`.

    Numbers are in [0, 1].

    >>> batch_of([Pixels("a.png", torch.full((1, 2, 2), 255, dtype=torch.uint8))]).max()
    tensor(1.)
    """
    shapes = {tuple(pixels.image.shape) for pixels in images}
    if len(shapes) > 1:
        raise ArgumentError(f"inputs: expected images of one size, got {sorted(shapes)}; encode them one by one")
    return torch.stack([pixels.image for pixels in images]).float() / 255


def encode_png(image: Tensor) -> bytes:
    """Encode an image `(channels, height, width)`, uint8, as PNG, without loss.

    >>> image = torch.randint(0, 256, (3, 5, 4), dtype=torch.uint8)
    >>> torch.equal(read_image(io.BytesIO(encode_png(image)), "a.png"), image)
    True
    """
    pillow, _ = _pillow()
    array, file = image.numpy(), io.BytesIO()
    pillow.fromarray(array[0] if len(array) == 1 else array.transpose(1, 2, 0).copy()).save(file, "PNG")
    return file.getvalue()


def _eight_bits(image: "Image", name: str) -> "Image":
    """Convert an image to 8 bits a channel: the upper 8 of 16 bits."""
    if image.mode == "F":
        raise ArgumentError(f"{name}: expected 8 or 16 bits a channel, got floating point numbers; save it as a PNG")
    if not image.mode.startswith("I"):
        return image
    values = np.asarray(image).astype(np.int64)
    if values.min() < 0 or values.max() >= 1 << 16:
        raise ArgumentError(f"{name}: expected 8 or 16 bits a channel, got {values.min()} to {values.max()}")
    from PIL import Image

    grey = Image.fromarray((values >> 8).astype(np.uint8))
    if (level := image.info.get("transparency")) is None:
        return grey
    return Image.merge("LA", (grey, Image.fromarray(np.where(values == level, 0, 255).astype(np.uint8))))


def _scale_level(image: Any) -> None:
    """Scale the transparent level of a PNG to the 8 bits of its pixels.

    Pillow reads the upper 8 bits of 16-bit RGB.
    """
    level, raw = image.info.get("transparency"), image.tile[0][3] if image.format == "PNG" and image.tile else None
    if level is not None and raw in _STEPS:
        image.info["transparency"] = level * _STEPS[raw]
    elif level is not None and raw == "RGB;16B":
        image.info["transparency"] = tuple(value >> 8 for value in level)


def _opaque(image: "Image") -> "Image":
    """Put transparent parts of an image over white."""
    if "transparency" not in image.info and image.mode not in ("RGBA", "LA", "PA", "RGBa", "La"):
        return image
    from PIL import Image

    colours = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, (255, 255, 255, 255)), colours)


def _pillow() -> tuple[Any, Any]:
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        way_out = pip_install("train")
        raise SaccadeError(f"reading images needs Pillow, which is not installed: {way_out}") from error
    return Image, ImageOps
