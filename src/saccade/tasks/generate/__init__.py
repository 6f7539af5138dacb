"""Outputs that are written token by token: beam search, sampling and ensembles, a batch at a time.

A model is decoded by its state, an explicit value that `select` reorders, and by `step`, which leads from the last
token of every row and the state to the logits of the next token and the next state.
"""

from saccade.tasks.generate.beam import search
from saccade.tasks.generate.ensemble import Ensemble
from saccade.tasks.generate.model import Autoregressive, Hypotheses, State
from saccade.tasks.generate.sampling import sample

__all__ = ["Autoregressive", "Ensemble", "Hypotheses", "State", "sample", "search"]
