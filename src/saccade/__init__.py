"""Saccade: all of attention in one library.

Any score, any normalizer, soft or hard, fused, and you can look inside.

>>> import torch, saccade
>>> x = torch.randn(2, 5, 8)
>>> saccade.attend(x, x, x, mask=saccade.masks.Causal()).shape
torch.Size([2, 5, 8])
"""

from saccade import _working_directory  # noqa: F401 checked before torch is imported  # isort: skip

from saccade import biases, errors, masks, nn, normalizers, reads, scores
from saccade.attention import attend, explain
from saccade.auxiliary import AuxOutput, AuxRequest
from saccade.memory import merge, remember

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "attend",
    "biases",
    "errors",
    "explain",
    "masks",
    "merge",
    "nn",
    "normalizers",
    "reads",
    "remember",
    "scores",
]

__version__ = "0.1.0"
