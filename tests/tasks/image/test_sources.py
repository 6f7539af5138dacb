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


SCALARS = {
    "int": int,
    "numpy": np.int64,
    "array": np.array,
    "array of one": lambda number: np.array([number]),
    "tensor": torch.tensor,
    "tensor of one": lambda number: torch.tensor([[number]]),
    "with a gradient": lambda number: torch.tensor(float(number), requires_grad=True),
}


@every("kind", SCALARS)
def test_labels_are_numbers_in_whatever_they_lie(kind):
    labels = ("0.0", "1.0", "2.0") if kind == "with a gradient" else ("0", "1", "2")
    assert opened([(image, SCALARS[kind](label)) for image, label in rows()]).labels == labels
    if kind != "with a gradient":
        named = Table({"image": image, "label": SCALARS[kind](label)} for image, label in rows())
        assert opened(named).labels == ("ant", "bee", "cat")


@every("inside", [lambda label: label, np.array, lambda label: np.array([label])])
@every(
    ("low", "high"),
    [
        (np.float32(0.1), np.float32(0.3)),
        (np.datetime64("2020-01-01T00:00:00.000000001"), np.datetime64("2021-01-01T00:00:00.000000001")),
        (np.False_, np.True_),
        (np.str_("a"), np.str_("b")),
        (np.int8(1), np.int8(2)),
    ],
)
def test_labels_of_numpy_are_called_as_it_writes_them(low, high, inside):
    data = opened([(image, inside(high if label else low)) for image, label in rows()])
    assert data.labels == (str(low), str(high))


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
