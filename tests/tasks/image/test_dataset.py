import numpy as np
import pytest
import torch

from saccade.data import Rows
from saccade.data.dataset import SPLITS
from saccade.errors import ArgumentError
from saccade.tasks.image.dataset import ImageRows, pixels, refuse_size, statistics


def rows(count=4, seed=0, labels=("ape", "bee")):
    images = np.random.default_rng(seed).integers(0, 256, (count, 3, 8, 9)).astype(np.uint8)
    return [{"image": image, "label": labels[number % len(labels)]} for number, image in enumerate(images)]


def data(**changes):
    splits = {**{split: rows(seed=seed) for seed, split in enumerate(SPLITS)}, **changes}
    return ImageRows(Rows(splits, "", places={split: ("row {}".format, range(9)) for split in SPLITS}))


def measured(images):
    return statistics(lambda index: torch.from_numpy(images[index]), len(images))


def test_an_example_is_its_image_and_label():
    found = data().example("validation", 3)
    assert torch.equal(found.image, torch.from_numpy(rows(seed=1)[3]["image"]))
    assert found[1:] == ("bee", "")
    assert data().shape == (3, 8, 9) and data().labels == ("ape", "bee")


def test_grey_images_are_rgb_if_others_are():
    mixed = data(test=[{"image": rows()[0]["image"][:1], "label": "ape"}])
    assert torch.equal(mixed.example("test", 0).image, torch.from_numpy(rows()[0]["image"][:1]).expand(3, 8, 9))


@pytest.mark.parametrize(("split", "index"), [("test", 4), ("test", -1), ("tset", 0)])
def test_what_is_not_there_is_refused(split, index):
    with pytest.raises(ArgumentError, match="expected"):
        data().example(split, index)


def test_a_fingerprint_depends_on_pixels_labels_and_splits():
    changed = rows(seed=2)
    changed[0]["image"][0, 0, 0] ^= 1
    swapped = rows(seed=2, labels=("bee", "ape"))
    others = [data(test=test) for test in (changed, swapped, rows(3))]
    renamed = ImageRows(Rows({split: rows(seed=seed, labels="ab") for seed, split in enumerate(SPLITS)}, ""))
    others += [renamed, data(train=rows(seed=1), validation=rows(seed=0))]
    assert len({data().fingerprint, *(other.fingerprint for other in others)}) == 6
    assert data().fingerprint == data().fingerprint


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"test": []}, "test: expected images, got none"),
        ({"train": rows(labels=["ape"])}, "labels: expected two or more, got ape"),
        ({"test": rows(labels=["ape", "cat"])}, "row 1: the label 'cat' is in no image to train on"),
    ],
)
def test_splits_without_images_or_labels_are_rejected(changes, message):
    with pytest.raises(ArgumentError, match=message):
        data(**changes)


def test_statistics_are_those_of_all_training_pixels():
    images = np.stack([row["image"] for row in rows()])
    mean, std = measured(images)
    values = pixels(torch.from_numpy(images)).double()
    assert torch.allclose(torch.tensor(mean).double(), values.mean((0, 2, 3)), atol=1e-5)
    assert torch.allclose(torch.tensor(std).double(), values.std((0, 2, 3), unbiased=False), atol=1e-5)


def test_statistics_cover_all_classes_of_sorted_images():
    dark, light = (np.full((1, 2, 2), level, np.uint8) for level in (0, 255))
    mean, deviation = measured([dark] * 6000 + [light] * 6000)
    assert mean == pytest.approx([0.5], abs=0.01) and deviation[0] < 1


def test_statistics_of_an_endless_split_are_of_its_first_images():
    asked = []

    def image(index):
        asked.append(index)
        return torch.full((1, 2, 2), 51, dtype=torch.uint8)

    assert statistics(image, None) == ((0.2,), (1.0,)) and asked == list(range(1000))


def test_a_size_of_images_that_have_one_is_refused():
    refuse_size("scenes", None)
    with pytest.raises(ArgumentError, match="--size: expected none for scenes"):
        refuse_size("scenes", 32)
