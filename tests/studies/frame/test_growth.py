import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.frame.claims import quantile
from studies.frame.growth import LENGTHS as FEW
from studies.frame.growth import MEASURING, crossings, exponent, fit, weights

LENGTHS = [100, 200, 400, 800]


@given(st.floats(-1, 3), st.floats(1e-6, 1e6))
def test_a_power_gives_its_exponent(power, factor):
    line = exponent(LENGTHS, [factor * n**power for n in LENGTHS], [0.0] * 4)
    assert math.isclose(line.value, power, abs_tol=1e-9) and line.exponent.error < 1e-9
    assert math.isclose(line.at(300), factor * 300**power, rel_tol=1e-7)


def test_the_wider_of_two_errors_is_its_error():
    amounts = [n**2.0 for n in LENGTHS]
    [known] = exponent(LENGTHS, amounts, [0.1 * amount for amount in amounts]).exponent.sources
    assert (known.name, known.freedom) == (MEASURING, math.inf)
    assert known.error == pytest.approx(0.1 / math.log(2) / math.sqrt(5.0))
    bent = [amount * (1.5 if place % 2 else 1.0) for place, amount in enumerate(amounts)]
    [scattered] = exponent(LENGTHS, bent, [0.0] * 4).exponent.sources
    assert (scattered.name, scattered.freedom) == (FEW, 2) and scattered.error > 0.1


def test_wider_interval_counts_at_level_that_is_asked_for():
    """One degree of freedom is the worse the smaller the level: the other error is the wider one at 5% alone."""
    lengths, amounts = [100, 200, 400], [1.0, 2.0, 4.06]
    found = exponent(lengths, amounts, [0.3 * amount for amount in amounts], freedoms=[4.0] * 3).exponent
    [known], other = found.sources, found.other
    assert (known.name, other.name, other.freedom) == (MEASURING, FEW, 1) and known.count == 5
    for level in (0.05, 0.005, 0.0005):
        halves = [quantile(part.freedom, level) * part.error for part in (known, other)]
        assert found.half(level) == max(halves) == found.less(0.5).half(level)
        assert found.times(-3).half(level) == pytest.approx(3 * max(halves))
    assert halves[0] < halves[1]


def test_what_is_bent_as_its_formula_is_no_distance_from_it():
    shape = [n**2 + 300.0 * n for n in LENGTHS]
    alone, beside = (exponent(LENGTHS, [3 * one for one in shape], [0.0] * 4, given) for given in (None, shape))
    assert alone.value == pytest.approx(beside.value) and beside.exponent.error < 1e-9 < 0.01 < alone.exponent.error


def test_two_lengths_give_a_line_without_error():
    two = exponent([1, 2], [1.0, 2.0], [0.1, 0.1])
    assert two.value == pytest.approx(1.0) and not two.exponent.is_known and two.exponent.beyond() == 0
    assert two.exponent.missing().endswith("3 are the fewest that decide")
    assert exponent([1], [1.0], [0.0]) is None


def test_crossings_are_where_ours_becomes_the_larger_one():
    ours = [n**2.0 for n in LENGTHS]
    theirs = [300.0 * n for n in LENGTHS]
    assert crossings(LENGTHS, ours, theirs) == [pytest.approx(300.0)]
    assert crossings(LENGTHS, theirs, ours) == []
    twice = crossings(LENGTHS, [1.0, 4.0, 1.0, 4.0], [2.0] * 4)
    assert twice == pytest.approx([100 * 2**0.5, 400 * 2**0.5])


def test_few_rounds_make_an_interval_wider_than_many():
    """Welch's degrees of freedom: those of the one that errs most, where the others err little."""
    amounts, errors = [n**2.0 for n in LENGTHS], [1e-6, 1e-6, 1e-6, 0.2 * 800**2]
    [few] = exponent(LENGTHS, amounts, errors, freedoms=[50, 50, 50, 2]).exponent.sources
    [alike] = exponent(LENGTHS, amounts, [0.1 * n**2 for n in LENGTHS], freedoms=[9] * 4).exponent.sources
    assert few.freedom == pytest.approx(2) and 9 < alike.freedom < 36


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
