"""Classifying images by looking at parts of them, one after another."""

from saccade.tasks.glimpse.task import Glimpse

__all__ = ["Glimpse"]
