"""Answers that are classes: probabilities, accuracy and F1, several models as one, whatever was read."""

from saccade.tasks.labels.ensemble import Ensemble
from saccade.tasks.labels.ranking import Ranking

__all__ = ["Ensemble", "Ranking"]
