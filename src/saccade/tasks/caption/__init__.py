"""Captioning: an image in, sentences about it out, learned from images with theirs."""

from saccade.tasks.caption.task import Caption

__all__ = ["Caption"]
