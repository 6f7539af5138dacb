"""Image captioning: an image in, a sentence out; learned from captioned images."""

from saccade.tasks.caption.task import CAPTION

__all__ = ["CAPTION"]
