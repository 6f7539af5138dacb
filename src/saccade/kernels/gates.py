"""Gates of recurrent cells: one pass over two projections, forward and backward."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.errors import ShapeError
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import Kernel, serves

__all__ = [
    "ROWS",
    "check_gates",
    "gated",
    "gates_backward",
    "gates_forward",
    "gates_plain",
    "laid_in_rows",
    "lstm_backward",
    "lstm_forward",
    "lstm_plain",
]

ROWS = 8
"""Rows in a block of work."""


class Gru(NamedTuple):
    """Table of the forward of a GRU. `new` and `gates` are the results."""

    input_proj: Tensor  # (rows, 3 size)
    input_stride: int
    hidden_proj: Tensor  # (rows, 3 size)
    hidden: Tensor  # (rows, size)
    hidden_stride: int
    new: Tensor  # (rows, size)
    gates: Tensor  # (rows, 3 size)
    rows: int
    size: int


class GruBackward(NamedTuple):
    """Table of the backward of a GRU. The results begin at `input_proj_grad`."""

    grad: Tensor  # (rows, size)
    grad_stride: int
    gates: Tensor  # (rows, 3 size)
    hidden_proj: Tensor  # (rows, 3 size)
    hidden: Tensor  # (rows, size)
    hidden_stride: int
    input_proj_grad: Tensor  # (rows, 3 size)
    hidden_proj_grad: Tensor  # (rows, 3 size)
    hidden_grad: Tensor  # (rows, size)
    rows: int
    size: int


class Lstm(NamedTuple):
    """Table of the forward of an LSTM. `hidden`, `new` and `gates` are the results."""

    input_proj: Tensor  # (rows, 4 size)
    input_stride: int
    hidden_proj: Tensor  # (rows, 4 size)
    cell: Tensor  # (rows, size)
    cell_stride: int
    hidden: Tensor  # (rows, size)
    new: Tensor  # (rows, size)
    gates: Tensor  # (rows, 5 size): the four gates, and tanh of the new cell
    rows: int
    size: int


class LstmBackward(NamedTuple):
    """Table of the backward of an LSTM. The results are the last two tensors."""

    hidden_grad: Tensor  # (rows, size)
    hidden_grad_stride: int
    new_grad: Tensor  # (rows, size)
    new_grad_stride: int
    gates: Tensor  # (rows, 5 size)
    cell: Tensor  # (rows, size)
    cell_stride: int
    input_proj_grad: Tensor  # (rows, 4 size)
    cell_grad: Tensor  # (rows, size)
    rows: int
    size: int


_gru, _gru_backward = Kernel("gates.gru", Gru), Kernel("gates.gru_backward", GruBackward)
_lstm, _lstm_backward = Kernel("gates.lstm", Lstm), Kernel("gates.lstm_backward", LstmBackward)


def gated(input_proj: Tensor, hidden_proj: Tensor, hidden: Tensor) -> Tensor:
    r"""The gated recurrent unit from its two projections.

    .. math::
        r, z = \sigma(x_{rz} + u_{rz}) \qquad n = \tanh(x_n + r \odot u_n) \qquad h' = (1 - z) \odot n + z \odot h

    Args:
        input_proj: x = W input + b, the input's projections `(..., 3 hidden)` in the order r, z, n.
        hidden_proj: u = U hidden + b, the state's, of that shape.
        hidden: h, `(..., hidden)`.

    Source:
        Cho et al. 2014 (https://arxiv.org/abs/1406.1078), Eq. 5-8; the reset gate after the product, as in
        torch.nn.GRU.

    Example:
        >>> gated(torch.zeros(6), torch.zeros(6), torch.ones(2))
        tensor([0.5000, 0.5000])
    """
    shape = (*hidden.shape[:-1], 3 * hidden.shape[-1])
    fits = hidden.ndim == 2 and input_proj.shape == hidden_proj.shape == shape
    if fits and serves(input_proj, hidden_proj, hidden):
        if torch.is_grad_enabled() and (input_proj.requires_grad or hidden_proj.requires_grad or hidden.requires_grad):
            return _Gated.apply(input_proj, hidden_proj, hidden)  # type: ignore[no-any-return]
        return gates_forward(input_proj, hidden_proj, hidden)[0]
    return gates_plain(input_proj, hidden_proj, hidden)


def gates_plain(input_proj: Tensor, hidden_proj: Tensor, hidden: Tensor) -> Tensor:
    """`gated` by torch's operations, in any type and to any derivative."""
    size = hidden.shape[-1]
    gates = torch.sigmoid(input_proj[..., : 2 * size] + hidden_proj[..., : 2 * size])
    reset, update = gates.split(size, -1)
    new = torch.tanh(torch.addcmul(input_proj[..., 2 * size :], reset, hidden_proj[..., 2 * size :]))
    kind = torch.promote_types(new.dtype, hidden.dtype)  # under autocast gates and state may be of two types
    return torch.lerp(new.to(kind), hidden.to(kind), update.to(kind))


def gates_forward(input_proj: Tensor, hidden_proj: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
    """The next state, and r, z and n for the backward, of float32 rows.

    Args:
        input_proj, hidden_proj, hidden: as for `gated`, `(rows, 3 hidden)` and `(rows, hidden)`.

    Raises:
        ShapeError: shapes or types that do not fit, which a kernel would not check.
    """
    rows, size = hidden.shape
    check_gates(input_proj, hidden_proj, hidden, 3)
    input_proj, hidden_proj, hidden = laid_in_rows(input_proj), hidden_proj.contiguous(), laid_in_rows(hidden)
    new, gates = hidden_proj.new_empty(rows, size), torch.empty_like(hidden_proj)
    steps = input_proj.stride(0), hidden.stride(0)
    _gru(-(-rows // ROWS), Gru(input_proj, steps[0], hidden_proj, hidden, steps[1], new, gates, rows, size))
    return new, gates


def gates_backward(grad: Tensor, gates: Tensor, hidden_proj: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of input_proj, hidden_proj and hidden, from the next state's.

    Args:
        grad: `(rows, hidden)`.
        gates: as `gates_forward` returned them.
        hidden_proj, hidden: as it was given them.
    """
    rows, size = hidden.shape
    grad, hidden = laid_in_rows(grad), laid_in_rows(hidden)
    gates, hidden_proj = gates.contiguous(), hidden_proj.contiguous()  # hooks on saved tensors may change strides
    input_proj_grad, hidden_proj_grad = torch.empty_like(gates), torch.empty_like(gates)
    hidden_grad = gates.new_empty(rows, size)
    inputs = grad, grad.stride(0), gates, hidden_proj, hidden, hidden.stride(0)
    _gru_backward(-(-rows // ROWS), GruBackward(*inputs, input_proj_grad, hidden_proj_grad, hidden_grad, rows, size))
    return input_proj_grad, hidden_proj_grad, hidden_grad


class _Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input_proj: Tensor, hidden_proj: Tensor, hidden: Tensor) -> Tensor:
        new, gates = gates_forward(input_proj, hidden_proj, hidden)
        ctx.save_for_backward(input_proj, gates, hidden_proj, hidden)
        return new

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        input_proj, gates, hidden_proj, hidden = ctx.saved_tensors
        if torch.is_grad_enabled() or not serves(grad):
            return tuple(by_definition(gates_plain, (input_proj, hidden_proj, hidden), ctx.needs_input_grad, grad))
        return gates_backward(grad, gates, hidden_proj, hidden)


def check_gates(input_proj: Tensor, hidden_proj: Tensor, state: Tensor, gates: int) -> None:
    """Reject inputs other than float32 `(rows, gates * size)`, twice, `(rows, size)`."""
    rows, size = state.shape
    expected = {"input_proj": (rows, gates * size), "hidden_proj": (rows, gates * size), "state": (rows, size)}
    for (name, shape), part in zip(expected.items(), (input_proj, hidden_proj, state), strict=True):
        if part.shape != shape or part.dtype != torch.float32:
            expected_part = f"{shape} of {torch.float32}, for a state of {size}"
            raise ShapeError(f"{name}: expected {expected_part}, got {tuple(part.shape)} of {part.dtype}")


def laid_in_rows(tensor: Tensor) -> Tensor:
    """Features of a row side by side, as kernels read rows. The rows may lie apart."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def lstm_plain(input_proj: Tensor, hidden_proj: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    r"""Long short-term memory by torch's operations, in any type, to any derivative.

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
        Hochreiter, Schmidhuber 1997, "Long short-term memory". Gers, Schmidhuber, Cummins 2000 added the forget gate.
        Gates are in the order of torch.nn.LSTM.

    Example:
        >>> hidden, cell = lstm_plain(torch.zeros(8), torch.zeros(8), torch.ones(2))
        >>> cell
        tensor([0.5000, 0.5000])
    """
    input_gate, forget_gate, candidate, output_gate = (input_proj + hidden_proj).chunk(4, -1)
    new = torch.sigmoid(forget_gate) * cell + torch.sigmoid(input_gate) * torch.tanh(candidate)
    return torch.sigmoid(output_gate) * torch.tanh(new), new


def lstm_forward(input_proj: Tensor, hidden_proj: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The next state and cell, and the gates for the backward, of float32 rows.

    Args:
        input_proj, hidden_proj, cell: as for `lstm_plain`, `(rows, 4 hidden)` and `(rows, hidden)`.

    Raises:
        ShapeError: shapes or types that do not fit, which a kernel would not check.
    """
    rows, size = cell.shape
    check_gates(input_proj, hidden_proj, cell, 4)
    input_proj, hidden_proj, cell = laid_in_rows(input_proj), hidden_proj.contiguous(), laid_in_rows(cell)
    hidden, new, gates = (hidden_proj.new_empty(rows, width * size) for width in (1, 1, 5))
    steps = input_proj.stride(0), cell.stride(0)
    _lstm(-(-rows // ROWS), Lstm(input_proj, steps[0], hidden_proj, cell, steps[1], hidden, new, gates, rows, size))
    return hidden, new, gates


def lstm_backward(hidden_grad: Tensor, new_grad: Tensor, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of each projection and of the cell, from the next state's and cell's.

    Args:
        hidden_grad, new_grad: `(rows, hidden)`.
        gates: as `lstm_forward` returned them.
        cell: as it was given it.
    """
    rows, size = cell.shape
    hidden_grad, new_grad, cell = (laid_in_rows(part) for part in (hidden_grad, new_grad, cell))
    gates = gates.contiguous()  # hooks on saved tensors may change strides
    input_proj_grad, cell_grad = gates.new_empty(rows, 4 * size), gates.new_empty(rows, size)
    inputs = hidden_grad, hidden_grad.stride(0), new_grad, new_grad.stride(0), gates, cell, cell.stride(0)
    _lstm_backward(-(-rows // ROWS), LstmBackward(*inputs, input_proj_grad, cell_grad, rows, size))
    return input_proj_grad, cell_grad
