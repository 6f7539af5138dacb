"""The kernels of `links` for float64, on their own as those of `shift` are."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import kernel
from saccade.kernels.compiled.links import run
from saccade.kernels.compiled.links_backward import differentiate


@kernel
def forward(table: Any) -> None:
    """A step of float64 numbers."""
    run(table, np.float64(0))


@kernel
def backward(table: Any) -> None:
    """The gradients of one."""
    differentiate(table, np.float64(0))
