"""Rows of digits: wholly inside, from left to right, none over another, the same ones for the same number."""

from collections import Counter

import numpy as np
import pytest
import torch

from saccade.data.dataset import SPLITS
from saccade.errors import ArgumentError
from saccade.tasks.image.dataset import InMemory, Part
from saccade.tasks.image.row import Row

CODES = np.array([0, 1, 2, 1])
LEVELS = InMemory(
    {
        split: Part(np.stack([np.full((1, 6, 5), 50 + 10 * code, np.uint8) for code in CODES]), CODES)
        for split in SPLITS
    },
    ("a", "b", "c"),
    "",
)


def read(image):
    """The row from its pixels: blocks of one brightness, 5 columns each."""
    line = image[0].amax(0).tolist()
    found, column = "", 0
    while column < len(line):
        if line[column]:
            assert len(set(line[column : column + 5])) == 1  # one digit and no other
            found, column = found + "abc"[(line[column] - 50) // 10], column + 5
        else:
            column += 1
    return found


def test_a_label_is_the_string_from_left_to_right():
    data, lengths, edges = Row(LEVELS, 22, 1, 3), Counter(), set()
    for index in range(300):
        image, label, group = data.example("train", index)
        assert image.shape == (1, 22, 22) and read(image) == label and group == ""
        rows, columns = ((image[0] > 0).any(axis).nonzero()[:, 0] for axis in (1, 0))
        assert int(rows[-1] - rows[0]) == 5 and int((image > 0).sum()) == 30 * len(label)
        lengths[len(label)] += 1
        edges |= {int(rows[0]), 100 + int(columns[0]), 200 + int(columns[-1])}
    assert set(lengths) == {1, 2, 3} and min(lengths.values()) > 60
    assert {0, 16, 100, 221} <= edges  # they come up to all sides


def test_rows_of_one_length_and_each_held_out_digit_is_shown():
    data = Row(LEVELS, 22, 2, 2)
    assert [data.size(split) for split in SPLITS] == [None, 4, 4] and data.labels == ("a", "b", "c")
    found = [data.example("test", index).label for index in range(4)]
    assert [label[0] for label in found] == ["a", "b", "c", "b"] and {len(label) for label in found} == {2}


def test_an_image_is_a_function_of_seed_split_and_number():
    one, again, other = Row(LEVELS, 22), Row(LEVELS, 22), Row(LEVELS, 22, seed=1)
    images = [torch.stack([data.example("train", index).image for index in range(5)]) for data in (one, again, other)]
    assert torch.equal(images[0], images[1]) and not torch.equal(images[0], images[2])
    assert one.fingerprint == again.fingerprint != other.fingerprint != Row(LEVELS, 22, 2).fingerprint


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"longest": 0}, "--longest: expected a number from 1 to 100, got 0"),
        ({"shortest": 4}, "--shortest: expected a number from 1 to 3, which is --longest, got 4"),
        ({"shortest": 0}, "--shortest: expected"),
        ({"canvas": 14}, "--canvas: expected from 15, 3 digits side by side, to 4096 pixels, got 14"),
    ],
)
def test_what_has_no_room_is_refused(sizes, said):
    with pytest.raises(ArgumentError, match=said):
        Row(LEVELS, **{"canvas": 22, **sizes})


def test_labels_of_several_characters_make_no_strings():
    with pytest.raises(ArgumentError, match="--digits: expected labels of one character each to make rows of, got bb"):
        Row(InMemory(LEVELS.parts, ("a", "bb", "c"), ""), 22)
