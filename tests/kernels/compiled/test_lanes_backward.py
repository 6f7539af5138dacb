"""Gradients of additive scores, two features at a time."""

import numpy as np
import pytest

pytest.importorskip("numba")

from saccade.kernels.compiled.lanes_backward import pair, pair_unbounded

FACTOR = np.array([1.0, 2.0, 3.0, 4.0], np.float32)  # e^2q of four queries
KEY, GRADS = np.float32(0.5), np.array([1.0, -1.0, 2.0, 0.5], np.float32)


@pytest.mark.slow
@pytest.mark.parametrize(("loop", "largest"), [(pair, 2.0), (pair_unbounded, np.inf)])
def test_only_the_bounded_loop_replaces_large_terms(loop, largest):
    keys, (slopes, rooms, out) = np.full(1, KEY), (np.zeros(size, np.float32) for size in (1, 4, 2))
    spans, pairs = np.array([[0, 1]]), ((keys, keys), (slopes, slopes.copy()), (FACTOR, FACTOR), (rooms, rooms.copy()))
    loop(GRADS.ctypes.data, 1, 0, 4, *pairs, spans, np.float32(2.0), out)
    reciprocals = 1 / np.minimum(1 + FACTOR * KEY, largest)
    np.testing.assert_allclose(out, 2 * [(GRADS * reciprocals).sum()], rtol=1e-6)
    np.testing.assert_allclose(rooms, GRADS * reciprocals * (1 - reciprocals), rtol=1e-6)
