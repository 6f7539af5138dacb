"""Scores and normalizers as plain callables, and their positions.

A callable gets the whole batch and all keys, but only a block of consecutive query rows. The result of a row may follow
from that row, all keys, and their positions.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor, nn

from saccade._definitions.structure import Definition, Grid

_IN_ORDER = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def bind_positions(function: Callable[..., Tensor], grid: Grid) -> Callable[..., Tensor]:
    """Bind positions to a parameter `positions`, or to a third one without a default."""
    inner: Any = getattr(function, "_orig_mod", function)  # of a module that torch.compile wraps
    if isinstance(inner, Definition):
        return function
    target = inner.forward if isinstance(inner, nn.Module) else inner
    code = getattr(target, "__code__", None)
    if code is not None and code.co_argcount - inspect.ismethod(target) == 2 and not code.co_kwonlyargcount:
        return function  # the usual case, and a signature takes longer than a small call
    try:
        parameters = inspect.signature(target).parameters
    except (TypeError, ValueError):  # functions in C may have none
        return function
    positions = grid.queries(), grid.keys()
    named = parameters.get("positions")
    if named is not None and named.kind is not named.POSITIONAL_ONLY:
        return partial(function, positions=positions)
    third = [parameter for parameter in parameters.values() if parameter.kind in _IN_ORDER][2:3]
    if any(parameter.default is parameter.empty or parameter is named for parameter in third):
        return lambda first, second: function(first, second, positions)
    return function
