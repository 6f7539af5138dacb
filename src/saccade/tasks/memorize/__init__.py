"""Memory: a sequence in, its content out, through a memory that the model writes and reads."""

from saccade.tasks.memorize.task import Memorize

__all__ = ["Memorize"]
