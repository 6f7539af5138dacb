import math
import statistics

import numpy as np
import pytest

from saccade.reports.interval import LEVEL, Claim, Interval, claimed, decided, verdict


def test_half_is_student_s_of_the_seeds():
    values = [0.1, 0.4, 0.3]
    # of two degrees of freedom the 97.5% quantile is 4.3027
    assert Interval(values).half() == pytest.approx(4.3027 * statistics.stdev(values) / math.sqrt(3), rel=1e-4)
    assert Interval([0.3]).half() == math.inf and Interval([0.3]).text() == "0.300"


def test_where_there_is_nothing_few_in_a_hundred_are_found_above_or_below():
    """Of normal numbers around 0, whatever their spread: 2.5 in 100 on either side."""
    numbers = np.random.default_rng(1)
    said = [Interval(list(numbers.normal(0, 3, 4))).above() for _ in range(4000)]
    error = math.sqrt(0.025 * 0.975 / len(said))
    for result in ("reproduced", "contradicted"):
        assert abs(said.count(result) / len(said) - (1 - LEVEL) / 2) < 4 * error


def test_one_of_several_is_contradicted_by_a_wider_interval():
    found = Interval([-0.3, -0.2, -0.25])
    assert found.above() == "contradicted" and found.above(20) == "not decided"


def test_an_exact_claim_holds_or_does_not():
    claims = [Claim("it is so", exact=True, told="to 1e-16"), Claim("a is above b", Interval([0.5, 0.6, 0.7]))]
    assert verdict(claims).result == "reproduced"
    assert verdict([*claims, Claim("and so", exact=False)]).result == "contradicted"
    assert verdict([*claims, Claim("c", Interval([0.5]))]).result == "not decided"
    assert claimed(claims)[1:] == [
        ["it is so", "to 1e-16", "reproduced"],
        ["a is above b", "0.600 ± 0.248", "reproduced"],
    ]
    assert verdict(claims).reason == "it is so: reproduced, to 1e-16; a is above b: reproduced, 0.600 ± 0.248"


def test_a_page_says_how_many_claims_there_are():
    assert "95% over seeds" in decided(4) and "98.8% (Bonferroni's level, as one of 4" in decided(4)
