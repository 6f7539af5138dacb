"""Differentiable Neural Computer: external memory with usage and temporal links.

Graves et al. 2016, "Hybrid computing using a neural network with dynamic external memory",
https://doi.org/10.1038/nature20101.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, cast

import torch
from torch import Tensor

from saccade.models import memory_network
from saccade.models.memorizer import Sizes
from saccade.models.memory_network import MemoryNetwork
from saccade.nn.external_memory import Addressing, MemoryState

__all__ = ["DNC", "Options"]


@dataclass(frozen=True, kw_only=True)
class Options(memory_network.Options):
    """The sizes of a Differentiable Neural Computer.

    >>> Options().read_heads
    2
    """

    cells: int = 64
    """Cells of the memory. No weight depends on their number."""

    read_heads: int = 2
    """Heads that read at each step."""


_DEFAULT = Options()


class DNC(MemoryNetwork):
    r"""An LSTM controller with a memory of allocation, temporal links and content.

    Heads write to free cells, or to cells similar to a key. They read similar cells, or follow the order of writing.

    Args:
        sizes: sizes of input and output.
        options: the sizes of controller and memory.

    Example:
        >>> from saccade.models.padded import Padded
        >>> model = DNC(Sizes(12, 7, symbols=True), Options(hidden_dim=6, cells=5, cell_dim=4))
        >>> source = Padded(torch.randint(1, 12, (1, 7)), torch.tensor([7]))
        >>> sorted(model.trace(source))
        ['links', 'read 1', 'read 2', 'usage', 'write']

    Source:
        Graves et al. 2016, Methods.
    """

    Options: TypeAlias = Options
    addressing: ClassVar[Addressing] = "links"
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "copy": {"cells": 128, "least_cells": 21, "most_cells": 40, "strength_bias": 3.0},
        "repeat-copy": {},
        "recall": {},
        "sort": {},
        "n-grams": {},
        "files": {"strength_bias": 3.0},
        "stories": {
            "hidden_dim": 64,
            "cells": 32,
            "cell_dim": 64,
            "strength_bias": 3.0,
            "normalize": True,
            "forgetting": 0.5,
            "patience": 6,
        },
    }

    def __init__(self, sizes: Sizes, options: Options = _DEFAULT) -> None:
        super().__init__(sizes, options)

    def shown(self, states: list[MemoryState]) -> dict[str, Tensor]:
        usage = torch.stack([cast("Tensor", state.usage)[0] for state in states], -1)
        return {"usage": usage, "links": cast("Tensor", states[-1].links)[0]}
