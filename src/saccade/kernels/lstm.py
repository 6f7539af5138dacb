"""The gates of long short-term memory: one pass over what its two products made, forward and backward."""

import torch
from torch import Tensor

from saccade.kernels.gates import check_gates, laid_in_rows
from saccade.kernels.threads import Kernel

__all__ = ["lstm_backward", "lstm_forward", "lstm_plain"]

_ROWS = 8  # in a block, as compiled.lstm has it
_forward, _backward = Kernel("lstm:forward"), Kernel("lstm:backward")


def lstm_plain(entering: Tensor, before: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    r"""Long short-term memory, its two products taken, by torch's operations, in any type and to any derivative.

    .. math::
        i, f, o = \sigma(x_{ifo} + u_{ifo}) \qquad g = \tanh(x_g + u_g) \qquad
        c' = f \odot c + i \odot g \qquad h' = o \odot \tanh(c')

    Args:
        entering: x = W input + b, `(..., 4 hidden)` in the order i, f, g, o.
        before: u = U hidden + b, of that shape.
        cell: c, `(..., hidden)`.

    Returns:
        h' and c', `(..., hidden)` each.

    Source:
        Hochreiter, Schmidhuber 1997, "Long short-term memory"; with the forget gate of Gers, Schmidhuber, Cummins 2000,
        in the order of torch.nn.LSTM.

    Example:
        >>> hidden, cell = lstm_plain(torch.zeros(8), torch.zeros(8), torch.ones(2))
        >>> cell
        tensor([0.5000, 0.5000])
    """
    first, forget, candidate, last = (entering + before).chunk(4, -1)
    new = torch.sigmoid(forget) * cell + torch.sigmoid(first) * torch.tanh(candidate)
    return torch.sigmoid(last) * torch.tanh(new), new


def lstm_forward(entering: Tensor, before: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The next state and cell, and what the backward needs, of float32 rows.

    Args:
        entering, before, cell: as for `lstm_plain`, `(rows, 4 hidden)` and `(rows, hidden)`.

    Raises:
        ShapeError: shapes or types that do not fit, which a kernel would not notice.
    """
    rows, size = cell.shape
    check_gates(entering, before, cell, 4)
    entering, before, cell = laid_in_rows(entering), before.contiguous(), laid_in_rows(cell)
    hidden, new, gates = (before.new_empty(rows, width * size) for width in (1, 1, 5))
    sides = entering, entering.stride(0), before, cell, cell.stride(0)
    _forward(-(-rows // _ROWS), *sides, hidden, new, gates, rows, size)
    return hidden, new, gates


def lstm_backward(hidden_grad: Tensor, new_grad: Tensor, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of what entered (and of u, which is the same) and of the cell, from those of next state and cell.

    Args:
        hidden_grad, new_grad: `(rows, hidden)`.
        gates: as `lstm_forward` returned them.
        cell: as it was given it.
    """
    rows, size = cell.shape
    hidden_grad, new_grad, cell = (laid_in_rows(part) for part in (hidden_grad, new_grad, cell))
    entering_grad, cell_grad = gates.new_empty(rows, 4 * size), gates.new_empty(rows, size)
    sides = hidden_grad, hidden_grad.stride(0), new_grad, new_grad.stride(0), gates, cell, cell.stride(0)
    _backward(-(-rows // _ROWS), *sides, entering_grad, cell_grad, rows, size)
    return entering_grad, cell_grad
