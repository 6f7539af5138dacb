"""Attention in linear memory: blocks of queries, forward and again backward.

Not a backend, but the shared part of several. A backend brings its `Engine`, which computes a block. Built-in
definitions run as one `torch.autograd.Function` whose tensors are the leaves of the call's tree. Under a compiler its
forward and backward are opaque operators, so that one graph serves all lengths. Second derivatives recompute through
the reference. Any other callable runs as one checkpoint a block.
"""

from saccade.backends.blockwise.engine import Engine, Whole
from saccade.backends.blockwise.run import counted, offer, peak_bytes, run, unsupported

__all__ = ["Engine", "Whole", "counted", "offer", "peak_bytes", "run", "unsupported"]
