from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from image_files import plain
from saccade.data.splits import SplitNames
from saccade.errors import ArgumentError
from saccade.tasks.image.dataset import check_scaled
from saccade.tasks.image.sources import open_files
from tiers import every


def opened(objects, size=None):
    return open_files("objects", size, objects, SplitNames())


def rows(count=40, shape=(8, 9), kind=np.uint8):
    numbers = np.random.default_rng(0)
    return [(numbers.integers(0, 256, shape).astype(kind), n % 3) for n in range(count)]


def test_every_row_is_in_one_split():
    data = opened(rows())
    sizes = [data.size(split) for split in ("train", "validation", "test")]
    assert sum(sizes) == 40 and min(sizes) > 0 and data.shape == (1, 8, 9) and data.labels == ("0", "1", "2")


def test_floats_channels_behind_and_tensors_are_same_images():
    plain = rows(shape=(8, 9, 3))
    data = opened(plain)
    floats = [(image / np.float32(255), label) for image, label in plain]
    ahead = [(torch.from_numpy(image).permute(2, 0, 1), label) for image, label in plain]
    named = [{"image": image, "label": label} for image, label in plain]
    for other in (floats, ahead, named):
        assert opened(other).fingerprint == data.fingerprint
    assert opened(rows(shape=(9, 8, 3))).fingerprint != data.fingerprint


class Table(list):
    """Rows as `datasets` has them, with the names of labels."""

    features = MappingProxyType({"label": SimpleNamespace(names=["ant", "bee", "cat"])})


def one(number):
    """An array of one number."""
    return np.array([number])


SCALARS = (int, np.int64, np.array, one, torch.tensor, lambda number: torch.tensor([[number]]))


@every("kind", SCALARS)
def test_labels_are_numbers_of_any_kind(kind):
    assert opened([(image, kind(label)) for image, label in rows()]).labels == ("0", "1", "2")
    named = opened(Table({"image": image, "label": kind(label)} for image, label in rows()))
    assert named.labels == ("ant", "bee", "cat")


@every(
    ("low", "high", "names"),
    [
        (torch.tensor(0.0, requires_grad=True), torch.tensor(1.0), ("0.0", "1.0")),
        (np.float32(0.1), one(np.float32(0.3)), ("0.1", "0.3")),
        (np.False_, np.True_, ("False", "True")),
        (np.str_("a"), np.str_("b"), ("a", "b")),
    ],
)
def test_labels_of_numpy_and_tensors_have_their_names(low, high, names):
    assert opened([(image, high if label else low) for image, label in rows()]).labels == names


def test_an_image_with_a_gradient_is_its_pixels():
    asked = [(torch.from_numpy(image / 255).requires_grad_(), label) for image, label in rows()]
    assert opened(asked).fingerprint == opened(rows()).fingerprint


def test_packed_images_are_scaled_to_size_that_is_asked_for():
    packed = [(plain((6 * level, 0, 0), size=(11, 13)), level % 2) for level in range(40)]
    assert opened(packed).shape == (3, 13, 11)
    assert opened(packed, 16).shape == (3, 16, 16)


@pytest.mark.parametrize("kind", [np.asarray, Image.fromarray])
def test_size_is_ignored_of_pixels_and_refused_of_a_new_run(kind):
    given = [(kind(image), label) for image, label in rows()]
    data = opened(given, 16)
    assert data.fingerprint == opened(rows()).fingerprint
    check_scaled(data, None)
    with pytest.raises(ArgumentError, match="none for arrays and Pillow images, whose images have one size; leave 16"):
        check_scaled(data, 16)
    check_scaled(opened([(plain((6 * level, 0, 0)), level % 2) for level in range(40)], 16), 16)


def test_splits_that_are_named_are_taken():
    given = {"train": rows(12), "validation": rows(4), "test": rows(6)}
    assert [opened(given).size(split) for split in given] == [12, 4, 6]


@every(
    ("row", "message"),
    [
        ("text", "expected image and label"),
        ((np.zeros((8, 9)), None), "expected a label, got an empty cell"),
        ((np.zeros((8, 9)), np.array([0, 1])), r"expected a label, got an array of shape \(2,\)"),
        ((np.zeros((8, 9)), torch.tensor([])), r"expected a label, got an array of shape \(0,\)"),
        ((np.zeros((1, 8), np.uint8), 1), "2 pixels or more"),
        ((np.full((8, 9), 2.0), 1), "floats from 0 to 1"),
        ((np.zeros((8, 10), np.uint8), 1), "images of one size"),
    ],
)
def test_a_row_that_is_wrong_is_named(row, message):
    with pytest.raises(ArgumentError, match=rf"data: train, row 41: .*{message}"):
        opened([*rows(), row])


def test_a_label_that_training_has_not_is_refused():
    test = [(image, 9) for image, _ in rows(3)]
    with pytest.raises(ArgumentError, match="'9' is in no image to train on"):
        opened({"train": rows(12), "validation": rows(3), "test": test})
