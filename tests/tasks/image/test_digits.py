"""Digits, alone and on canvases: wholly inside, functions of seed and number, each held-out one once."""

from collections import Counter

import numpy as np
import pytest
import torch

from saccade.data import Rows
from saccade.data.dataset import SPLITS
from saccade.errors import ArgumentError
from saccade.tasks.image.dataset import ImageRows
from saccade.tasks.image.digits import Clutter, DigitRow, open_digits
from tiers import every


def levels(labels, level):
    """Squares of one brightness, by the number of their split and of their label."""
    rows = {
        split: [
            {"image": np.full((1, 6, 5), level(number, label), np.uint8), "label": "abc"[label]} for label in labels
        ]
        for number, split in enumerate(SPLITS)
    }
    return ImageRows(Rows(rows, ""))


BY_SPLIT = levels((0, 1, 0), lambda split, label: 50 * (split + 1))
BY_LABEL = levels((0, 1, 2, 1), lambda split, label: 50 + 10 * label)


def test_digits_have_ten_classes_and_disjoint_splits():
    data = open_digits()
    assert [data.size(split) for split in SPLITS] == [1439, 179, 179] and len(data.labels) == 10
    seen = [{row["image"].tobytes() for row in data.rows.splits[split]} for split in SPLITS]
    assert not seen[0] & seen[1] and not seen[0] & seen[2] and not seen[1] & seen[2]
    image = data.example("train", 0).image
    assert image.max() > 200 and not image[:, :2].any() and not image[:, :, -2:].any()


def test_a_digit_lies_wholly_on_a_black_canvas_and_anywhere():
    data, places = Clutter(BY_SPLIT, 12), set()
    for index in range(200):
        image, label, _ = data.example("train", index)
        rows, columns = (image[0] > 0).any(1).nonzero(), (image[0] > 0).any(0).nonzero()
        assert int((image > 0).sum()) == 30 and image.max() == 50 and label in "ab"
        assert (len(rows), len(columns)) == (6, 5)
        places.add((int(rows[0]), int(columns[0])))
    assert {row for row, _ in places} == set(range(7)) and {column for _, column in places} == set(range(8))


def test_held_out_digits_are_shown_once_with_own_pieces():
    data = Clutter(BY_SPLIT, 40, pieces=3, piece=2)
    assert [data.size(split) for split in SPLITS] == [None, 3, 3]
    assert [data.example("test", index).label for index in range(3)] == ["a", "b", "a"]
    for split, level in (("train", 50), ("validation", 100), ("test", 150)):
        image = data.example(split, 1).image
        assert set(image.unique().tolist()) == {0, level}
        assert 30 < int((image > 0).sum()) <= 30 + 3 * 4
    assert data.shape == (1, 40, 40) and data.labels == ("a", "b")


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
    data, lengths, edges = DigitRow(BY_LABEL, 22), Counter(), set()
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
    data = DigitRow(BY_LABEL, 22, shortest=2, longest=2)
    assert [data.size(split) for split in SPLITS] == [None, 4, 4] and data.labels == ("a", "b", "c")
    found = [data.example("test", index).label for index in range(4)]
    assert [label[0] for label in found] == ["a", "b", "c", "b"] and {len(label) for label in found} == {2}


@pytest.mark.parametrize(("kind", "sizes"), [(Clutter, {"pieces": 2, "piece": 2}), (DigitRow, {})])
def test_an_image_is_a_function_of_seed_split_and_number(kind, sizes):
    one, again, other = (kind(BY_LABEL, 20, seed, **sizes) for seed in (0, 0, 1))
    images = [torch.stack([data.example("train", index).image for index in range(5)]) for data in (one, again, other)]
    assert torch.equal(images[0], images[1]) and not torch.equal(images[0], images[2])
    assert one.fingerprint == again.fingerprint != other.fingerprint and "seed 1" in other.fingerprint


@every(
    ("kind", "sizes", "said"),
    [
        (Clutter, {"canvas": 5}, "--canvas: expected from 6, the digits' side, to 4096 pixels, got 5"),
        (Clutter, {"canvas": 5000}, "--canvas: expected from 6"),
        (Clutter, {"pieces": -1}, "--distractors: expected a number from 0 to 1000, got -1"),
        (Clutter, {"pieces": 1, "piece": 6}, "--distractor-size: expected from 1 to 5 pixels, the digits' side, got 6"),
        (Clutter, {"pieces": 1, "piece": 0}, "--distractor-size: expected from 1"),
        (DigitRow, {"longest": 0}, "--longest: expected a number from 1 to 100, got 0"),
        (DigitRow, {"shortest": 4}, "--shortest: expected a number from 1 to 3, which is --longest, got 4"),
        (DigitRow, {"shortest": 0}, "--shortest: expected"),
        (DigitRow, {"canvas": 14}, "--canvas: expected from 15, 3 digits side by side, to 4096 pixels, got 14"),
    ],
)
def test_digits_without_room_are_rejected(kind, sizes, said):
    with pytest.raises(ArgumentError, match=said):
        kind(BY_LABEL, **{"canvas": 22, **sizes})


def test_labels_of_several_characters_make_no_strings():
    longer = [{**row, "label": row["label"].replace("b", "bb")} for row in BY_LABEL.rows.splits["train"]]
    with pytest.raises(ArgumentError, match="--digits: expected labels of one character each to make rows of, got bb"):
        DigitRow(ImageRows(Rows(dict.fromkeys(SPLITS, longer), "")), 22)
