from collections import Counter

import pytest
import torch

from saccade.errors import ArgumentError
from saccade.tasks.image.shapes import Shapes


def test_an_image_is_a_function_of_its_split_and_index():
    one, other = Shapes(), Shapes()
    for split in ("train", "validation", "test"):
        assert torch.equal(one.example(split, 7).image, other.example(split, 7).image)
    seen = {one.example(split, index).image.numpy().tobytes() for split in ("train", "test") for index in range(50)}
    assert len(seen) == 100


def test_labels_are_evenly_drawn():
    data = Shapes()
    counts = Counter(data.example("validation", index).label for index in range(1000))
    assert set(counts) == set(data.labels)
    assert min(counts.values()) > 0.7 * 1000 / len(data.labels)


def test_splits_have_their_sizes():
    data = Shapes()
    assert [data.size(split) for split in ("train", "validation", "test")] == [None, 2000, 2000]
    assert data.example("train", 10**12).image.shape == data.shape == (3, 32, 32)
    for split, index in (("test", 2000), ("train", -1), ("tset", 0)):
        with pytest.raises(ArgumentError, match="expected"):
            data.example(split, index)
