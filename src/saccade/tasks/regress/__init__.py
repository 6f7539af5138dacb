"""Regression: numbers in, numbers out with an interval, learned from rows of a table or sets with their answers."""

from saccade.tasks.regress.task import Regress

__all__ = ["Regress"]
