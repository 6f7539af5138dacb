"""Memory tasks: the model reads a sequence and answers from a memory."""

from saccade.tasks.memorize.task import MEMORIZE

__all__ = ["MEMORIZE"]
