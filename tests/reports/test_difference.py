import math
import statistics

import pytest
import torch

from saccade.reports.difference import Difference, packed, unpacked


@pytest.mark.parametrize("count", [1, 3, 4, 5, 17])
def test_which_images_were_right_is_packed_and_unpacked(count):
    right = [bool(bit) for bit in torch.randint(0, 2, (count,), generator=torch.Generator().manual_seed(count))]
    assert unpacked(packed(right), count) == right


def test_the_difference_by_hand():
    one, other = [[True, True, False, True], [True, False, False, True]], [[True, False, False, False]] * 2
    found = Difference.between(one, other)
    images = [0.0, 0.5, 0.0, 1.0]
    assert found.mean == pytest.approx(statistics.fmean(images))
    assert found.images == pytest.approx(math.sqrt(statistics.variance(images) / 4))
    assert found.seeds == pytest.approx(math.sqrt(statistics.variance([0.75, 0.5]) / 2))
    assert found.error == pytest.approx(math.hypot(found.seeds, found.images))
