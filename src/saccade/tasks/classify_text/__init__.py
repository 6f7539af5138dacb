"""Classification of texts: a text in, the label of its class out, learned from examples with their labels."""

from saccade.tasks.classify_text.task import ClassifyText

__all__ = ["ClassifyText"]
