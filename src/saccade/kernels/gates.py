"""`gated`, the gates of a gated recurrent unit: one pass over its two projections, forward and backward."""

from typing import Any

import torch
from torch import Tensor

from saccade.errors import ShapeError
from saccade.kernels.sums import by_definition
from saccade.kernels.threads import Kernel, serves

__all__ = ["check_gates", "gated", "gates_backward", "gates_forward", "gates_plain", "laid_in_rows"]

_ROWS = 8  # in a block, as compiled.gates has it
_forward, _backward = Kernel("gates:forward"), Kernel("gates:backward")


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
        ShapeError: shapes or types that do not fit, which a kernel would not notice.
    """
    rows, size = hidden.shape
    check_gates(input_proj, hidden_proj, hidden, 3)
    input_proj, hidden_proj, hidden = laid_in_rows(input_proj), hidden_proj.contiguous(), laid_in_rows(hidden)
    new, gates = hidden_proj.new_empty(rows, size), torch.empty_like(hidden_proj)
    sides = input_proj, input_proj.stride(0), hidden_proj, hidden, hidden.stride(0)
    _forward(-(-rows // _ROWS), *sides, new, gates, rows, size)
    return new, gates


def gates_backward(grad: Tensor, gates: Tensor, hidden_proj: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of input_proj, hidden_proj and hidden, from that of the next state.

    Args:
        grad: `(rows, hidden)`.
        gates: as `gates_forward` returned them.
        hidden_proj, hidden: as it was given them.
    """
    rows, size = hidden.shape
    grad, hidden = laid_in_rows(grad), laid_in_rows(hidden)
    gates, hidden_proj = gates.contiguous(), hidden_proj.contiguous()  # hooks on saved tensors may change strides
    found = torch.empty_like(gates), torch.empty_like(gates), gates.new_empty(rows, size)
    sides = grad, grad.stride(0), gates, hidden_proj, hidden, hidden.stride(0)
    _backward(-(-rows // _ROWS), *sides, *found, rows, size)
    return found


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
    """Raises `ShapeError` unless float32 `(rows, gates * size)`, the same, and `(rows, size)`."""
    rows, size = state.shape
    expected = {"input_proj": (rows, gates * size), "hidden_proj": (rows, gates * size), "state": (rows, size)}
    for (name, shape), part in zip(expected.items(), (input_proj, hidden_proj, state), strict=True):
        if part.shape != shape or part.dtype != torch.float32:
            wanted = f"{shape} of {torch.float32}, for a state of {size}"
            raise ShapeError(f"{name}: expected {wanted}, got {tuple(part.shape)} of {part.dtype}")


def laid_in_rows(tensor: Tensor) -> Tensor:
    """With the features of a row side by side, as kernels take rows; these may be apart."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()
