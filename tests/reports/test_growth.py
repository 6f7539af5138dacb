import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.reports.growth import LENGTHS as FEW
from saccade.reports.growth import MEASURING, crossings, exponent
from saccade.reports.statistics import quantile

LENGTHS = [100, 200, 400, 800]


@given(st.floats(-1, 3), st.floats(1e-6, 1e6))
def test_a_power_gives_its_exponent(power, factor):
    line = exponent(LENGTHS, [factor * n**power for n in LENGTHS], [0.0] * 4)
    assert math.isclose(line.value, power, abs_tol=1e-9) and line.found.error < 1e-9
    assert math.isclose(line.at(300), factor * 300**power, rel_tol=1e-7)


def test_the_wider_of_two_errors_is_its_error():
    amounts = [n**2.0 for n in LENGTHS]
    [known] = exponent(LENGTHS, amounts, [0.1 * amount for amount in amounts]).found.parts
    assert (known.name, known.freedom) == (MEASURING, math.inf)
    assert known.error == pytest.approx(0.1 / math.log(2) / math.sqrt(5.0))
    bent = [amount * (1.5 if place % 2 else 1.0) for place, amount in enumerate(amounts)]
    [scattered] = exponent(LENGTHS, bent, [0.0] * 4).found.parts
    assert (scattered.name, scattered.freedom) == (FEW, 2) and scattered.error > 0.1


def test_wider_interval_counts_at_level_that_is_asked_for():
    """One degree of freedom is the worse the smaller the level: the other error is the wider one at 5% alone."""
    lengths, amounts = [100, 200, 400], [1.0, 2.0, 4.06]
    found = exponent(lengths, amounts, [0.3 * amount for amount in amounts], freedoms=[4.0] * 3).found
    [known], other = found.parts, found.other
    assert (known.name, other.name, other.freedom) == (MEASURING, FEW, 1) and known.count == 5
    for level in (0.05, 0.005, 0.0005):
        halves = [quantile(part.freedom, level) * part.error for part in (known, other)]
        assert found.half(level) == max(halves) == found.less(0.5).half(level)
        assert found.times(-3).half(level) == pytest.approx(3 * max(halves))
    assert halves[0] < halves[1]


def test_what_is_bent_as_its_formula_is_no_distance_from_it():
    shape = [n**2 + 300.0 * n for n in LENGTHS]
    alone, beside = (exponent(LENGTHS, [3 * one for one in shape], [0.0] * 4, given) for given in (None, shape))
    assert alone.value == pytest.approx(beside.value) and beside.found.error < 1e-9 < 0.01 < alone.found.error


def test_two_lengths_give_a_line_without_error():
    two = exponent([1, 2], [1.0, 2.0], [0.1, 0.1])
    assert two.value == pytest.approx(1.0) and not two.found.is_known and two.found.beyond() == 0
    assert two.found.missing().endswith("3 are the fewest that decide")
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
    [few] = exponent(LENGTHS, amounts, errors, freedoms=[50, 50, 50, 2]).found.parts
    [alike] = exponent(LENGTHS, amounts, [0.1 * n**2 for n in LENGTHS], freedoms=[9] * 4).found.parts
    assert few.freedom == pytest.approx(2) and 9 < alike.freedom < 36
