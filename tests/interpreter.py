"""Triton's kernels on a CPU: a mark for tests that need its interpreter, and how large their tiles are."""

import functools
import importlib.util
from typing import Any

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


def patch_once_a_launch() -> None:
    """Patch Triton's language once for a launch, not again for every device function that the launch calls.

    The interpreter replaces some hundred functions of the language each time, which takes 40% of a small launch.
    """
    from triton.runtime import interpreter

    patch_language, launch_grid = interpreter._patch_lang, interpreter.GridExecutor.__call__
    patched: set[int] = set()

    @functools.cache
    def languages(function: Any) -> set[int]:
        return {id(module) for module in (interpreter.tl, interpreter.tl.core)} & set(
            map(id, function.__globals__.values())
        )

    def patch_missing(function: Any) -> Any:
        if languages(function) <= patched:
            return None
        patched.update(languages(function))
        return patch_language(function)

    def launched(self: Any, *arguments: Any, **options: Any) -> None:
        patched.clear()
        launch_grid(self, *arguments, **options)

    interpreter._patch_lang, interpreter.GridExecutor.__call__ = patch_missing, launched


if REASON is None:
    patch_once_a_launch()
interpreted = pytest.mark.skipif(REASON is not None, reason=str(REASON))


def tiles(patch: pytest.MonkeyPatch, rows: int, block: int, tile: int) -> None:
    """Tiles of so many rows by pieces of so many keys, and of so many queries by keys (or rows by features) by keys:
    small ones, so that a handful of queries and keys fills several with remainders, or large ones, since the
    interpreter takes its time for each.
    """
    for name in ("SHORT", "LONG"):
        patch.setattr(launch, name, launch.Shape(rows, block, 4))
    of_scores = "ROWS", "KEYS", "WIDE_ROWS", "WIDE_KEYS", "ITS_KEYS"
    for name in (*of_scores, "GRADIENT_ROWS", "FEATURES", "FEW_ROWS", "FEW_FEATURES", "CHUNK"):
        patch.setattr(additive, name, tile)
