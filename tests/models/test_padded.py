import torch

from saccade.models.padded import Padded

LENGTHS = torch.tensor([4, 1, 3])


def test_what_is_within_has_no_padding():
    for values in (torch.zeros(3, 4, dtype=torch.long), torch.zeros(3, 4, 2)):
        within = Padded(values, LENGTHS).within
        assert within.dtype == torch.bool and within.sum(1).tolist() == [4, 1, 3]
        assert bool((within[:, 1:] <= within[:, :-1]).all())  # padding is behind


def test_all_of_it_goes_to_a_device():
    moved = Padded(torch.zeros(3, 4, 2), LENGTHS).to("meta")
    assert isinstance(moved, Padded)
    assert moved.values.device.type == moved.lengths.device.type == "meta"


def test_it_is_a_pair_that_is_taken_apart():
    values, lengths = Padded(torch.arange(12).view(3, 4), LENGTHS)
    assert values.shape == (3, 4) and lengths is LENGTHS
