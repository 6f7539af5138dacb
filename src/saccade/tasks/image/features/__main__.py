"""Extract features of images once, with the weights of a local file.

python -m saccade.tasks.image.features IMAGES --encoder torchvision:resnet50 --weights FILE --output FOLDER
"""

import argparse
import glob
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import torch
from torch import Tensor

from saccade._system.files import check_folder, left_over, system_error_line
from saccade._system.notes import open_streams, output, say
from saccade.errors import ArgumentError, SaccadeError
from saccade.models.encoders import Encoder, open_encoder
from saccade.tasks.image.features.store import write_store
from saccade.tasks.image.images import read_image
from saccade.tasks.image.places import Images, Place

__all__ = ["main"]

_INTERRUPTED = 130  # the exit code of a program that Ctrl-C ended
_BATCH = 32  # images per batch
_SIZES = range(16, 2049)  # pixels


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Args:
        arguments: those behind its name; None: those of this process.

    Returns:
        The exit code: 0, 2 after an error, 130 after Ctrl-C.

    Example:
        >>> main(["nowhere", "--encoder", "resnet50", "--weights", "a.safetensors", "--output", "store"])
        2
    """
    open_streams()
    try:
        options = _parser().parse_args(arguments)
        # before the weights, which take a while
        members = _checked_images(options.images, options.output, options.size)
        encoder = open_encoder(options.encoder, options.weights, options.layer)
        for path in left_over(options.output.parent, glob.escape(options.output.name)):
            say(f"{path} is of an extraction that was killed, unless one runs now: remove it")
        _extract(members, encoder, options.output, options.size)
        output(f"{options.output}: features of {len(members)} images")
    except SaccadeError as error:
        say(str(error))
        return 2
    except OSError as error:
        say(system_error_line(error))
        return 2
    except KeyboardInterrupt:
        say("interrupted")
        return _INTERRUPTED
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ArgumentError(f"{message}; see --help")


def _parser() -> argparse.ArgumentParser:
    usage, description = "python -m saccade.tasks.image.features", "Extract features of images once."
    parser = _Parser(prog=usage, description=description)
    parser.add_argument("images", type=Path, help="a folder with images, or an archive of them (.tar, .zip)")
    parser.add_argument("--encoder", required=True, help="torchvision:NAME or timm:NAME, such as torchvision:resnet50")
    parser.add_argument("--weights", required=True, type=Path, help="a file: .safetensors, or tensors alone in a .pth")
    parser.add_argument("--output", required=True, type=Path, help="the store's folder, where nothing is yet")
    parser.add_argument("--layer", help="the module whose output is taken; layer4 of a ResNet if not given")
    parser.add_argument("--size", type=int, default=224, help="pixels that images are scaled to (224)")
    return parser


def _checked_images(images: Path, output: Path, size: int) -> list[tuple[str, Place]]:
    """Check all arguments, and return the images with their paths."""
    if size not in _SIZES:
        raise ArgumentError(f"--size: expected pixels from {_SIZES[0]} to {_SIZES[-1]}, got {size}")
    if output.exists():
        raise ArgumentError(f"--output: expected a place where nothing is, got {output}, which is there; name another")
    check_folder("--output", output.parent)
    if not images.exists():
        raise ArgumentError(f"expected a folder or archive of images, found none at {images}")
    if not (members := Images(images).all()):
        raise ArgumentError(f"{images}: expected images in or below it, found none")
    return members


def _extract(members: Sequence[tuple[str, Place]], encoder: Encoder, output: Path, size: int) -> None:
    """Write the maps of images as a store.

    Each image is scaled until it covers a square, and cut to its middle.
    """

    def maps() -> Iterator[Tensor]:
        for first in range(0, len(members), _BATCH):
            batch = [member for _, member in members[first : first + _BATCH]]
            images = [
                read_image(io.BytesIO(member.read()), member.told, channels=3, size=(size, size)) for member in batch
            ]
            yield from encoder.maps(torch.stack(images))[0]
            say(f"{first + len(batch)} of {len(members)} images")

    _, grid = encoder.maps(torch.zeros(1, 3, size, size, dtype=torch.uint8))
    name = f"{encoder.name} {encoder.layer} {size} × {size}"
    write_store(output, [path for path, _ in members], maps(), grid=grid, encoder=name, weights=encoder.weights)


if __name__ == "__main__":
    sys.exit(main())
