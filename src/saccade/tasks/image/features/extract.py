"""Features of all images of a folder, extracted once."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from saccade._system.files import check_folder
from saccade.errors import ArgumentError
from saccade.tasks.image.features.encoders import Encoder
from saccade.tasks.image.features.store import write_store
from saccade.tasks.image.images import read_image
from saccade.tasks.image.places import Images, Place, read_place

__all__ = ["extract", "found"]

_BATCH = 32  # images at once
_SIZES = range(16, 2049)  # pixels


def extract(
    images: Path, encoder: Encoder, output: Path, *, size: int = 224, told: Callable[[int, int], None] | None = None
) -> int:
    """Extract maps of features of all images below a folder or in an archive, and write them as a store.

    An image is scaled until it covers `size` × `size` and its middle is cut out, as the shares of boxes mean it.

    Args:
        images: the folder or archive (.tar, .zip).
        encoder: what makes the maps.
        output: where the store shall be; nothing is there yet.
        size: pixels of height and width that images are scaled to.
        told: called with how many images are done and how many there are.

    Returns:
        How many images there are.

    Raises:
        ArgumentError: naming the image that is none, or what else is wrong.
        OSError: if something cannot be read or written.
    """
    places = found(images, output, size)
    _, grid = encoder.maps(torch.zeros(1, 3, size, size, dtype=torch.uint8))
    name = f"{encoder.name} {encoder.layer} {size} × {size}"
    maps = _maps([place for _, place in places], encoder, size, told)
    write_store(output, [path for path, _ in places], maps, grid=grid, encoder=name, weights=encoder.weights)
    return len(places)


def found(images: Path, output: Path, size: int) -> list[tuple[str, Place]]:
    """Return the images that `extract` would extract features of, once nothing is wrong with what it is given.

    Args:
        images: the folder or archive (.tar, .zip).
        output: where the store shall be; nothing is there yet.
        size: pixels of height and width.

    Raises:
        ArgumentError: naming what is wrong.
        OSError: if the folder or archive cannot be read.
    """
    if size not in _SIZES:
        raise ArgumentError(f"--size: expected pixels from {_SIZES[0]} to {_SIZES[-1]}, got {size}")
    if output.exists():
        raise ArgumentError(f"--output: expected a place where nothing is, got {output}, which is there; name another")
    check_folder("--output", output.parent)
    if not images.exists():
        raise ArgumentError(f"expected a folder or archive of images, found none at {images}")
    places = list(Images(images).all())
    if not places:
        raise ArgumentError(f"{images}: expected images in or below it, found none")
    return places


def _maps(
    places: list[Place], encoder: Encoder, size: int, told: Callable[[int, int], None] | None
) -> Iterator[Tensor]:
    """The map of each image in turn."""
    for first in range(0, len(places), _BATCH):
        batch = places[first : first + _BATCH]
        read = [read_image(io.BytesIO(read_place(place)), place.told, channels=3, size=(size, size)) for place in batch]
        yield from encoder.maps(torch.stack(read))[0]
        if told:
            told(first + len(batch), len(places))
