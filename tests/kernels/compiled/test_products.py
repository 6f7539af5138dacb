import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

products = pytest.importorskip("saccade.kernels.compiled.products", reason="needs Numba")
SIZES = st.integers(1, 40)
ROOM = 64  # behind each row: whole tiles are read and written


def multiplied(a, row, step, b, c, rows, depth, columns, adds):
    places = (a.ctypes.data, row, step), (b.ctypes.data, b.shape[1]), (c.ctypes.data, c.shape[1])
    products.product(*places, rows, depth, columns, adds)


@given(SIZES, SIZES, SIZES, st.booleans(), st.booleans(), st.integers(0, 99))
def test_products_are_those_of_float64_in_any_layout(rows, depth, columns, turned, adds, seed):
    numbers = np.random.default_rng(seed)
    a = numbers.standard_normal((rows + ROOM, depth)).astype("float32")
    b = numbers.standard_normal((depth, columns + ROOM)).astype("float32")
    c = numbers.standard_normal((rows + ROOM, columns + ROOM)).astype("float32")
    before, exact = c.copy(), a[:rows].astype("float64") @ b[:, :columns].astype("float64")
    sizes = np.abs(a[:rows]).astype("float64") @ np.abs(b[:, :columns])
    if adds:
        exact, sizes = exact + before[:rows, :columns], sizes + np.abs(before[:rows, :columns])
    if turned:
        lies = np.ascontiguousarray(a.T)
        multiplied(lies, 1, lies.shape[1], b, c, rows, depth, columns, adds)
    else:
        multiplied(a, depth, 1, b, c, rows, depth, columns, adds)
    error = np.abs(c[:rows, :columns] - exact)
    assert (error <= (depth + 1) * 2.0**-24 * sizes).all()  # a sum of so many rounded products
    whole_rows, whole_columns = (
        -(-rows // products.ROWS) * products.ROWS,
        -(-columns // products.LANES) * products.LANES,
    )
    assert (c[whole_rows:] == before[whole_rows:]).all() and (c[:, whole_columns:] == before[:, whole_columns:]).all()


@pytest.mark.parametrize("adds", [False, True])
def test_many_equal_products_do_not_all_err_the_same_way(adds):
    depth = 30000
    a, b = np.full((products.ROWS, depth), 1 / depth, "float32"), np.ones((depth, products.LANES), "float32")
    c = np.ones((products.ROWS, products.LANES), "float32")
    multiplied(a, depth, 1, b, c, products.ROWS, depth, products.LANES, adds)
    assert (np.abs(c - (1 + adds)) < 1e-5).all()
