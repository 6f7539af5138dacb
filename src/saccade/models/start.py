"""Start of a model: a linear function plus boosted trees."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["Start"]

_NUMBERS = ("threshold", "value")
_INDICES = ("feature", "left", "right")


class Start(nn.Module):
    r"""Linear function of a row, plus the sum of regression trees.

    .. math:: s(x) = W x + b + \sum_t v_t(x)

    A node of tree t goes left if its feature is at most its threshold. A leaf is its own child, and its value is v.

    Args:
        linear: "weight", `(outputs, features)`, and "bias", `(outputs,)`.
        trees: "output" of each tree, and lists of its nodes: "feature", "threshold", "left", "right" and "value". Nodes
            behind the last one are never reached.
        depth: largest number of steps from a root to a leaf.

    Example:
        >>> stump = {"output": [0], "feature": [[0, 0, 0]], "threshold": [[1.0, 0, 0]], "left": [[1, 1, 2]]}
        >>> stump |= {"right": [[2, 1, 2]], "value": [[0.0, -5.0, 5.0]]}
        >>> start = Start({"weight": [[2.0]], "bias": [1.0]}, stump, 1)
        >>> start(torch.tensor([[1.0], [3.0]]).double()).squeeze(1).tolist()
        [-2.0, 12.0]
    """

    def __init__(
        self, linear: Mapping[str, Sequence[Any]], trees: Mapping[str, Sequence[Any]] | None = None, depth: int = 0
    ) -> None:
        super().__init__()
        self.depth = depth
        for name in ("weight", "bias"):
            self._keep(name, torch.tensor(linear[name], dtype=torch.float64))
        if trees is not None:
            for name in (*_NUMBERS, *_INDICES):
                dtype = torch.float64 if name in _NUMBERS else torch.int64
                self._keep(name, _padded(trees[name], dtype))
            outputs = torch.arange(len(linear["bias"]))
            self._keep("output", (torch.tensor(trees["output"])[:, None] == outputs).double())

    def forward(self, points: Tensor) -> Tensor:
        """Return s, `(batch, outputs)`, of rows `(batch, features)`, both float64."""
        total = points @ self.weight.T + self.bias
        if not self.depth:
            return total
        trees = torch.arange(len(self.output), device=points.device)
        nodes = torch.zeros(points.shape[0], len(trees), dtype=torch.int64, device=points.device)
        for _ in range(self.depth):
            left = points.gather(1, self.feature[trees, nodes]) <= self.threshold[trees, nodes]
            nodes = torch.where(left, self.left[trees, nodes], self.right[trees, nodes])
        return total + self.value[trees, nodes] @ self.output

    def _keep(self, name: str, tensor: Tensor) -> None:
        self.register_buffer(name, tensor, persistent=False)  # the codec of the run saves it

    weight: Tensor
    bias: Tensor
    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    value: Tensor
    output: Tensor


def _padded(rows: Sequence[Sequence[float]], dtype: torch.dtype) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows], dtype=dtype)
