import pytest
import torch

from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.nn._lengths import check_lengths, steps


def test_lengths_from_none_to_all_are_taken():
    check_lengths(torch.tensor([0, 1, 2]), torch.zeros(3, 2, 4))
    check_lengths(torch.zeros(0, dtype=torch.int32), torch.zeros(0, 2, 4))


@pytest.mark.parametrize(
    ("lengths", "error", "match"),
    [
        ([1, 2], ShapeError, r"lengths: expected an integer tensor \(2,\), got list"),
        (torch.tensor([1]), ShapeError, r"got \(1,\)"),
        (torch.tensor([1.0, 2.0]), ArgumentTypeError, "lengths: expected an integer tensor, got dtype torch.float32"),
        (torch.tensor([1, 4]), ArgumentError, "lengths: expected from 0 to 3, got some outside"),
        (torch.tensor([1, -1]), ArgumentError, "lengths: expected from 0 to 3, got some outside"),
    ],
)
def test_others_are_refused(lengths, error, match):
    with pytest.raises(error, match=match):
        check_lengths(lengths, torch.zeros(2, 3, 4))


def test_steps_are_those_before_each_length():
    inputs = torch.zeros(3, 2, 4)
    assert steps(torch.tensor([0, 1, 2]), inputs).tolist() == [[False, False], [True, False], [True, True]]
    assert steps(torch.zeros(0, dtype=torch.int32), inputs[:0]).shape == (0, 2)
