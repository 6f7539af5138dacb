"""`remember`: keys prepared for many reads. `merge`: parts of the keys as one."""

from saccade.memory._memory import Memory, remember
from saccade.memory._merging import merge

__all__ = ["Memory", "merge", "remember"]
