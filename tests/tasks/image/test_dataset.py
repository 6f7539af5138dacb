import numpy as np
import pytest
import torch

from saccade.data.dataset import SPLITS
from saccade.errors import ArgumentError
from saccade.tasks.image.dataset import InMemory, Part, pixels, refuse_size, statistics


def part(count=4, seed=0, shape=(3, 8, 9)):
    draws = np.random.default_rng(seed)
    return Part(draws.integers(0, 256, (count, *shape)).astype(np.uint8), np.arange(count) % 2)


def data(**changes):
    parts = {split: part(seed=seed) for seed, split in enumerate(SPLITS)}
    return InMemory({**parts, **changes}, ("ape", "bee"), "")


def test_an_example_is_its_image_and_label():
    found = data().example("validation", 3)
    assert torch.equal(found.image, torch.from_numpy(part(seed=1).images[3]))
    assert found[1:] == ("bee", "")
    assert data().shape == (3, 8, 9)


@pytest.mark.parametrize(("split", "index"), [("test", 4), ("test", -1), ("tset", 0)])
def test_what_is_not_there_is_refused(split, index):
    with pytest.raises(ArgumentError, match="expected"):
        data().example(split, index)


def test_a_fingerprint_depends_on_pixels_labels_and_splits():
    known = {data().fingerprint}
    changed = part(seed=2)
    changed.images[0, 0, 0, 0] ^= 1
    for other in (changed, Part(changed.images, 1 - changed.codes), part(3)):
        known.add(data(test=other).fingerprint)
    known.add(InMemory(data().parts, ("ape", "cat"), "").fingerprint)
    known.add(data(train=part(seed=1), validation=part(seed=0)).fingerprint)
    assert len(known) == 6
    assert data().fingerprint in known


def test_no_images_and_one_label_are_refused():
    with pytest.raises(ArgumentError, match="test: expected images, got none"):
        data(test=part(0))
    with pytest.raises(ArgumentError, match="labels: expected two or more, got ape"):
        InMemory(data().parts, ("ape",), "")


def test_statistics_are_those_of_all_training_pixels():
    found = data()
    mean, std = statistics(found)
    values = pixels(torch.from_numpy(found.parts["train"].images)).double()
    assert torch.allclose(torch.tensor(mean).double(), values.mean((0, 2, 3)), atol=1e-5)
    assert torch.allclose(torch.tensor(std).double(), values.std((0, 2, 3), unbiased=False), atol=1e-5)


def test_a_channel_that_never_changes_is_left_as_it_is():
    constant = Part(np.full((2, 1, 8, 8), 255, np.uint8), np.arange(2))
    assert statistics(InMemory(dict.fromkeys(SPLITS, constant), ("a", "b"), "")) == ([1.0], [1.0])


def test_statistics_cover_all_classes_of_sorted_images():
    labels = np.arange(12_000) // 6_000
    dark_first = Part((255 * labels).astype(np.uint8)[:, None, None, None] * np.ones((1, 1, 2, 2), np.uint8), labels)
    mean, deviation = statistics(data(train=dark_first))
    assert mean == pytest.approx([0.5], abs=0.01) and deviation[0] < 1


def test_statistics_of_an_endless_split_are_of_its_first_images():
    asked = []

    class Endless:
        shape = (1, 2, 2)

        def size(self, split):
            return None

        def example(self, split, index):
            asked.append(index)
            return data().example(split, 0)._replace(image=torch.full((1, 2, 2), 51, dtype=torch.uint8))

    assert statistics(Endless()) == ([0.2], [1.0])
    assert asked == list(range(1000))


def test_a_size_of_images_that_have_one_is_refused():
    refuse_size("scenes", None)
    with pytest.raises(ArgumentError, match="--size: expected none for scenes"):
        refuse_size("scenes", 32)
