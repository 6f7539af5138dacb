"""Speed of attention on your machine: our calls and peers' in one process.

`saccade bench` is all of it from a shell. A row is a value: a name, and two calls on the same tensors whose results are
compared before they are timed.

Example:
    >>> import torch
    >>> setup = Setup(torch.device("cpu"))
    >>> [row.peer for row in select(rows(setup), "dot forward 2x4x16x16", quick=True)]
    ['torch']
"""

from saccade.bench._rows import rows, select
from saccade.bench.row import Absent, Prepare, Result, Row, Run, Setup, Target, Work

__all__ = ["Absent", "Prepare", "Result", "Row", "Run", "Setup", "Target", "Work", "rows", "select"]
