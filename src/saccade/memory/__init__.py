"""`remember`: keys prepared once and read many times. `merge`: partial results over parts of the keys as one."""

from saccade.memory._memory import Memory, remember
from saccade.memory._merging import merge

__all__ = ["Memory", "merge", "remember"]
