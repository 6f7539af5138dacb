import math
import statistics

import pytest
import torch

from saccade.reports.difference import Difference, bound, decided, packed, unpacked


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


def test_the_difference_of_one_model_s_two_rates_varies_as_their_differences_do_by_hand():
    # rates of three models, against one another: 1, 0.5, 0 and 0, 0.5, 1; the differences are 1, 0 and -1
    one, other = [[1, 1], [1, 0], [0, 0]], [[0, 0], [0, 1], [1, 1]]
    apart, paired = Difference.between(one, other), Difference.between(one, other, paired=True)
    assert paired.seeds == pytest.approx(math.sqrt(1 / 3))
    assert apart.seeds == pytest.approx(math.sqrt((0.25 + 0.25) / 3)) and apart.images == paired.images
    # with one another nothing varies: 0.5 more each time
    again = Difference.between([[1, 1], [1, 0], [1, 1]], [[1, 0], [0, 0], [0, 1]], paired=True)
    assert (again.mean, again.seeds) == (pytest.approx(0.5), 0.0)
    assert Difference.between([[1, 0]], [[0, 0]], paired=True).seeds is None
    with pytest.raises(ValueError, match="shorter"):
        Difference.between(one, other[:2], paired=True)


def test_one_of_several_claims_is_contradicted_beyond_bonferroni_s_bound_alone():
    assert bound(1) == 2.0 and [bound(count) for count in (2, 6)] == pytest.approx([2.2776, 2.6695], abs=2e-3)
    for count in (1, 2, 6):
        assert math.erfc(bound(count) / math.sqrt(2)) * count == pytest.approx(math.erfc(math.sqrt(2)))
    low = Difference(-2.5, 1.0, 0.0)
    assert (low.among(1), low.among(6), low.result) == ("contradicted", "not decided", "contradicted")
    assert Difference(-2.7, 1.0, 0.0).among(6) == "contradicted" and Difference(2.1, 1.0, 0.0).among(6) == "reproduced"
    assert "2.67 times the error" in decided(6) and "Bonferroni" not in decided(1)
