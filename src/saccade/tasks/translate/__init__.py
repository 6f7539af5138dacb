"""Translation: a text in, a text out, learned from pairs of both."""

from saccade.tasks.translate.task import Translate

__all__ = ["Translate"]
