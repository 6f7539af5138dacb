"""The Neural Turing Machine: a memory with addresses by content and location.

Graves, Wayne, Danihelka 2014, "Neural Turing Machines", https://arxiv.org/abs/1410.5401.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, get_args

from torch import Tensor

from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.models import memory_network
from saccade.models.memorizer import Sizes
from saccade.models.memory_network import MemoryNetwork
from saccade.nn.external_memory import Addressing, By, MemoryState

__all__ = ["NTM", "Options"]


@dataclass(frozen=True, kw_only=True)
class Options(memory_network.Options):
    """The sizes of a Neural Turing Machine.

    >>> Options(read_heads=2).write_heads
    1
    """

    write_heads: int = 1
    """Heads that write at each step."""

    by: By = "both"
    """Addressing of the heads: by content, by location, or by both as in the paper."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        memory_network.Options.__post_init__(self)
        in_ranges(self, (("write_heads", 1, 1 << 10),))
        if self.by not in get_args(By):
            raise ArgumentError(f"--by: expected one of {', '.join(get_args(By))}, got {self.by}")


_DEFAULT = Options()


class NTM(MemoryNetwork):
    r"""LSTM with an external memory, addressed by content and location.

    Args:
        sizes: of inputs and outputs.
        options: the sizes of its parts.

    Example:
        >>> import torch
        >>> from saccade.models.padded import Padded
        >>> model = NTM(Sizes(9, 8), Options(hidden_dim=6, cells=5, cell_dim=4))
        >>> source = Padded(torch.randn(2, 7, 9), torch.tensor([7, 4]))
        >>> model(source).shape, model.trace(Padded(source.values[:1], source.lengths[:1]))["read"].shape
        (torch.Size([2, 7, 8]), torch.Size([5, 7]))

    Source:
        Graves et al. 2014, equations 2 to 9. The controller is the LSTM of section 4. The output layer reads its
        state and the vectors that the heads read.
    """

    Options: TypeAlias = Options
    addressing: ClassVar[Addressing] = "shift"
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "copy": {"forget_bias": -1.0, "strength_bias": 3.0, "least_cells": 21, "most_cells": 40, "patience": 6},
        "repeat-copy": {"strength_bias": 3.0, "least_cells": 11, "most_cells": 30, "patience": 8},
        "recall": {"strength_bias": 3.0},
        "sort": {"strength_bias": 3.0},
        "n-grams": {},
        "files": {"strength_bias": 3.0},
        "stories": {"hidden_dim": 64, "cells": 32, "cell_dim": 32, "read_heads": 2, "strength_bias": 3.0},
    }

    def __init__(self, sizes: Sizes, options: Options = _DEFAULT) -> None:
        super().__init__(sizes, options, options.by)

    @classmethod
    def writers(cls, options: Options) -> int:
        return options.write_heads

    def shown(self, states: list[MemoryState]) -> dict[str, Tensor]:
        return {}
