"""The `Call` that `attend` makes of its arguments: what tests hand to a backend."""

import torch

from saccade import normalizers, reads, scores
from saccade._call.call import Call
from saccade._call.validation import checked_call


def call_of(query, key, value, **options) -> Call:
    """Checked arguments, with attend's defaults."""
    given = {"score": scores.ScaledDot(), "normalizer": normalizers.Softmax(), "read": reads.Soft(), "dropout_p": 0.0}
    given = {**dict.fromkeys(("mask", "bias", "gate", "aux")), **given, **options}
    return checked_call(query, key, value, **given)


def drawn(*shape, seed=0, scale=1.0, dtype=torch.float32):
    """Normal numbers, the same ones for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(*shape, generator=generator, dtype=torch.float64)).to(dtype)
