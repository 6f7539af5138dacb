"""Regression: numbers or sets of numbers in, predictions with intervals out."""

from saccade.tasks.regress.task import REGRESS

__all__ = ["REGRESS"]
