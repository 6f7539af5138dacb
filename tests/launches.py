"""What runs beside plain operations of torch: kernels, torch's fused attention, and nodes of gradients of our own."""

from contextlib import contextmanager

import pytest
from torch.autograd.function import BackwardCFunction
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from saccade.kernels.threads import Kernel

FUSED = {"scaled_dot_product_attention", "_grouped_mm", "flex_attention"}
DEFINED = {"_EntmaxWeightsBackward"}
"""Nodes of the reference's formulas: entmax is the end of a bisection, which torch cannot differentiate."""


class _Fused(TorchFunctionMode):
    def __init__(self, names):
        super().__init__()
        self.names = names

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name in FUSED:
            self.names.append(name)
        return function(*args, **(kwargs or {}))


@contextmanager
def launched():
    """The list of names of kernels, and of torch's fused functions, that run in the block."""
    names, run = [], Kernel.__call__

    def counted(kernel, blocks, table):
        names.append(kernel.name)
        run(kernel, blocks, table)

    with pytest.MonkeyPatch.context() as patch, _Fused(names):
        patch.setattr(Kernel, "__call__", counted)
        yield names


def own_nodes(*outputs):
    """Names of our own autograd functions in the graph of some outputs."""
    left, seen = [part.grad_fn for part in tree_leaves(outputs) if getattr(part, "grad_fn", None)], set()
    while left:
        node = left.pop()
        if node is not None and node not in seen:
            seen.add(node)
            left += [following for following, _ in node.next_functions]
    return {type(node).__name__ for node in seen if isinstance(node, BackwardCFunction)} - DEFINED
