"""Image classification: an image in, its label out; learned from labelled images."""

from saccade.tasks.classify_image.task import ClassifyImage

__all__ = ["ClassifyImage"]
