"""Speed of attention on your machine: our calls and others' in one process, in turns, beside the machine's limits.

`saccade bench` is all of it from a shell. A row is a value: a name, and two calls on the same tensors whose results are
compared before they are timed.

Example:
    >>> import torch
    >>> place = Place(torch.device("cpu"))
    >>> [row.peer for row in select(rows(place), "dot forward 2x4x16x16", quick=True)]
    ['torch']
"""

from saccade.bench._rows import rows, select
from saccade.bench.row import Absent, Place, Prepare, Result, Row, Run, Target, Work

__all__ = ["Absent", "Place", "Prepare", "Result", "Row", "Run", "Target", "Work", "rows", "select"]
