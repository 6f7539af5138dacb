"""What values are told of the error: their weight times what their output is told, exactly."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from saccade.attention import attend
from saccade.auxiliary import AuxRequest
from saccade.normalizers import Entmax, Normalizer, Sigmoid, Softmax, Sparsemax
from saccade.scores import Dot
from saccade.train.randomness import generator

__all__ = ["GRAPH", "SHARPNESS", "WAYS", "compared", "graph"]

_UNIFORM = "uniform"
WAYS: Mapping[str, Normalizer] = {
    _UNIFORM: Softmax(),  # of scores that are all 0
    "softmax": Softmax(),
    "softmax, masked": Softmax(),
    "sigmoid": Sigmoid(),
    "entmax 1.5": Entmax(),
    "sparsemax": Sparsemax(),
}
"""Normalizers that are tried, by what they are called."""
GRAPH = (_UNIFORM, "softmax", "sparsemax")
SHARPNESS = 2.0
"""What queries are multiplied by."""
_GRAPHS, _QUERIES, _VALUES, _DIM, _FEATURES = 40, 3, 11, 5, 7
_SCORES, _VALUE, _UPSTREAM = (1.2, 0.1, 0.8, -0.6, -1.0), (0.3, -0.7, 1.1, 0.4, -0.2), 2.0


def compared(way: str, seed: int) -> dict[str, float]:
    r"""Return how far gradients that flowed back are from their formula, in float64, over 40 random graphs.

    .. math:: y_t = \sum_i w_{ti} v_i \quad\Rightarrow\quad
        \frac{\partial L}{\partial v_i} = \sum_t w_{ti} \frac{\partial L}{\partial y_t}

    Args:
        way: a key of `WAYS`.
        seed: of queries, keys, values and what outputs are told.

    Returns:
        "deviation", the largest distance over the largest gradient; "zeros", how many values no query has a weight for;
        "leak", the largest gradient that one of these or its key is given.

    Example:
        >>> compared("sparsemax", 1)["leak"]
        0.0
    """
    numbers = generator(seed, "gradients", way)

    def normal(*sizes: int) -> Tensor:
        return torch.randn(_GRAPHS, *sizes, dtype=torch.float64, generator=numbers)

    query, told = normal(_QUERIES, _DIM), normal(_QUERIES, _FEATURES)
    key, value = normal(_VALUES, _DIM).requires_grad_(), normal(_VALUES, _FEATURES).requires_grad_()
    mask = torch.rand(_GRAPHS, 1, _VALUES, generator=numbers) < 0.5 if way.endswith("masked") else None
    sharp = 0.0 if way == _UNIFORM else SHARPNESS
    output, aux = attend(
        sharp * query, key, value, score=Dot(), normalizer=WAYS[way], mask=mask, aux=AuxRequest(weights=True)
    )
    output.backward(told)
    assert value.grad is not None
    assert key.grad is not None
    assert aux.weights is not None
    weights = aux.weights.detach()
    expected = (weights[..., None] * told[..., None, :]).sum(-3)  # term by term: no product of ours is asked
    unread = (weights == 0).all(-2)
    leaks = torch.cat([value.grad[unread].flatten(), key.grad[unread].flatten()]).abs()
    return {
        "deviation": float((value.grad - expected).abs().max() / expected.abs().max()),
        "zeros": int(unread.sum()),
        "values": unread.numel(),
        "leak": float(leaks.max()) if len(leaks) else 0.0,
    }


def graph(way: str) -> dict[str, Any]:
    """Return a graph that can be drawn: five values of one number each, one output, and what all are told.

    >>> graph("uniform")["gradients"]
    [0.4, 0.4, 0.4, 0.4, 0.4]
    """
    key = torch.tensor(_SCORES, dtype=torch.float64)[:, None]
    value = torch.tensor(_VALUE, dtype=torch.float64)[:, None].requires_grad_()
    query = torch.full((1, 1), 0.0 if way == _UNIFORM else 1.0, dtype=torch.float64)
    output, aux = attend(query, key, value, score=Dot(), normalizer=WAYS[way], aux=AuxRequest(weights=True))
    output.backward(torch.full_like(output, _UPSTREAM))
    assert value.grad is not None
    assert aux.weights is not None
    return {"weights": aux.weights[0].tolist(), "gradients": value.grad[:, 0].tolist(), "told": _UPSTREAM}
