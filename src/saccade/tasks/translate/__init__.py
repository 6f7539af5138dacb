"""Translation: a text in, its translation out; learned from pairs of texts."""

from saccade.tasks.translate.task import TRANSLATE

__all__ = ["TRANSLATE"]
