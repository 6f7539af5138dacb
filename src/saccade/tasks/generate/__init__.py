"""Answers that are sequences: searched, sampled or several models as one, a batch at a time, whatever was read.

A model is decoded through two things alone: its state, an explicit value that `select` reorders, and `step`, which
takes the last token of every row and the state to the logits of the next token and the next state.
"""

from saccade.tasks.generate.beam import search
from saccade.tasks.generate.ensemble import Ensemble
from saccade.tasks.generate.model import Autoregressive, Hypotheses, State
from saccade.tasks.generate.sampling import sample

__all__ = ["Autoregressive", "Ensemble", "Hypotheses", "State", "sample", "search"]
