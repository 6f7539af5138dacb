"""Attention in linear memory: blocks of queries, computed forward and again in the backward.

Not a backend: what several share. A backend hands over its `Engine`, how a block is computed. Built-in definitions
run as one `torch.autograd.Function` whose tensors are the leaves of the call's tree; under a compiler its forward and
backward are opaque operators, so that another length is not another graph. The second derivative recomputes through
the reference. Any other callable runs as one checkpoint a block.
"""

from saccade.backends.blockwise.engine import Engine, Whole
from saccade.backends.blockwise.run import counted, offer, peak_bytes, run, unsupported

__all__ = ["Engine", "Whole", "counted", "offer", "peak_bytes", "run", "unsupported"]
