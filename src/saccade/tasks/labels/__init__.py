"""Predictions of classes: probabilities, metrics, baselines, and ensembles."""

from saccade.tasks.labels.ensemble import Ensemble
from saccade.tasks.labels.ranking import Ranking

__all__ = ["Ensemble", "Ranking"]
