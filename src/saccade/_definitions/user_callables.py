"""Scores and normalizers that are plain callables: whether they ask where the rows and keys stand that they are given.

A callable gets all of the batch and all keys, but as many consecutive rows of the queries as fit: what is computed of a
row may follow from that row and all keys, and from where they stand if it asks.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial

from torch import Tensor, nn

from saccade._definitions.structure import Definition, Grid

__all__ = ["bind_positions"]

_IN_ORDER = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def bind_positions(function: Callable[..., Tensor], grid: Grid) -> Callable[..., Tensor]:
    """A callable of two arguments with the positions of a block, `(rows, 1)` and `(1, Lk)`, as its third, if it asks
    for them: by a parameter of the name `positions`, or by a third one without a default.

    >>> import torch
    >>> block = Grid(q_len=9, k_len=2, start=4, rows=3, device=torch.device("cpu"))
    >>> distance = bind_positions(lambda query, key, positions: positions[0] - positions[1], block)
    >>> distance(torch.ones(3, 1), torch.ones(2, 1))
    tensor([[4, 3],
            [5, 4],
            [6, 5]])
    """
    parameters = _parameters(function)
    if not parameters:
        return function
    positions = grid.queries(), grid.keys()
    named = parameters.get("positions")
    if named is not None and named.kind is not named.POSITIONAL_ONLY:
        return partial(function, positions=positions)
    third = [parameter for parameter in parameters.values() if parameter.kind in _IN_ORDER][2:3]
    if any(parameter.default is parameter.empty or parameter is named for parameter in third):
        return lambda first, second: function(first, second, positions)
    return function


def _parameters(function: object) -> Mapping[str, inspect.Parameter]:
    """Those of a callable; none where it has two or does not tell, as definitions have."""
    if isinstance(function, Definition):
        return {}
    function = getattr(function, "_orig_mod", function)  # of what torch.compile has made of a module
    target = function.forward if isinstance(function, nn.Module) else function
    code = getattr(target, "__code__", None)
    if code is not None and code.co_argcount - inspect.ismethod(target) == 2 and not code.co_kwonlyargcount:
        return {}  # most are such, and to ask for a signature takes longer than a small call
    try:
        return inspect.signature(target).parameters  # type: ignore[arg-type]  # a TypeError is caught
    except (TypeError, ValueError):  # what is written in C may have none
        return {}
