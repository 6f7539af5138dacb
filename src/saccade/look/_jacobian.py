"""How much each output of a sequence model hangs on each of its inputs: the sequential Jacobian, exactly."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from saccade.errors import ArgumentError, ShapeError
from saccade.numerics import divide
from saccade.threads import Shared, hooked

__all__ = ["given", "sequential_jacobian", "shares"]

_BLOCK = 64  # rows of the Jacobian in one pass backwards


def sequential_jacobian(
    model: Callable[[Tensor], Tensor], inputs: Tensor, weight: Tensor | None = None, *, block: int = _BLOCK
) -> Tensor:
    r"""Return how much each output of a sequence model moves with each of its inputs.

    .. math:: J_{ts} = \lVert \partial y_t / \partial x_s \rVert_F, \qquad y_t = W f_t

    with all entries of both: no output is chosen, and no direction drawn. The model is run once, on `block` copies of
    the inputs, and each pass backwards gives as many rows. So it takes what any model is made of, kernels that know
    nothing of `torch.func` included; that the copies do not see each other is all that is asked of it. As \(W = Q R\)
    with orthonormal Q, \(\lVert W A \rVert_F = \lVert R A \rVert_F\): an output of thousands of words costs what its
    features do.

    The model is called as it is: whoever wants dropout off calls `eval` before. Its parameters get no gradients.

    Args:
        model: from copies of the inputs `(block, S, ...)` to f, `(block, T, features)`.
        inputs: x `(S, ...)`, of a floating type.
        weight: W `(outputs, features)`; the identity if not given.
        block: rows at a time, which decides time and memory and nothing else.

    Returns:
        `(T, S)`, at least 0, in float64.

    Raises:
        ArgumentError: if the inputs are no floating-point numbers, or no row is to be computed at a time.
        ShapeError: if the model returns another shape.

    Source:
        Graves 2012, "Supervised Sequence Labelling with Recurrent Neural Networks", chapter 3: of its blocks, these are
        the norms.

    Example:
        >>> mix = torch.tensor([[2.0, 0.0, 0.0], [3.0, 0.0, 4.0]])
        >>> sequential_jacobian(lambda x: mix @ x, torch.zeros(3, 1))
        tensor([[2., 0., 0.],
                [3., 0., 4.]], dtype=torch.float64)
    """
    if not inputs.is_floating_point():
        raise ArgumentError(f"inputs: expected floating-point numbers, got {inputs.dtype}; embed them first")
    if block < 1:
        raise ArgumentError(f"block: expected a number above 0, got {block}")
    with differentiable():
        leaf = inputs.detach().clone().expand(block, *inputs.shape).clone().requires_grad_()
        found = model(leaf)
        if found.ndim != 3 or len(found) != block:
            raise ShapeError(f"model: expected an output ({block}, T, features), got {tuple(found.shape)}")
        return _squares(found, leaf, _rows(found, weight)).sqrt()


@contextmanager
def differentiable() -> Iterator[None]:
    """Compute with gradients, of recurrent layers in evaluation mode too, though whoever asks wants none: inference
    mode is left, and cuDNN, which has no gradients of them, is off while the block runs.

    >>> with torch.inference_mode(), differentiable():
    ...     torch.ones(1).requires_grad_().is_inference(), torch.is_grad_enabled()
    (False, True)
    """
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
    """Return each row of norms as shares of its sum, a row of zeros where nothing matters.

    >>> shares(torch.tensor([[1.0, 3.0], [0.0, 0.0]]))
    tensor([[0.2500, 0.7500],
            [0.0000, 0.0000]])
    """
    return divide(norms, norms.sum(-1, keepdim=True))


@contextmanager
def given(module: nn.Module, output: Tensor) -> Iterator[None]:
    """Have a module return a tensor `(batch, S, ...)` when it is first called, while the block runs.

    So a model that reads numbers of words reads any vectors in their place. Where its own output is of more places, the
    rest of it stays, as do the calls that follow.

    >>> embedding = nn.Embedding(3, 2)
    >>> with given(embedding, torch.ones(1, 1, 2)):
    ...     print(embedding(torch.tensor([[0]])), embedding(torch.tensor([[0]])).shape)
    tensor([[[1., 1.]]]) torch.Size([1, 1, 2])
    """
    waiting = [output]

    def replace(called: nn.Module, args: Any, own: Any) -> Any:
        if not waiting:
            return own
        first = waiting.pop()
        return torch.cat([first, own[:, first.shape[1] :]], 1) if own.shape[1] > first.shape[1] else first

    with hooked([module], replace):
        yield


def _rows(found: Tensor, weight: Tensor | None) -> Tensor:
    """What features are multiplied by, in as few rows as have the same norms."""
    if weight is None:
        return torch.eye(found.shape[-1], dtype=found.dtype, device=found.device)
    triangle: Tensor = torch.linalg.qr(weight.detach().double(), "r").R
    return triangle.to(found)


def _squares(found: Tensor, leaf: Tensor, rows: Tensor) -> Tensor:
    """The squared norms, summed over the rows of each output in blocks of as many as there are copies."""
    (copies, length, _), each = found.shape, len(rows)
    squares = torch.zeros(length, leaf.shape[1], dtype=torch.float64, device=found.device)
    for first in range(0, length * each, copies):
        numbers = torch.arange(first, min(first + copies, length * each), device=found.device)
        places, upstream = numbers // each, torch.zeros_like(found)
        upstream[numbers - first, places] = rows[numbers % each]
        [gradient] = torch.autograd.grad(found, leaf, upstream, retain_graph=True, materialize_grads=True)
        squares.index_add_(0, places, gradient[: len(numbers)].double().flatten(2).square().sum(-1))
    return squares
