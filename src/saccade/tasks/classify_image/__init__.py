"""Classification of images: an image in, the label of its class out, learned from examples with their labels."""

from saccade.tasks.classify_image.task import ClassifyImage

__all__ = ["ClassifyImage"]
