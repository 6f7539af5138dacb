import numpy as np
import pytest

from saccade.reports.regression.estimates import BEST, KERNEL, LEARNED, MEAN, NOISE, drawn, estimate


def test_points_are_those_of_their_seed_and_count():
    points = drawn(400, 3)
    assert np.array_equal(points.x, drawn(400, 3).x) and not np.array_equal(points.x, drawn(400, 4).x)
    rest = points.y - np.cos(2 * np.pi * points.x)
    assert rest.std() == pytest.approx(NOISE, rel=0.2) and 0 <= points.x.min() < points.x.max() <= 1


def test_the_best_bandwidth_beats_others_and_the_mean(tmp_path):
    points = drawn(200, 1)
    found = {way: estimate(way, points, tmp_path, 2) for way in (MEAN, BEST, KERNEL)}
    assert found[MEAN]["mse"] == pytest.approx(0.5, rel=0.05)
    assert found[BEST]["mse"] <= found[KERNEL]["mse"] * (1 + 1e-6) < 0.02
    assert 0.01 < found[BEST]["bandwidth"] < 0.1


@pytest.mark.slow
def test_a_learned_kernel_is_an_ordinary_run(tmp_path):
    found = estimate(LEARNED, drawn(40, 2), tmp_path, 3)
    assert found["steps"] == 3 and 0 < found["mse"] < 2
    assert (tmp_path / "learned-kernel-40-2/results.json").exists()
