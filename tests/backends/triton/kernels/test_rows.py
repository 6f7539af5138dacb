"""What the kernels of rows share, through a kernel of its own for each: pieces, masks, remainders."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from calls import drawn
from interpreter import interpreted
from saccade.backends.triton.launch import flags, launch

pytestmark = interpreted


@pytest.fixture(scope="module")
def copied():
    """A kernel that copies the allowed entries of rows, and writes -1 in place of the others."""
    import triton.language as tl

    from saccade.backends.triton.kernels import kernel, rows

    namespace = {"tl": tl, **vars(rows)}
    source = (
        "def copy(source, found, allowed, allowed_n, allowed_i, allowed_j, R, L, S,\n"
        "         MASKED: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):\n"
        "    mask = allowed, allowed_n, allowed_i, allowed_j\n"
        "    r, there = own_rows(R, ROWS)\n"
        "    for start in range(0, S, BLOCK):\n"
        "        j, inside = piece(start, S, there, BLOCK)\n"
        "        wanted = permitted(mask, r, L, j, inside, MASKED)\n"
        "        store(found, r, S, j, inside, load(source, r, S, j, wanted, -1.0))\n"
    )
    exec(source, namespace)  # a kernel's annotations are read when it is made
    try:
        return kernel(namespace["copy"])
    except Exception:  # noqa: BLE001  # Triton reads a kernel's source from a file where it compiles
        pytest.skip("kernels are made of files here")


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 11), st.sampled_from([None, 0.0, 0.5]), st.integers(0, 99))
def test_every_entry_is_read_and_written_once(copied, n, length, width, density, seed):
    source = drawn(n, length, width, seed=seed)
    allowed = None
    if density is not None:
        generator = torch.Generator().manual_seed(seed)
        allowed = torch.rand(n, 1, width, generator=generator) < density
    mask, masked = flags(allowed, source.shape, source)
    found, rows = torch.full_like(source, 7.0), n * length
    launch(copied, -(-rows // 2), source, found, *mask, rows, length, width, MASKED=masked, ROWS=2, BLOCK=4)
    expected = source if allowed is None else source.masked_fill(~allowed, -1.0)
    assert torch.equal(found, expected)
