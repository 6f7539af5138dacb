"""The state of a module that computes a call again."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain

import torch
from torch import Tensor, nn


@contextmanager
def unchanged(module: nn.Module) -> Iterator[None]:
    """Compute a module again in a block, without gradients or other effects.

    Its buffers, its other tensors and the random numbers are then as they were. For example, spectral normalization
    changes its buffers in each call of a training. The block computes with copies of the buffers, so that graphs keep
    what they have saved.
    """
    tensors = chain(module.parameters(), module.buffers())
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.enter_context(torch.random.fork_rng({tensor.device for tensor in tensors if tensor.is_cuda}))
        copies = dict[Tensor, Tensor]()
        for part in module.modules():
            computed = {name: tensor for name, tensor in vars(part).items() if isinstance(tensor, Tensor)}
            stack.callback(vars(part).update, computed)  # such as a weight that a hook computes
            buffers = {name: buffer for name, buffer in part._buffers.items() if buffer is not None}
            stack.callback(part._buffers.update, buffers)
            part._buffers.update({name: copies.setdefault(buffer, buffer.clone()) for name, buffer in buffers.items()})
        yield
