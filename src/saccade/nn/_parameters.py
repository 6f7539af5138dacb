"""Definitions inside modules, with tensors that move and learn with the module."""

from typing import Any

import torch
from torch import Tensor, nn

from saccade._definitions.structure import Definition


class Parameters(nn.Module):
    """Module with a definition, a callable or a module: its tensors move and learn."""

    def __init__(self, thing: Any) -> None:
        super().__init__()
        self.thing = thing  # a module registers itself here
        self.tensors = thing.leaf_names() if isinstance(thing, Definition) else []
        for name, leaf in zip(self.tensors, thing.leaves() if self.tensors else [], strict=True):
            if isinstance(leaf.tensor, nn.Parameter):
                self.register_parameter(name, leaf.tensor)
            else:
                self.register_buffer(name, leaf.tensor)

    def get(self) -> Any:
        """The definition with the module's tensors in it."""
        if not self.tensors:
            return self.thing
        return self.thing.with_leaves(iter([getattr(self, name) for name in self.tensors]))


def new_zeros(module: nn.Module, *size: int) -> Tensor:
    """Zeros of the dtype and device of a module's first floating parameter."""
    parameters = (parameter for parameter in module.parameters() if parameter.is_floating_point())
    return next(parameters, torch.empty(())).new_zeros(size)
