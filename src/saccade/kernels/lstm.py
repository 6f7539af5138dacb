"""The gates of long short-term memory: one pass over its two projections, forward and backward."""

import torch
from torch import Tensor

from saccade.kernels.gates import check_gates, laid_in_rows
from saccade.kernels.threads import Kernel

__all__ = ["lstm_backward", "lstm_forward", "lstm_plain"]

_ROWS = 8  # in a block, as compiled.lstm has it
_forward, _backward = Kernel("lstm:forward"), Kernel("lstm:backward")


def lstm_plain(input_proj: Tensor, hidden_proj: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    r"""Long short-term memory from its two projections, by torch's operations, in any type and to any derivative.

    .. math::
        i, f, o = \sigma(x_{ifo} + u_{ifo}) \qquad g = \tanh(x_g + u_g) \qquad
        c' = f \odot c + i \odot g \qquad h' = o \odot \tanh(c')

    Args:
        input_proj: x = W input + b, the input's projections `(..., 4 hidden)` in the order i, f, g, o.
        hidden_proj: u = U hidden + b, the state's, of that shape.
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
    input_gate, forget_gate, candidate, output_gate = (input_proj + hidden_proj).chunk(4, -1)
    new = torch.sigmoid(forget_gate) * cell + torch.sigmoid(input_gate) * torch.tanh(candidate)
    return torch.sigmoid(output_gate) * torch.tanh(new), new


def lstm_forward(input_proj: Tensor, hidden_proj: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The next state and cell, and what the backward needs, of float32 rows.

    Args:
        input_proj, hidden_proj, cell: as for `lstm_plain`, `(rows, 4 hidden)` and `(rows, hidden)`.

    Raises:
        ShapeError: shapes or types that do not fit, which a kernel would not notice.
    """
    rows, size = cell.shape
    check_gates(input_proj, hidden_proj, cell, 4)
    input_proj, hidden_proj, cell = laid_in_rows(input_proj), hidden_proj.contiguous(), laid_in_rows(cell)
    hidden, new, gates = (hidden_proj.new_empty(rows, width * size) for width in (1, 1, 5))
    sides = input_proj, input_proj.stride(0), hidden_proj, cell, cell.stride(0)
    _forward(-(-rows // _ROWS), *sides, hidden, new, gates, rows, size)
    return hidden, new, gates


def lstm_backward(hidden_grad: Tensor, new_grad: Tensor, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of `input_proj` (`hidden_proj` has the same) and of the cell, from those of next state and cell.

    Args:
        hidden_grad, new_grad: `(rows, hidden)`.
        gates: as `lstm_forward` returned them.
        cell: as it was given it.
    """
    rows, size = cell.shape
    hidden_grad, new_grad, cell = (laid_in_rows(part) for part in (hidden_grad, new_grad, cell))
    gates = gates.contiguous()  # hooks on saved tensors may change strides
    input_proj_grad, cell_grad = gates.new_empty(rows, 4 * size), gates.new_empty(rows, size)
    sides = hidden_grad, hidden_grad.stride(0), new_grad, new_grad.stride(0), gates, cell, cell.stride(0)
    _backward(-(-rows // _ROWS), *sides, input_proj_grad, cell_grad, rows, size)
    return input_proj_grad, cell_grad
