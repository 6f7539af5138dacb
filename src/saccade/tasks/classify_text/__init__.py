"""Text classification: a text in, its label out; learned from labelled texts."""

from saccade.tasks.classify_text.task import CLASSIFY_TEXT

__all__ = ["CLASSIFY_TEXT"]
