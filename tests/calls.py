"""The `Call` that `attend` makes of its arguments: what tests hand to a backend."""

import torch

from saccade._call.call import Arguments, Call
from saccade._call.validation import checked_call


def call_of(query, key, value, **options) -> Call:
    """Checked arguments, with attend's defaults."""
    return checked_call(Arguments(query, key, value, **options))


def drawn(*shape, seed=0, scale=1.0, dtype=torch.float32):
    """Normal numbers, the same ones for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(*shape, generator=generator, dtype=torch.float64)).to(dtype)
