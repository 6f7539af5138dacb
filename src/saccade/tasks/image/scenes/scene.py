"""Scenes of coloured shapes in square boxes on a dark, noisy ground.

A scene at random lies on a board of 8 × 8 slots of 12 × 12 pixels. No two things are in one column or row of it, as
rooks that do not attack each other. So boxes never overlap, and of any two things one is left, and one is above.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.errors import ArgumentError

__all__ = [
    "COLOURS", "MOST", "NOISE", "SHAPES", "SIDE", "Box", "Scene", "Thing", "boxes_at_random", "check_things", "draw",
    "scene_at_random",
]  # fmt: skip

MOST = 8  # things of a scene, as there are rows and columns of slots
_SLOT = 12  # pixels of a slot's side
SIDE = MOST * _SLOT  # pixels of height and width
SHAPES = ("circle", "square", "triangle", "cross")
#: Colours and their red, green and blue, of which light takes up to a third away.
COLOURS = {
    "red": (255, 50, 50),
    "green": (50, 220, 50),
    "blue": (70, 90, 255),
    "yellow": (250, 230, 50),
    "magenta": (240, 60, 240),
    "cyan": (50, 230, 230),
}

_LEAST_SIDE = 9  # pixels of the smallest thing
NOISE = 31  # brightest level of the ground, one below a power of two, as its bits are cut out of random bytes
_WORDS = 3 * SIDE * SIDE // 8  # random words of 8 bytes that make the ground
_FINE = 8  # points by which each pixel of a stamp is measured, in either direction


class Box(NamedTuple):
    """The box of a thing, in pixels from the upper left corner of the image.

    The last two are exclusive.

    >>> Box(12, 24, 21, 33).right
    21
    """

    left: int
    top: int
    right: int
    bottom: int


class Thing(NamedTuple):
    """A coloured shape in a box.

    >>> Thing("red", "circle", Box(12, 24, 21, 33)).colour
    'red'
    """

    colour: str
    shape: str
    box: Box


class Scene(NamedTuple):
    """Things that share no row and no column of pixels, in square boxes.

    >>> Scene((Thing("red", "circle", Box(0, 0, 9, 9)),)).things[0].shape
    'circle'
    """

    things: tuple[Thing, ...]


def scene_at_random(generator: torch.Generator, least: int = 1, most: int = 4) -> Scene:
    """Return a random scene of `least` to `most` things, from left to right.

    All random numbers are drawn at once. All numbers of things, colours, shapes, sizes and places are equally likely.

    Example:
        >>> scene = scene_at_random(torch.Generator().manual_seed(5), least=3, most=3)
        >>> [f"{thing.colour} {thing.shape}" for thing in scene.things]
        ['green cross', 'blue circle', 'green triangle']
    """
    numbers = torch.rand(1 + MOST + 5 * MOST, generator=generator, dtype=torch.float64).tolist()
    count = least + int(numbers[0] * (most - least + 1))
    looks = [(colour, shape) for colour in COLOURS for shape in SHAPES]
    boxes = boxes_at_random(count, numbers[1 + MOST :])
    things = [Thing(*looks[int(n * len(looks))], box) for n, box in zip(numbers[1:], boxes, strict=False)]
    return Scene(tuple(sorted(things, key=lambda thing: thing.box.left)))


def check_things(least: int, most: int, fewest: int = 1) -> None:
    """Reject impossible numbers of things.

    >>> check_things(5, 3)
    Traceback (most recent call last):
    saccade.errors.ArgumentError: --least: expected a number of things from 1 to 3, which is --most, got 5
    """
    if not fewest <= most <= MOST:
        raise ArgumentError(f"--most: expected a number of things from {fewest} to {MOST}, got {most}")
    if not fewest <= least <= most:
        expected = f"a number of things from {fewest} to {most}, which is --most"
        raise ArgumentError(f"--least: expected {expected}, got {least}")


def boxes_at_random(count: int, numbers: Sequence[float]) -> list[Box]:
    """Return random boxes: squares of 9 to 12 pixels anywhere within their slots.

    All boards and all orders of the boxes are equally likely.

    Args:
        count: of things, 0 to 8.
        numbers: 16 random ones in [0, 1) and three more for each thing.

    Example:
        >>> boxes_at_random(2, [index / 22 for index in range(22)])
        [Box(left=1, top=1, right=12, bottom=12), Box(left=12, top=12, right=24, bottom=24)]
    """
    columns = sorted(range(MOST), key=numbers.__getitem__)
    rows = sorted(range(MOST), key=numbers[MOST : 2 * MOST].__getitem__)
    boxes = []
    for index in range(count):
        at = 2 * MOST + 3 * index
        side = _LEAST_SIDE + int(numbers[at] * (_SLOT - _LEAST_SIDE + 1))
        left = _SLOT * columns[index] + int(numbers[at + 1] * (_SLOT - side + 1))
        top = _SLOT * rows[index] + int(numbers[at + 2] * (_SLOT - side + 1))
        boxes.append(Box(left, top, left + side, top + side))
    return boxes


def draw(scene: Scene, generator: torch.Generator) -> Tensor:
    """Draw a scene, `(3, 96, 96)`, uint8: things in random light on a ground of noise.

    Example:
        >>> scene = Scene((Thing("red", "square", Box(10, 20, 20, 30)),))
        >>> image = draw(scene, torch.Generator().manual_seed(1))
        >>> image.shape, bool(image[0, 20:30, 10:20].min() > 160), int(image[:, :20].max())
        (torch.Size([3, 96, 96]), True, 31)
    """
    words = torch.empty(_WORDS + len(scene.things), dtype=torch.int64).random_(generator=generator)
    image = words[:_WORDS].view(torch.uint8).bitwise_and_(NOISE).view(3, SIDE, SIDE)
    pixels = image.numpy()
    for thing, word in zip(scene.things, words[_WORDS:].tolist(), strict=True):
        left, top, right, bottom = thing.box
        light = 1 - word % 1024 / 1024 / 3
        ink, ground = _stamps(thing.colour, thing.shape, right - left)
        patch = pixels[:, top:bottom, left:right]
        patch[...] = ground * patch + light * ink
    return image


@cache
def _stamps(colour: str, shape: str, side: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Colours of a thing in full light, and the visible share of the ground.

    Shapes are `(3, side, side)` and `(side, side)`.
    """
    cover = _cover(shape, side)
    return np.array(COLOURS[colour], np.float32)[:, None, None] * cover, 1 - cover


@cache
def _cover(shape: str, side: int) -> NDArray[np.float32]:
    """The share of each pixel that a shape covers: counted on a grid of finer points."""
    points = (np.arange(side * _FINE) + 0.5) / (side * _FINE) * 2 - 1
    x, y = points[None, :], points[:, None]  # from −1 to 1: right, and down
    inside = {
        "circle": x**2 + y**2 <= 1,
        "square": np.ones((len(points), len(points)), np.bool_),
        "triangle": np.abs(x) <= (1 + y) / 2,
        "cross": np.abs(np.abs(x) - np.abs(y)) <= 0.4,
    }[shape]
    share: NDArray[np.float32] = inside.reshape(side, _FINE, side, _FINE).mean((1, 3), dtype=np.float32)
    return share
