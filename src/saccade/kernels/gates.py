"""Gates of recurrent cells: one pass over two projections, forward and backward."""

from typing import NamedTuple

import torch
from torch import Tensor

from saccade.errors import ShapeError
from saccade.kernels.threads import Kernel, serves

ROWS = 8
"""Rows in a block of work."""


class Forward(NamedTuple):
    """Table of the forward, of GRUs with 3 gates and LSTMs with 4."""

    input_proj: Tensor  # (rows, gates size)
    input_stride: int
    hidden_proj: Tensor  # (rows, gates size)
    state: Tensor  # (rows, size): of a GRU the hidden state, of an LSTM the cell
    state_stride: int
    hidden: Tensor  # (rows, size), a result, as the next two
    cell: Tensor | None  # (rows, size), of an LSTM
    gates: Tensor  # (rows, 3 size) or, with tanh of the new cell, (rows, 5 size)
    rows: int
    size: int


class Backward(NamedTuple):
    """Table of the backward. The results begin at `input_proj_grad`."""

    hidden_grad: Tensor  # (rows, size)
    hidden_stride: int
    cell_grad: Tensor | None  # (rows, size), of an LSTM
    cell_stride: int
    gates: Tensor
    hidden_proj: Tensor | None  # of a GRU
    state: Tensor
    state_stride: int
    input_proj_grad: Tensor
    hidden_proj_grad: Tensor | None  # of a GRU. That of an LSTM is the input's
    state_grad: Tensor
    rows: int
    size: int


_gru, _gru_backward = Kernel("gates.gru", Forward), Kernel("gates.gru_backward", Backward)
_lstm, _lstm_backward = Kernel("gates.lstm", Forward), Kernel("gates.lstm_backward", Backward)


def gated(input_proj: Tensor, hidden_proj: Tensor, hidden: Tensor) -> Tensor:
    """`gates_plain`, by the kernel if nothing is recorded."""
    tensors = input_proj, hidden_proj, hidden
    shape = (*hidden.shape[:-1], 3 * hidden.shape[-1])
    fits = hidden.ndim == 2 and input_proj.shape == hidden_proj.shape == shape
    learns = torch.is_grad_enabled() and any(part.requires_grad for part in tensors)
    return gates_forward(*tensors)[0] if fits and not learns and serves(*tensors) else gates_plain(*tensors)


def gates_plain(input_proj: Tensor, hidden_proj: Tensor, hidden: Tensor) -> Tensor:
    r"""The gated recurrent unit from its two projections, by torch's operations.

    .. math::
        r, z = \sigma(x_{rz} + u_{rz}) \qquad n = \tanh(x_n + r \odot u_n) \qquad h' = (1 - z) \odot n + z \odot h

    x = W input + b and u = U hidden + b are `(..., 3 hidden)` in the order r, z, n. Cho et al. 2014
    (https://arxiv.org/abs/1406.1078), Eq. 5-8; the reset gate after the product, as in torch.nn.GRU.
    """
    size = hidden.shape[-1]
    gates = torch.sigmoid(input_proj[..., : 2 * size] + hidden_proj[..., : 2 * size])
    reset, update = gates.split(size, -1)
    new = torch.tanh(torch.addcmul(input_proj[..., 2 * size :], reset, hidden_proj[..., 2 * size :]))
    kind = torch.promote_types(new.dtype, hidden.dtype)  # under autocast gates and state may be of two types
    return torch.lerp(new.to(kind), hidden.to(kind), update.to(kind))


def gates_forward(input_proj: Tensor, hidden_proj: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
    """The next state, and r, z and n for the backward, of float32 rows."""
    (rows, size), inputs = hidden.shape, _inputs(3, input_proj, hidden_proj, hidden)
    new, gates = hidden.new_empty(rows, size), hidden.new_empty(rows, 3 * size)
    _gru(-(-rows // ROWS), Forward(*inputs, new, None, gates, rows, size))
    return new, gates


def gates_backward(grad: Tensor, gates: Tensor, hidden_proj: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of input_proj, hidden_proj and hidden, from the next state's."""
    rows, size = hidden.shape
    grad, hidden = _laid_in_rows(grad), _laid_in_rows(hidden)
    gates, hidden_proj = gates.contiguous(), hidden_proj.contiguous()  # hooks on saved tensors may change strides
    grads = torch.empty_like(gates), torch.empty_like(gates), gates.new_empty(rows, size)
    inputs = grad, grad.stride(0), None, 0, gates, hidden_proj, hidden, hidden.stride(0)
    _gru_backward(-(-rows // ROWS), Backward(*inputs, *grads, rows, size))
    return grads


def _inputs(
    gates: int, input_proj: Tensor, hidden_proj: Tensor, state: Tensor
) -> tuple[Tensor, int, Tensor, Tensor, int]:
    """First entries of a table. A kernel would not notice a shape that does not fit."""
    rows, size = state.shape
    expected = {"input_proj": (rows, gates * size), "hidden_proj": (rows, gates * size), "state": (rows, size)}
    for (name, shape), part in zip(expected.items(), (input_proj, hidden_proj, state), strict=True):
        if part.shape != shape or part.dtype != torch.float32:
            expected_part = f"{shape} of {torch.float32}, for a state of {size}"
            raise ShapeError(f"{name}: expected {expected_part}, got {tuple(part.shape)} of {part.dtype}")
    input_proj, state = _laid_in_rows(input_proj), _laid_in_rows(state)
    return input_proj, input_proj.stride(0), hidden_proj.contiguous(), state, state.stride(0)


def _laid_in_rows(tensor: Tensor) -> Tensor:
    """Features of a row side by side. The rows may lie apart."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def lstm_plain(input_proj: Tensor, hidden_proj: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    r"""Long short-term memory by torch's operations, in any type, to any derivative.

    .. math::
        i, f, o = \sigma(x_{ifo} + u_{ifo}) \qquad g = \tanh(x_g + u_g) \qquad
        c' = f \odot c + i \odot g \qquad h' = o \odot \tanh(c')

    x and u are `(..., 4 hidden)` in the order i, f, g, o, as in torch.nn.LSTM. The results are h' and c'.
    Hochreiter, Schmidhuber 1997; Gers, Schmidhuber, Cummins 2000 added the forget gate.
    """
    input_gate, forget_gate, candidate, output_gate = (input_proj + hidden_proj).chunk(4, -1)
    new = torch.sigmoid(forget_gate) * cell + torch.sigmoid(input_gate) * torch.tanh(candidate)
    return torch.sigmoid(output_gate) * torch.tanh(new), new


def lstm_forward(input_proj: Tensor, hidden_proj: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The next state and cell, and the gates for the backward, of float32 rows."""
    (rows, size), inputs = cell.shape, _inputs(4, input_proj, hidden_proj, cell)
    hidden, new, gates = (cell.new_empty(rows, width * size) for width in (1, 1, 5))
    _lstm(-(-rows // ROWS), Forward(*inputs, hidden, new, gates, rows, size))
    return hidden, new, gates


def lstm_backward(hidden_grad: Tensor, new_grad: Tensor, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of each projection and of the cell, from the next state's and cell's."""
    rows, size = cell.shape
    hidden_grad, new_grad, cell = (_laid_in_rows(part) for part in (hidden_grad, new_grad, cell))
    gates = gates.contiguous()  # hooks on saved tensors may change strides
    grads = gates.new_empty(rows, 4 * size), gates.new_empty(rows, size)
    inputs = hidden_grad, hidden_grad.stride(0), new_grad, new_grad.stride(0), gates, None, cell, cell.stride(0)
    _lstm_backward(-(-rows // ROWS), Backward(*inputs, grads[0], None, grads[1], rows, size))
    return grads
