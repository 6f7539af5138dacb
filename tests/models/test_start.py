"""Trees as tensors: every row goes from the root to its own leaf."""

import pytest
import torch

from saccade.models.start import Start


def test_trees_of_other_depths_and_targets_are_added():
    nan = 0.0
    trees = {
        "output": [0, 1],
        "feature": [[0, 1, 0, 0, 0], [1, 0, 0]],
        "threshold": [[0.5, 2.0, nan, nan, nan], [0.0, nan, nan]],
        "left": [[1, 3, 2, 3, 4], [1, 1, 2]],
        "right": [[2, 4, 2, 3, 4], [2, 1, 2]],
        "value": [[nan, nan, 10.0, 20.0, 30.0], [nan, -1.0, 1.0]],
    }
    start = Start({"weight": [[1.0, 0.0], [0.0, 0.0]], "bias": [0.0, 100.0]}, trees, 2)
    points = torch.tensor([[0.5, 2.0], [0.5, 2.1], [0.6, -9.0]], dtype=torch.float64)
    assert start(points).tolist() == [[20.5, 101.0], [30.5, 101.0], pytest.approx([10.6, 99.0])]
    assert not start.state_dict()
