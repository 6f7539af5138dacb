"""How tensors become what a kernel walks over, and what a kernel is started with."""

import inspect
from importlib import import_module

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from calls import drawn
from interpreter import interpreted
from saccade.backends.triton import additive, launch
from saccade.backends.triton.launch import Flags, flags, stacked
from saccade.scores import EXPONENT_LIMIT, exponentials


@given(st.lists(st.integers(1, 3), max_size=3), st.data())
def test_a_stack_has_all_entries_of_the_batch_in_order(batch, data):
    shape = [1 if data.draw(st.booleans()) else size for size in batch]
    tensor = drawn(*shape, 4, 5)
    found = stacked(tensor, tuple(batch))
    assert torch.equal(found.reshape(*batch, 4, 5), tensor.expand(*batch, 4, 5)) and found.ndim == 3


def test_a_stack_of_what_can_be_viewed_is_a_view():
    tensor = drawn(2, 3, 4, 5)
    assert stacked(tensor, (2, 3)).data_ptr() == tensor.data_ptr()
    assert stacked(tensor[:1, :1], (1, 3)).stride(0) == 0


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 5), st.data())
def test_flags_are_read_by_their_strides(n, length, width, data):
    shape = [1 if data.draw(st.booleans()) else size for size in (n, length, width)]
    allowed = torch.rand(shape) < 0.5
    (found, *strides), masked = flags(allowed, torch.Size((n, length, width)), allowed)
    assert masked and found.dtype == torch.uint8
    read = torch.as_strided(found, (n, length, width), strides)
    assert torch.equal(read.bool(), allowed.expand(n, length, width))


def test_without_a_mask_something_stands_in():
    tensor = drawn(2, 3)
    assert flags(None, torch.Size((1, 2, 3)), tensor) == (Flags(tensor, 0, 0, 0), False)


def test_as_many_programs_as_rows_need(monkeypatch):
    started = []
    monkeypatch.setattr(launch, "launch", lambda kernel, programs, *given, **constants: started.append(programs))
    for rows in (0, 1, launch.SHORT.rows, launch.SHORT.rows + 1):
        launch.launch_rows(None, rows, launch.SHORT.block)
    launch.launch_rows(None, 5, launch.SHORT.block + 1)
    assert started == [0, 1, 1, 2, 5 // launch.LONG.rows]


def test_no_programs_start_no_kernel():
    launch.launch(None, 0, torch.zeros(1))


@interpreted
@pytest.mark.parametrize("by_key", [False, True])
@pytest.mark.parametrize("dtype", EXPONENT_LIMIT)
def test_a_sides_parts_are_what_they_are_called(by_key, dtype):
    rows = drawn(2, 5, 300, dtype=dtype)
    rows[0, 1, 7], rows[1, 2, 299], rows[1, 3, 0] = 2 * EXPONENT_LIMIT[dtype], torch.nan, -torch.inf
    side = additive.side(rows, by_key=by_key)
    expected = exponentials(rows)
    assert all(part.is_contiguous() for part in side)
    torch.testing.assert_close(side.powers, expected.mT if by_key else expected, equal_nan=True)
    assert torch.equal(side.sizes, rows.abs().nan_to_num(nan=torch.inf, posinf=torch.inf).amax(-1))
    assert torch.equal(side.sizes, additive.sizes(rows))


def test_the_step_of_v_is_none_where_all_share_it():
    assert additive._step(torch.zeros(3)) == 0 and additive._step(torch.zeros(2, 3)) == 3


@interpreted
@pytest.mark.parametrize(
    "name", ["additive.scores", "additive.gradients", "softmax.softmax", "entmax.entmax", "statistics.largest"]
)
def test_a_mask_or_gradient_stands_beside_its_strides(name):
    """What a tuple would guarantee, were Triton to take one: a tensor's strides follow it."""
    module, _, function = name.partition(".")
    kernel = getattr(import_module(f"saccade.backends.triton.kernels.{module}"), function)
    names = list(inspect.signature(kernel.fn).parameters)
    for tensor in ("allowed", "grad"):
        if f"{tensor}_n" in names:
            place = names.index(tensor)
            assert names[place : place + 4] == [tensor, f"{tensor}_n", f"{tensor}_i", f"{tensor}_j"]
