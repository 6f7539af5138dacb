"""Tables of kernels: entries are read by the names of a NamedTuple."""

import importlib
import pkgutil
from types import SimpleNamespace
from typing import NamedTuple, get_type_hints

import pytest
import torch
from torch import Tensor

pytest.importorskip("numba")

import saccade.kernels
from saccade.kernels import threads
from saccade.kernels.compiled import blocks, flags, floats, integers, kernel, numbers


class Inner(NamedTuple):
    left: Tensor
    missing: Tensor | None
    step: int


class Outer(NamedTuple):
    scale: int
    inner: Inner
    out: Tensor


def scaled(t: Outer, kind) -> None:
    for n in blocks(t):
        left = numbers(t.inner.left, n * t.inner.step, 1, kind)[0]
        integers(t.out, n, 1)[0] = 100 * (t.inner.missing != 0) + t.scale * left


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_entries_of_nested_tables_are_read_by_name(dtype, monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(threads, "import_module", lambda name: SimpleNamespace(scaled=kernel(scaled)))
    call = threads.Kernel(f"test_compiled.scaled.{str(dtype).removeprefix('torch.')}", Outer)
    out = torch.zeros(3, dtype=torch.int64)
    call(3, Outer(7, Inner(torch.arange(6, dtype=dtype), None, 2), out))
    assert out.tolist() == [0, 14, 28]


def every_kernel():
    """Kernels of all modules, by their names."""
    kernels = {}
    for module in pkgutil.iter_modules(saccade.kernels.__path__, "saccade.kernels."):
        for value in vars(importlib.import_module(module.name)).values():
            for item in value.values() if isinstance(value, dict) else [value]:
                if isinstance(item, threads.Kernel):
                    kernels[item.name] = item
    return kernels


def test_callers_and_kernels_have_the_same_layouts():
    kernels = every_kernel()
    assert len(kernels) > 40
    for name, caller in kernels.items():
        module, function, *kind = name.split(".")
        compiled = getattr(importlib.import_module(f"saccade.kernels.compiled.{module}"), function).__wrapped__
        table, *more = get_type_hints(compiled).values()
        assert table is caller.layout and len(more) == 1 + bool(kind), name


def test_a_table_has_no_tensor_of_another_device():
    with pytest.raises(saccade.errors.ArgumentError, match="tensor: expected one on a CPU for a kernel, got meta"):
        threads.Kernel("gates.gru", Outer)(1, Inner(torch.empty(3, device="meta"), None, 1))


def test_arrays_begin_where_they_say():
    @saccade.kernels.compiled.loops
    def parts(address):
        return flags(address, 1, 2)[1], floats(address, 1, 1)[0], integers(address, 1, 1)[0]

    memory = torch.tensor([0x0000_0000_3F80_0000, 5])
    assert parts(memory.data_ptr()) == (0x80, 0.0, 5)
