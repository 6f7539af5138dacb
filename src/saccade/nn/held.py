"""Definitions inside modules: their tensors move, learn and are saved with the module."""

from typing import Any

from torch import Tensor, nn

from saccade.structure import Definition


class Held(nn.Module):
    """A definition whose parameters are the module's parameters and whose other tensors are its buffers.

    Args:
        thing: a definition (a score, a normalizer, a read), a callable, or a module.

    >>> import torch
    >>> from saccade import normalizers
    >>> held = Held(normalizers.Entmax(alpha=nn.Parameter(torch.tensor(1.5))))
    >>> [name for name, _ in held.named_parameters()], type(held.get()).__name__
    (['tensor_0'], 'Entmax')
    """

    def __init__(self, thing: Any) -> None:
        super().__init__()
        self.thing = thing  # a module registers itself here
        self.count = 0
        if isinstance(thing, Definition):
            for index, (tensor, _) in enumerate(thing.leaves()):
                self._hold(f"tensor_{index}", tensor)
                self.count += 1

    def _hold(self, name: str, tensor: Tensor) -> None:
        if isinstance(tensor, nn.Parameter):
            self.register_parameter(name, tensor)
        else:
            self.register_buffer(name, tensor)

    def get(self) -> Any:
        """The definition with the module's tensors in it."""
        if not self.count:
            return self.thing
        return self.thing.with_leaves(iter([getattr(self, f"tensor_{index}") for index in range(self.count)]))
