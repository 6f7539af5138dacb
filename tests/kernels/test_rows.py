import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from near import assert_near
from saccade import auxiliary
from saccade.kernels import statistics
from saccade.kernels.rows import TYPES, Rows, mask_rows
from tiers import every


def laid_out(rows: Rows, shape):
    """What a kernel reads."""
    start = rows.flags.storage_offset()
    found = [rows.flags.as_strided((shape[-1],), (1,), start + int(offset)) for offset in rows.offsets.flatten()]
    return torch.stack(found).reshape(shape) if found else torch.ones(shape, dtype=torch.bool)


@st.composite
def masks(draw):
    """A shape, and a mask that broadcasts to it, of any strides."""
    shape = [*draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)), draw(st.integers(1, 9))]
    own = [size if draw(st.booleans()) else 1 for size in shape][draw(st.integers(0, len(shape))) :]
    order = draw(st.permutations(range(len(own))))
    steps = [draw(st.integers(1, 2)) for _ in own]
    numbers = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    sizes = [own[dim] * steps[dim] + 1 for dim in order]
    whole = (torch.rand(sizes, generator=numbers) < 0.5).permute([order.index(dim) for dim in range(len(own))])
    mask = whole[tuple(slice(1, 1 + size * step, step) for size, step in zip(own, steps, strict=True))]
    assert list(mask.shape) == own
    return tuple(shape), mask.expand(shape) if draw(st.booleans()) else mask


@given(masks())
def test_rows_of_any_mask_begin_where_they_say(given_mask):
    shape, mask = given_mask
    found = mask_rows(mask, shape)
    assert found.offsets.shape == shape[:-1] and found.offsets.is_contiguous()
    assert found.offsets.dtype == torch.int64 and found.flags.dtype == torch.bool
    assert torch.equal(laid_out(found, shape), mask.expand(shape))
    if mask.ndim and mask.stride(-1) == 1 and mask.shape[-1] == shape[-1]:
        assert found.flags.data_ptr() == mask.data_ptr()


def test_a_mask_that_rows_share_is_not_laid_out():
    shape = 1000, 1000, 1000
    for mask in (torch.ones(1000, dtype=torch.bool), torch.ones(1000, 1, 1000, dtype=torch.bool)):
        assert mask_rows(mask, shape).flags.numel() == mask.numel()
    assert mask_rows(torch.tensor(True), shape).flags.numel() == 1000


def test_no_mask_has_no_rows():
    assert mask_rows(None, (2, 3)).offsets.numel() == 0


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3), (2, 3, 0), (0, 0)])
def test_rows_of_nothing(shape):
    assert mask_rows(torch.ones(shape, dtype=torch.bool), shape).offsets.shape == shape[:-1]
    assert mask_rows(torch.ones(1, 1, dtype=torch.bool), shape).offsets.shape == shape[:-1]


@every("dtype", TYPES)
@every("shape", [(20_001, 1), (3, 9_000), (2, 3, 5, 127), (1, 8_193), (0, 4), (4, 0)])
def test_every_row_is_done_whatever_the_width(shape, dtype):
    weights = torch.rand(shape, dtype=dtype)
    assert_near(statistics.entropy(weights), auxiliary.entropy, weights)
