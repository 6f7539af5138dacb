"""Triton's kernels on a CPU: a mark for tests that need its interpreter, and tiles small enough to see several."""

import importlib.util

import pytest

from saccade.backends import triton
from saccade.backends.triton import additive, launch

REASON = (
    "Triton is not installed"
    if importlib.util.find_spec("triton") is None
    else None
    if triton.interpreted()
    else "kernels are compiled here; TRITON_INTERPRET=1 runs them in Triton's interpreter"
)
interpreted = pytest.mark.skipif(REASON is not None, reason=str(REASON))


def small_tiles(patch: pytest.MonkeyPatch, rows: int = 4, block: int = 4) -> None:
    """Tiles of which a handful of queries and keys fill several, with remainders."""
    for module, sizes in (
        (launch, {"ROWS": rows, "BLOCK": block}),
        (additive, {"ROWS": 4, "KEYS": 4, "ITS_KEYS": 4, "GRADIENT_ROWS": 4, "FEATURES": 4, "CHUNK": 4}),
    ):
        for name, size in sizes.items():
            patch.setattr(module, name, size)
