"""Masks laid out."""

import torch

from saccade import masks
from saccade._definitions.structure import Grid


def dense(mask, q=4, k=4, start=0, rows=None):
    return masks.as_mask(mask).dense(Grid(q, k, start, q if rows is None else rows, torch.device("cpu")))
