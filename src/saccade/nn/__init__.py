"""Modules over `attend`: projections and parameters, nothing else. Models attend only through these.

`Retina` and `Glimpse` attend to images by looking at a part of them.
"""

from saccade.nn.attention import Attention
from saccade.nn.multihead import MultiheadAttention
from saccade.nn.pool import AttentionPool
from saccade.nn.retina import Glimpse, Retina
from saccade.nn.sets import SetAttention, SetPool

__all__ = ["Attention", "AttentionPool", "Glimpse", "MultiheadAttention", "Retina", "SetAttention", "SetPool"]
