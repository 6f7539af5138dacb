"""Built-in images: two coloured shapes in opposite corners, labelled by equality.

    same          both have one shape and one colour
    same shape    one shape in two colours
    same colour   two shapes in one colour
    different     neither

Grey shapes between them are distractors. One part of an image never determines its label: a model has to look at both
corners.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.data.generated import Generated
from saccade.tasks.image.dataset import Example
from saccade.train.randomness import generator

__all__ = ["COLOURS", "GLYPHS", "LABELS", "SIDE", "Shapes"]

SIDE = 32  # pixels of height and width
HELD_OUT = 2000  # images of validation, and of test
LABELS = ("different", "same", "same colour", "same shape")

GLYPHS = {
    "disc": "..###.. .#####. ####### ####### ####### .#####. ..###..",
    "frame": "####### ####### ##...## ##...## ##...## ####### #######",
    "plus": "..###.. ..###.. ####### ####### ####### ..###.. ..###..",
    "cross": "##...## ###.### .#####. ..###.. .#####. ###.### ##...##",
    "triangle": "...#... ...#... ..###.. ..###.. .#####. .#####. #######",
    "hourglass": "####### .#####. ..###.. ...#... ..###.. .#####. #######",
}
COLOURS = {
    "red": (255, 60, 60),
    "green": (60, 220, 60),
    "blue": (80, 110, 255),
    "yellow": (250, 230, 60),
    "magenta": (240, 80, 240),
    "cyan": (60, 230, 230),
}

_EDGE, _ROOM = 7, 5  # pixels: a shape's side, and its largest distance from the corner
_DISTRACTORS = 5  # at most
_DRAWS = 64  # most random numbers of an image, all drawn at once
_NOISE = 24  # levels of grey behind the shapes


class Shapes(Generated[Example]):
    """Endless images to train on, and 2,000 each of validation and test.

    Two shapes of six forms and colours lie within five pixels of opposite corners, above up to five grey ones anywhere.

    Example:
        >>> data = Shapes()
        >>> image, label, group = data.example("test", 0)
        >>> image.shape, label in LABELS, bool((image == data.example("test", 0).image).all())
        (torch.Size([3, 32, 32]), True, True)
    """

    labels = LABELS
    shape = (3, SIDE, SIDE)

    def make(self, split: str, index: int) -> Example:
        draws = generator(0, "shapes", split, index)
        numbers = iter(torch.rand(_DRAWS, generator=draws).tolist())
        label = LABELS[int(next(numbers) * len(LABELS))]
        return Example(_drawn(label, numbers, draws), label, "")

    @property
    def held_out(self) -> int:
        return HELD_OUT

    @property
    def fingerprint(self) -> str:
        """Description of the images, in one string."""
        return f"shapes {SIDE} × {SIDE}, {len(GLYPHS)} forms, {len(COLOURS)} colours, {_DISTRACTORS} distractors"


def _drawn(label: str, numbers: Iterator[float], draws: torch.Generator) -> Tensor:
    canvas = torch.randint(0, _NOISE, (3, SIDE, SIDE), generator=draws, dtype=torch.uint8)
    pixels = canvas.numpy()
    for _ in range(int(next(numbers) * (_DISTRACTORS + 1))):
        grey = 70 + int(next(numbers) * 60)
        corner = int(next(numbers) * (SIDE - _EDGE + 1)), int(next(numbers) * (SIDE - _EDGE + 1))
        _put(pixels, int(next(numbers) * len(GLYPHS)), (grey, grey, grey), corner)
    form, colour = int(next(numbers) * len(GLYPHS)), int(next(numbers) * len(COLOURS))
    other_form = form if label in ("same", "same shape") else _another(form, len(GLYPHS), next(numbers))
    other_colour = colour if label in ("same", "same colour") else _another(colour, len(COLOURS), next(numbers))
    far = SIDE - _EDGE
    left = next(numbers) < 0.5  # where the upper shape is
    for lower, (which, hue) in enumerate(((form, colour), (other_form, other_colour))):
        down, aside = int(next(numbers) * (_ROOM + 1)), int(next(numbers) * (_ROOM + 1))
        corner = (far - down if lower else down), (aside if left != bool(lower) else far - aside)
        light = 1 - next(numbers) / 3
        red, green, blue = list(COLOURS.values())[hue]
        _put(pixels, which, (int(light * red), int(light * green), int(light * blue)), corner)
    return canvas


def _another(number: int, count: int, draw: float) -> int:
    return (number + 1 + int(draw * (count - 1))) % count


def _put(pixels: NDArray[np.uint8], form: int, colour: tuple[int, int, int], corner: tuple[int, int]) -> None:
    top, left = corner
    patch = pixels[:, top : top + _EDGE, left : left + _EDGE]
    for channel, value in zip(patch, colour, strict=True):
        channel[_masks()[form]] = value


@cache
def _masks() -> NDArray[np.bool_]:
    return np.array([[[dot == "#" for dot in row] for row in drawn.split()] for drawn in GLYPHS.values()])
