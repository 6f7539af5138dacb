"""Memory tasks: a sequence in, its content out; the model writes and reads a memory."""

from saccade.tasks.memorize.task import MEMORIZE

__all__ = ["MEMORIZE"]
