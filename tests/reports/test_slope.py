import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.reports.slope import fit, replicates, standard_error, weights


@given(st.floats(-2, 2), st.floats(0, 50), st.lists(st.integers(1, 500), min_size=2, max_size=6))
def test_points_on_a_line_give_the_line(slope, start, counts):
    lengths = [5.0 * place for place in range(1, 1 + len(counts))]
    heights = [start + slope * length for length in lengths]
    line, each = fit(lengths, heights, counts), weights(lengths, counts)
    assert math.isclose(line.slope, slope, abs_tol=1e-9)
    assert math.isclose(line.at(20.0), start + slope * 20.0, abs_tol=1e-7)
    assert math.isclose(sum(w * y for w, y in zip(each, heights, strict=True)), slope, abs_tol=1e-9)


def test_large_groups_weigh_more():
    assert fit([0, 10, 20], [0.0, 10.0, 0.0], [1000, 1000, 1]).slope == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(("lengths", "counts"), [([], []), ([5], [10]), ([5, 5], [10, 3])])
def test_too_few_lengths_give_no_line(lengths, counts):
    assert weights(lengths, counts) is None and fit(lengths, [1.0] * len(lengths), counts) is None


def test_the_jackknife_of_a_mean_is_its_standard_error():
    hits = [place % 3 == 0 for place in range(300)]
    share = sum(hits) / 300

    def share_of(places):
        return sum(hits[place] for place in places) / len(places)

    error = standard_error(replicates(share_of, 300))
    assert error < 3 * math.sqrt(share * (1 - share) / 300)
    exact = standard_error(replicates(share_of, 10))
    assert exact == pytest.approx(math.sqrt(0.4 * 0.6 / 9), rel=0.2)
    assert standard_error(replicates(lambda places: 1.0, 1)) is None


def test_what_comes_round_and_round_is_in_all_groups():
    """Every tenth sentence is right: with every tenth in a group the error would be ten times as large."""
    hits = [place % 10 == 0 for place in range(1000)]
    error = standard_error(replicates(lambda places: sum(hits[place] for place in places) / len(places), 1000))
    assert error == pytest.approx(math.sqrt(0.1 * 0.9 / 1000), rel=0.7)


def test_groups_are_of_equal_sizes_and_the_same_each_time():
    kept = [replicates(lambda places: float(sum(places)), 95) for _ in range(2)]
    sizes = replicates(len, 95)
    assert kept[0] == kept[1] and sorted(set(sizes)) == [85, 86]
