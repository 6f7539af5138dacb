import math

import numpy as np
import pytest
from scipy import stats

from saccade.reports.implicit.interval import between, judged


def test_of_seeds_alone_it_is_the_interval_of_students_t():
    one, other = [0.9, 0.7, 0.8, 0.6], [0.5, 0.5, 0.5, 0.5]
    found = between([[value] * 5 for value in one], [[value] * 5 for value in other])
    low, high = stats.t.interval(0.95, 3, loc=np.mean(one) - 0.5, scale=stats.sem(one))
    assert found.value - found.half() == pytest.approx(low) and found.value + found.half() == pytest.approx(high)


def test_one_seed_decides_nothing():
    found = between([[1.0, 1.0]], [[0.0, 0.1]])
    assert found.half() == math.inf and found.beyond() == 0 and judged([found]) == ["not decided"]


def test_where_nothing_differs_a_page_decides_any_claim_in_at_most_five_of_a_hundred_cases():
    """Four claims that share one model, three seeds, twenty sentences of levels and noise of their own."""
    draws, pages, wrong = np.random.default_rng(0), 600, 0
    for _ in range(pages):
        level = draws.normal(0, 0.1, 20)
        models = [level + draws.normal(0, 0.05, (3, 1)) + draws.normal(0, 0.1, (3, 20)) for _ in range(4)]
        gaps = [between(models[0].tolist(), other.tolist()) for other in models[1:]]
        wrong += set(judged(gaps)) != {"not decided"}
    assert wrong / pages <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / pages)


def test_a_difference_of_several_errors_is_found():
    draws, found = np.random.default_rng(1), 0
    for _ in range(100):
        one, other = (mean + draws.normal(0, 0.02, (3, 1)) + draws.normal(0, 0.1, (3, 20)) for mean in (0.8, 0.5))
        found += judged([between(one.tolist(), other.tolist())]) == ["reproduced"]
    assert found >= 90
