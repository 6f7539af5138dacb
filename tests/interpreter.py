"""Triton's kernels on a CPU: a mark for tests that need its interpreter, and how large their tiles are."""

import functools
import importlib.util
from typing import Any

import pytest

from saccade.backends import triton
from saccade.backends.triton import fused
from saccade.backends.triton.blocks import Shape

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


def tiles(patch: pytest.MonkeyPatch, rows: int, keys: int) -> None:
    """Tiles of so many queries by keys in every pass: small ones, so that a handful of them fills several."""
    patch.setattr(fused, "tile", lambda *_, **__: Shape(rows, keys, 4, 2))
