"""Memory: a sequence is read, and what it held is said, from a memory that the model writes and reads itself."""

from saccade.tasks.memorize.task import Memorize

__all__ = ["Memorize"]
