"""The kernels of `shift` for float64, which few need: on their own, so that nobody else waits while they compile."""

from typing import Any

import numpy as np

from saccade.kernels.compiled import kernel
from saccade.kernels.compiled.shift import differentiate, run


@kernel
def forward(table: Any) -> None:
    """A step of float64 numbers."""
    run(table, np.float64(0))


@kernel
def backward(table: Any) -> None:
    """The gradients of one."""
    differentiate(table, np.float64(0))
