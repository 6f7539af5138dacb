"""Where the largest weight lies, and how much of it lies in boxes."""

import pytest
import torch

from saccade.tasks.image.pointing import pointed


def test_middle_of_the_cell_with_the_most_weight_decides():
    weights = torch.tensor([[0.1, 0.6], [0.2, 0.1]])  # middles at 4 and 12 of 16 pixels
    assert pointed(weights, [(12, 4, 13, 5)], (16, 16)) == (True, pytest.approx(0.6))
    assert pointed(weights, [(0, 0, 12, 16)], (16, 16)) == (False, pytest.approx(0.3))  # the right column is exclusive
    assert pointed(weights, [(8, 0, 16, 4)], (16, 16)) == (False, 0.0)  # and so is the bottom row


def test_boxes_are_one_region_and_height_is_not_width():
    weights = torch.tensor([[1.0, 2.0, 5.0]])
    found = pointed(weights, [(0, 0, 20, 10), (10, 0, 20, 10)], (10, 60))
    assert found == (False, pytest.approx(1 / 8))
    assert pointed(weights, [(0, 0, 20, 10), (40, 0, 60, 10)], (10, 60)) == (True, pytest.approx(6 / 8))


def test_nothing_points_at_nothing():
    assert pointed(torch.zeros(2, 2), [(0, 0, 9, 9)], (8, 8)) == (False, 0.0)
    assert pointed(torch.ones(2, 2), [], (8, 8)) == (False, 0.0)
