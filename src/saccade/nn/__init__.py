"""Modules over `attend`: projections and parameters, nothing else. Models attend only through these."""

from saccade.nn.attention import Attention
from saccade.nn.multihead import MultiheadAttention
from saccade.nn.pool import AttentionPool

__all__ = ["Attention", "AttentionPool", "MultiheadAttention"]
