import pytest
import torch

from saccade.errors import ArgumentError, ArgumentTypeError, ShapeError
from saccade.nn._checks import padded

LAYER = torch.nn.LSTM(4, 3)


def test_padding_is_masked_behind_each_length():
    inputs, there = padded(torch.full((3, 2, 4), torch.nan), torch.tensor([0, 1, 2]), 4, LAYER)
    assert there.tolist() == [[False, False], [True, False], [True, True]]
    assert torch.equal(inputs.isnan(), there[..., None].expand(3, 2, 4)) and not inputs[~there].any()
    assert padded(torch.zeros(0, 2, 4), torch.zeros(0, dtype=torch.int32), 4, LAYER)[1].shape == (0, 2)
    assert padded(inputs, None, 4, LAYER) == (inputs, None)


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
def test_other_lengths_are_rejected(lengths, error, match):
    with pytest.raises(error, match=match):
        padded(torch.zeros(2, 3, 4), lengths, 4, LAYER)
