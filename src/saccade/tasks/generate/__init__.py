"""Autoregressive decoding: beam search, sampling and ensembles.

A model has an explicit state. Its `step` takes the last token of each row and the state, and returns the logits of the
next token and the next state. `select` reorders the rows of a state.
"""

from saccade.tasks.generate.beam import search
from saccade.tasks.generate.ensemble import Ensemble
from saccade.tasks.generate.model import Autoregressive, Hypotheses, State
from saccade.tasks.generate.sampling import sample

__all__ = ["Autoregressive", "Ensemble", "Hypotheses", "State", "sample", "search"]
