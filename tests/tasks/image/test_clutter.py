"""Digits on a canvas: the same ones for the same number, wholly inside, among pieces of other digits."""

import numpy as np
import pytest
import torch

from saccade.data.dataset import SPLITS
from saccade.errors import ArgumentError
from saccade.tasks.image.clutter import Clutter
from saccade.tasks.image.dataset import InMemory, Part
from saccade.tasks.image.digits import open_digits
from tiers import every

LEVELS = InMemory(
    {
        split: Part(np.full((3, 1, 6, 5), 50 * (number + 1), np.uint8), np.array([0, 1, 0]))
        for number, split in enumerate(SPLITS)
    },
    ("a", "b"),
    "",
)


def test_a_digit_lies_wholly_on_a_black_canvas_and_anywhere():
    data, places = Clutter(LEVELS, 12), set()
    for index in range(200):
        image, label, _ = data.example("train", index)
        rows, columns = (image[0] > 0).any(1).nonzero(), (image[0] > 0).any(0).nonzero()
        assert int((image > 0).sum()) == 30 and image.max() == 50 and label in "ab"
        assert (len(rows), len(columns)) == (6, 5)
        places.add((int(rows[0]), int(columns[0])))
    assert {row for row, _ in places} == set(range(7)) and {column for _, column in places} == set(range(8))


def test_held_out_digits_are_shown_once_with_own_pieces():
    data = Clutter(LEVELS, 40, pieces=3, piece=2)
    assert [data.size(split) for split in SPLITS] == [None, 3, 3]
    assert [data.example("test", index).label for index in range(3)] == ["a", "b", "a"]
    for split, level in (("train", 50), ("validation", 100), ("test", 150)):
        image = data.example(split, 1).image
        assert set(image.unique().tolist()) == {0, level}
        assert 30 < int((image > 0).sum()) <= 30 + 3 * 4
    assert data.shape == (1, 40, 40) and data.labels == ("a", "b")


def test_an_image_is_a_function_of_seed_split_and_number():
    one, again, other = Clutter(LEVELS, 20, 2, 2), Clutter(LEVELS, 20, 2, 2), Clutter(LEVELS, 20, 2, 2, seed=1)
    images = [data.example("train", 7).image for data in (one, again, other)]
    assert torch.equal(images[0], images[1]) and not torch.equal(images[0], images[2])
    assert one.fingerprint == again.fingerprint and "seed 1" in other.fingerprint


@every(
    ("sizes", "said"),
    [
        ((5,), "--canvas: expected from 6, the digits' side, to 4096 pixels, got 5"),
        ((5000,), "--canvas: expected from 6"),
        ((20, -1), "--distractors: expected a number from 0 to 1000, got -1"),
        ((20, 1, 6), "--distractor-size: expected from 1 to 5 pixels, the digits' side, got 6"),
        ((20, 1, 0), "--distractor-size: expected from 1"),
    ],
)
def test_what_has_no_room_is_refused(sizes, said):
    with pytest.raises(ArgumentError, match=said):
        Clutter(LEVELS, *sizes)


def test_digits_have_ten_classes_and_disjoint_splits():
    data = open_digits()
    assert [data.size(split) for split in SPLITS] == [1439, 179, 179] and len(data.labels) == 10
    seen = [{image.tobytes() for image in data.parts[split].images} for split in SPLITS]
    assert not seen[0] & seen[1] and not seen[0] & seen[2] and not seen[1] & seen[2]
    image = data.example("train", 0).image
    assert image.max() > 200 and not image[:, :2].any() and not image[:, :, -2:].any()
