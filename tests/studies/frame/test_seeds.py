import math
import statistics

import numpy as np
import pytest

from studies.frame.seeds import Cell, between, contrast, over_seeds, pseudo_values


def jackknifed(partial):
    r"""\(\sqrt{(g - 1) / g \sum_k (\theta_k - \bar\theta)^2}\), Kott 2001, of the scores without one group each."""
    mean = statistics.fmean(partial)
    return math.sqrt((len(partial) - 1) / len(partial) * sum((score - mean) ** 2 for score in partial))


def errors(found):
    return {part.name: part.error for part in found.sources}


def test_the_difference_by_hand():
    one, other = [[True, True, False, True], [True, False, False, True]], [[True, False, False, False]] * 2
    found = between(one, other)
    images = [0.0, 0.5, 0.0, 1.0]
    assert found.value == pytest.approx(statistics.fmean(images))
    assert errors(found) == {
        "seeds": pytest.approx(math.sqrt(statistics.variance([0.75, 0.5]) / 2)),
        "images": pytest.approx(math.sqrt(statistics.variance(images) / 4)),
    }


def test_one_models_two_rates_vary_as_computed_by_hand():
    # rates of three models, against one another: 1, 0.5, 0 and 0, 0.5, 1; the differences are 1, 0 and -1
    one, other = [[1, 1], [1, 0], [0, 0]], [[0, 0], [0, 1], [1, 1]]
    apart, paired = between(one, other), between(one, other, paired=True)
    assert errors(paired)["seeds"] == pytest.approx(math.sqrt(1 / 3)) and paired.sources[0].freedom == pytest.approx(2)
    assert errors(apart)["seeds"] == pytest.approx(math.sqrt((0.25 + 0.25) / 3))
    assert apart.sources[0].freedom == pytest.approx(4) and errors(apart)["images"] == errors(paired)["images"]
    # with one another nothing varies: 0.5 more each time
    again = between([[1, 1], [1, 0], [1, 1]], [[1, 0], [0, 0], [0, 1]], paired=True)
    assert (again.value, errors(again)["seeds"]) == (pytest.approx(0.5), 0.0)
    assert not between([[1, 0]], [[0, 0]], paired=True).is_known
    with pytest.raises(ValueError, match="broadcast"):
        between(one, other[:2], paired=True)


def test_errors_are_those_of_drawing_seeds_and_examples_again():
    """A bootstrap of either level alone, the other held: what the jackknife of a mean stands for."""
    rng = np.random.default_rng(0)
    one, other = (rng.normal(0, 1, (8, 1)) + rng.normal(0, 1, (1, 30)) + rng.normal(0, 1, (8, 30)) for _ in range(2))
    found = errors(between(one, other, of="examples"))
    draws = {"seeds": [], "examples": []}
    for _ in range(1500):
        rows = [own[rng.integers(0, 8, 8)] for own in (one, other)]
        columns = rng.integers(0, 30, 30)
        draws["seeds"].append(rows[0].mean() - rows[1].mean())
        draws["examples"].append(one[:, columns].mean() - other[:, columns].mean())
    for name, size in (("seeds", 8), ("examples", 30)):
        assert statistics.stdev(draws[name]) * math.sqrt(size / (size - 1)) == pytest.approx(found[name], rel=0.1)


def test_shared_examples_are_drawn_once():
    values = np.arange(12.0).reshape(3, 4)
    shared = contrast([Cell("a", values), Cell("b", values, -1.0)])
    apart = contrast([Cell("a", values, sample="x"), Cell("b", values, -1.0, sample="y")])
    assert errors(shared)["examples"] == 0.0 < errors(apart)["examples"]
    assert apart.sources[1].count == 8 and apart.sources[1].freedom == pytest.approx(6)


def test_error_of_pseudo_values_is_that_of_the_jackknife():
    partial = [3.0, 2.0, 2.5, 4.0]
    groups = pseudo_values(2.9, partial)
    assert groups.std(ddof=1) / 2 == pytest.approx(jackknifed(partial))
    found = contrast([Cell("a", [groups, groups], value=2.9, count=40)], "sentences")
    assert found.value == 2.9 and errors(found)["sentences"] == pytest.approx(jackknifed(partial))
    assert found.sources[1].fixed and found.sources[1].count == 40


def test_means_over_seeds_have_welchs_degrees_of_freedom():
    one, other = [1.0, 2.0, 4.0], [5.0, 5.1, 5.0, 5.2]
    found = over_seeds(one, other)
    variances = [statistics.variance(own) / len(own) for own in (one, other)]
    welch = sum(variances) ** 2 / sum(v**2 / (len(own) - 1) for v, own in zip(variances, (one, other), strict=True))
    assert found.value == pytest.approx(statistics.fmean(one) - statistics.fmean(other))
    assert found.sources[0].freedom == pytest.approx(welch) and found.sources[0].count == 3
    assert not over_seeds([1.0], [2.0, 3.0]).is_known
