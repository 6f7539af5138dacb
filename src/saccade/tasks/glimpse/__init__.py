"""Image classification by glimpses: the model looks at parts of an image in turn."""

from saccade.tasks.glimpse.task import GLIMPSE

__all__ = ["GLIMPSE"]
