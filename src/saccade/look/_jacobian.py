"""The sequential Jacobian, exactly: the effect of each input on each output."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from saccade._definitions.numerics import divide
from saccade._threads import Shared, hooked
from saccade.errors import ArgumentError, ShapeError

_BLOCK = 64  # rows of the Jacobian in one pass backwards


def sequential_jacobian(
    model: Callable[[Tensor], Tensor],
    inputs: Tensor,
    weight: Tensor | None = None,
    *,
    signed: bool = False,
    block: int = _BLOCK,
) -> Tensor:
    r"""Return how much each output of a sequence model moves with each of its inputs.

    .. math:: J_{ts} = \lVert \partial y_t / \partial x_s \rVert_F, \qquad y_t = W f_t

    with all entries of both, or the blocks \(\partial y_t / \partial x_s\) themselves. The model runs once, on `block`
    copies of the inputs, and each pass backwards gives as many rows. So it may consist of kernels that know nothing of
    `torch.func`, if no copy depends on another. As \(W = Q R\) with orthonormal Q, \(\lVert W A \rVert_F = \lVert R A
    \rVert_F\): an output of thousands of words costs as much as its features. The model is called as it is: call `eval`
    before to turn dropout off. Its parameters get no gradients.

    Args:
        model: from copies of the inputs `(block, S, ...)` to f, `(block, T, features)`.
        inputs: x `(S, ...)`, of a floating type.
        weight: W `(outputs, features)`; None for the identity.
        signed: whether to return the blocks, with their signs, in place of their norms.
        block: rows at a time, which decides time and memory and nothing else.

    Returns:
        `(T, S)`, at least 0, in float64. Signed: `(T, outputs, S, ...)`, a row \(J_k^t\) for each output k at step t.

    Raises:
        ArgumentError: inputs that are not floating-point numbers, or a block below 1.
        ShapeError: an output of another shape.

    Source:
        Graves 2012, "Supervised Sequence Labelling with Recurrent Neural Networks", chapter 3, which has the blocks.

    Example:
        >>> mix = torch.tensor([[2.0, 0.0, 0.0], [3.0, 0.0, 4.0]])
        >>> sequential_jacobian(lambda x: mix @ x, torch.zeros(3, 1))
        tensor([[2., 0., 0.],
                [3., 0., 4.]], dtype=torch.float64)
        >>> sequential_jacobian(lambda x: -mix @ x, torch.zeros(3, 1), signed=True)[1, 0, :, 0]
        tensor([-3.,  0., -4.], dtype=torch.float64)
    """
    if not inputs.is_floating_point():
        raise ArgumentError(f"inputs: expected floating-point numbers, got {inputs.dtype}; embed them first")
    if block < 1:
        raise ArgumentError(f"block: expected a number above 0, got {block}")
    with differentiable():
        leaf = inputs.detach().clone().expand(block, *inputs.shape).clone().requires_grad_()
        output = model(leaf)
        if output.ndim != 3 or len(output) != block:
            raise ShapeError(f"model: expected an output ({block}, T, features), got {tuple(output.shape)}")
        if weight is None or signed:
            rows = torch.eye(output.shape[-1], dtype=output.dtype, device=output.device)
        else:
            rows = torch.linalg.qr(weight.detach().double(), "r").R.to(output)
        (_, length, _), count = output.shape, len(rows)
        squares = torch.zeros(length, len(inputs), dtype=torch.float64, device=output.device)
        blocks = []
        for first in range(0, length * count, block):
            numbers = torch.arange(first, min(first + block, length * count), device=output.device)
            steps, upstream = numbers // count, torch.zeros_like(output)
            upstream[numbers - first, steps] = rows[numbers % count]
            [gradient] = torch.autograd.grad(output, leaf, upstream, retain_graph=True, materialize_grads=True)
            gradient = gradient[: len(numbers)].double()
            if signed:
                blocks.append(gradient)
            else:
                squares.index_add_(0, steps, gradient.flatten(2).square().sum(-1))
        if not signed:
            return squares.sqrt()
        jacobian = torch.cat(blocks).unflatten(0, (length, count))
        return jacobian if weight is None else torch.einsum("of,tf...->to...", weight.detach().to(jacobian), jacobian)


@contextmanager
def differentiable() -> Iterator[None]:
    """Enable gradients, without cuDNN: its recurrent layers in eval mode have none."""
    with _WITHOUT_CUDNN(), torch.inference_mode(mode=False), torch.enable_grad():
        yield


@contextmanager
def _without_cudnn() -> Iterator[None]:
    before = torch.backends.cudnn.enabled  # `flags` would ask for settings that newer ones of torch forbid to read
    torch.backends.cudnn.enabled = False
    try:
        yield
    finally:
        torch.backends.cudnn.enabled = before


_WITHOUT_CUDNN = Shared(_without_cudnn)


def shares(norms: Tensor) -> Tensor:
    """Return each row of norms as shares of its sum, a row of zeros for a sum of 0.

    >>> shares(torch.tensor([[1.0, 3.0], [0.0, 0.0]]))
    tensor([[0.2500, 0.7500],
            [0.0000, 0.0000]])
    """
    return divide(norms, norms.sum(-1, keepdim=True))


@contextmanager
def returning(module: nn.Module, output: Tensor) -> Iterator[None]:
    """Make the first call of a module return a tensor, such as embeddings.

    It is `(batch, S, ...)`. If the module's output has more places, the rest of it stays, as do later calls.
    """
    waiting = [output]

    def replace(called: nn.Module, args: Any, result: Any) -> Any:
        if not waiting:
            return result
        first = waiting.pop()
        return torch.cat([first, result[:, first.shape[1] :]], 1) if result.shape[1] > first.shape[1] else first

    with hooked([module], replace):
        yield
