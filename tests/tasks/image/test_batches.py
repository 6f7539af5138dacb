import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.image.batches import Encoded, augmented, encode, stacked
from saccade.tasks.image.shapes import Shapes

FOUND = encode(Shapes(), "train", Shapes().labels, range(7))


def test_examples_have_the_numbers_of_their_labels():
    for index, one in enumerate(FOUND):
        image, label, _ = Shapes().example("train", index)
        assert torch.equal(one.image, image) and Shapes().labels[one.label] == label


def test_a_label_that_is_not_known_is_refused():
    with pytest.raises(ArgumentError, match="none of the run's"):
        encode(Shapes(), "train", ["cat", "dog"], range(3))


def test_images_as_they_are_are_floats_in_0_to_1():
    batch = stacked(FOUND)
    assert batch.images.shape == (7, 3, 32, 32) and batch.images.dtype == torch.float32
    assert torch.equal((batch.images * 255).round().byte(), torch.stack([one.image for one in FOUND]))


def test_a_batch_is_a_function_of_seed_and_step():
    ways = {"mirrored": True, "shifted": 3}
    first = augmented(FOUND, 1, 5, **ways)
    torch.manual_seed(123)
    again = augmented(FOUND, 1, 5, **ways)
    assert torch.equal(first.images, again.images) and torch.equal(first.labels, again.labels)
    assert not torch.equal(first.images, augmented(FOUND, 1, 6, **ways).images)
    assert not torch.equal(first.images, augmented(FOUND, 2, 5, **ways).images)


def test_without_either_nothing_is_changed():
    batch = augmented(FOUND, 1, 5, mirrored=False, shifted=0)
    assert torch.equal(batch.images, stacked(FOUND).images)


def test_mirroring_alone_leaves_an_image_or_turns_it():
    plain, batch = stacked(FOUND).images, augmented(FOUND, 1, 5, mirrored=True, shifted=0).images
    for one, other in zip(plain, batch, strict=True):
        assert torch.equal(one, other) or torch.equal(one.flip(2), other)


def test_an_example_counts_as_one():
    assert Encoded(torch.zeros(1, 2, 2, dtype=torch.uint8), 0).size == 1
