"""Animated pictures: as many as there are words, of one size, each with its map, its word and those before."""

from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest
import torch
from PIL import Image, ImageSequence

from saccade.look.animation import _last_lines, animated, word_by_word

WORDS = ("a", "red", "dog", "⏎")


def frames(content):
    with Image.open(BytesIO(content)) as animation:
        assert animation.format == "GIF" and animation.info["loop"] == 0
        return [(frame.convert("RGB"), frame.info["duration"]) for frame in ImageSequence.Iterator(animation)]


def drawn(pixels=None, values=None, words=WORDS, marks=None):
    pixels = torch.full((30, 40, 3), 0.5, dtype=torch.double) if pixels is None else pixels
    values = torch.full((len(words), 2, 2), 0.25, dtype=torch.double) if values is None else values
    return word_by_word(pixels, values, words, [None] * len(words) if marks is None else marks, 1.0)


def middle(picture, row, column, rows=2, columns=2):
    """The colour in the middle of a cell: the image is 3 inches wide and lies below a line, 100 pixels to the inch."""
    high = 300 * 30 / 40
    return picture.getpixel((8 + round(300 * (column + 0.5) / columns), 30 + round(high * (row + 0.5) / rows)))


def cyan(picture):
    """How many pixels have the colour of frames."""
    red, green, blue = np.asarray(picture).astype(int).transpose(2, 0, 1)
    return int(((green > 180) & (green > red + 60) & (blue > 200)).sum())


def test_every_picture_is_shown_and_the_last_one_longer():
    pictures = [Image.new("RGB", (5, 3), colour) for colour in ("red", "blue", "green")]
    found = frames(animated(pictures))
    assert [picture.getpixel((0, 0)) for picture, _ in found] == [each.getpixel((0, 0)) for each in pictures]
    assert [pause for _, pause in found] == [700, 700, 2000]


def test_a_word_is_a_picture_though_its_map_is_the_one_before_it():
    pictures = [picture for picture, _ in frames(drawn(words=("so",) * 12))]
    assert len(pictures) == 12 and {picture.size for picture in pictures} == {(316, 328)}
    assert all(first.tobytes() != second.tobytes() for first, second in pairwise(pictures))


def test_the_weighted_cell_is_bright_and_the_read_framed():
    values = torch.zeros(4, 2, 2, dtype=torch.double)
    for number in range(4):
        values[number, number // 2, number % 2] = 1.0
    plain = [picture for picture, _ in frames(drawn(values=values))]
    marks = [divmod(number, 2) for number in range(4)]
    boxes = [(x / 2, y / 2, (x + 1) / 2, (y + 1) / 2) for y, x in marks]
    framed = [picture for picture, _ in frames(drawn(values=values, marks=boxes))]
    for number, picture in enumerate(plain):
        bright = {divmod(cell, 2): sum(middle(picture, *divmod(cell, 2))) for cell in range(4)}
        assert max(bright, key=bright.get) == marks[number]
    assert min(map(cyan, framed)) > 200 and not any(map(cyan, plain))


@pytest.mark.parametrize("shape", [(1, 600), (600, 1), (7, 5), (600, 450)])
def test_pictures_are_bounded_whatever_the_image_is(shape):
    content = drawn(torch.rand(*shape, 3, dtype=torch.double), words=("猫が", "見る") * 2)
    [(first, _), *_] = found = frames(content)
    assert len(found) == 4 and max(first.size) <= 420 and min(first.size) >= 100 and len(content) < 400_000


def test_of_many_lines_the_last_are_seen():
    assert _last_lines(["a", " red", " dog"], 3.0) == "a red dog"
    words = [f"word{number}" for number in range(40)]
    lines = _last_lines(words, 3.0).split("\n")
    assert len(lines) == 3 and lines[0].startswith("… word") and lines[-1].endswith("word39")
    assert max(map(len, _last_lines(["猫" * 50], 3.0).split("\n"))) <= 23
