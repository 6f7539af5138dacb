import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

turning = pytest.importorskip("saccade.kernels.compiled.turning", reason="needs Numba")
SIZES = st.integers(1, 40)


@given(st.sampled_from(["float32", "float64"]), SIZES, SIZES, SIZES, SIZES, st.data())
def test_rows_become_columns_and_nothing_else_changes(dtype, rows, columns, more, wide, data):
    source = np.arange(rows * columns, dtype=dtype).reshape(rows, columns) + 1
    target = np.zeros((columns + more, rows + wide), dtype)
    row, column = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    count = min(turning.SIDE, data.draw(st.integers(1, rows - row)))
    size = data.draw(st.integers(1, columns - column))
    place, other = data.draw(st.integers(0, more)), data.draw(st.integers(0, wide))
    turning.turn(source, row, column, target, place, other, count, size)
    part = target[place : place + size, other : other + count]
    assert (part == source[row : row + count, column : column + size].T).all()
    part[:] = 0
    target[place : place + size, other : other + turning.SIDE] = 0
    assert not target.any()
