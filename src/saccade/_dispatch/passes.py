"""The way of a call from `attend` or `Memory.read` to a backend and back.

    Arguments ──fast_path──▶ output           a small usual call: everything else is left out
        │
        │ ragged                              nested tensors ──▶ one row of packed sequences, and back
        │ autocast, checked_call              Arguments ──▶ Call, or one clear error: nothing below checks again
        ▼
      Call ──PASSES──▶ an easier call         and its results as those of the whole call on the way back
                │
                ▼
           choose.run                         Call ──▶ backend ──▶ output and statistics

A pass is a module with `run(call, backend, rest)` and `plan(call, backend, rest)`, where `rest` is the way behind it.
So `explain` goes the way that `attend` goes, and stops before the backend.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from saccade._call.call import Arguments, Call
from saccade._call.validation import checked_call
from saccade._definitions.numerics import autocasting
from saccade._dispatch import choose, fast_path, key_range, lazy_values, ragged
from saccade._dispatch.choose import Plan, Planning, Running
from saccade.auxiliary import AuxOutput
from saccade.scores import Score

PASSES = lazy_values, key_range
"""Passes in the order of a call."""

RUN: Running = choose.run
PLAN: Planning = choose.plan
for _module in reversed(PASSES):
    RUN, PLAN = partial(_module.run, rest=RUN), partial(_module.plan, rest=PLAN)


def attention(arguments: Arguments) -> Tensor | tuple[Tensor, AuxOutput]:
    """Implementation of `attend` and `Memory.read`."""
    output = fast_path.shortcut(arguments)
    return full_path(arguments) if output is None else output


def full_path(arguments: Arguments) -> Tensor | tuple[Tensor, AuxOutput]:
    """The same without the fast path."""
    if ragged.nested(arguments):
        return ragged.attention(arguments, attention)
    output, statistics = RUN(_checked(arguments), arguments.backend)
    return output if arguments.aux is None else (output, statistics)


def plan(arguments: Arguments) -> Plan:
    """The plan of the call, as `explain` returns it: nothing is run."""
    if ragged.nested(arguments):
        return ragged.plan(arguments, plan)
    return PLAN(_checked(arguments), arguments.backend)


def _checked(arguments: Arguments) -> Call:
    if autocasting(arguments.query):
        query, key, value, score = autocast(*arguments[:4])
        arguments = arguments._replace(query=query, key=key, value=value, score=score)
    return checked_call(arguments)


def autocast(query: Tensor, *others: Any) -> tuple[Any, ...]:
    """Tensors and scores in the autocast dtype, except float64, as in torch."""
    dtype = torch.get_autocast_dtype(query.device.type)

    def cast(tensor: Tensor, axes: object = None) -> Tensor:
        return tensor.to(dtype) if tensor.is_floating_point() and tensor.dtype != torch.float64 else tensor

    return tuple(
        cast(thing) if isinstance(thing, Tensor) else thing.map(cast) if isinstance(thing, Score) else thing
        for thing in (query, *others)
    )
