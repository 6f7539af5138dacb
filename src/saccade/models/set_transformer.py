"""The Set Transformer: self-attention over a set, pooled by a learned query.

Lee et al. 2019, "Set Transformer: A Framework for Attention-based Permutation-Invariant Neural Networks",
https://arxiv.org/abs/1810.00825.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import torch
from torch import Tensor, nn

from saccade import AuxRequest
from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.models.padded import Padded
from saccade.models.regressor import EARLY, Predicted, Regressor, Sizes, Spread
from saccade.nn import SetAttention, SetPool

__all__ = ["Options", "SetTransformer"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The sizes of a Set Transformer.

    >>> Options(inducing=8).hidden_dim
    64
    """

    hidden_dim: int = 64
    """Features of an element."""

    heads: int = 4
    """Heads of each attention."""

    layers: int = 2
    """Blocks of self-attention between elements."""

    inducing: int = 0
    """Inducing points of each block, for a cost linear in the number of elements.
    0: full self-attention."""

    layer_norm: bool = False
    """Normalize the features of each element within the blocks."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        in_ranges(self, (("hidden_dim", 1, 100_000), ("heads", 1, 1000), ("layers", 0, 100), ("inducing", 0, 100_000)))
        if self.hidden_dim % self.heads:
            raise ArgumentError(f"--heads: expected a divisor of {self.hidden_dim} (--hidden-dim), got {self.heads}")


_DEFAULT = Options()


class SetTransformer(Regressor):
    r"""Self-attention within a set, pooling by attention, and a linear layer.

    .. math:: f(Z) = W\, \mathrm{PMA}_1(\mathrm{SAB}(\ldots \mathrm{SAB}(E Z))) + b

    A row of a table is a set of its cells. The features of a cell are its number times a learned vector of its column,
    plus another learned vector.

    Args:
        sizes: of the data.
        options: sizes of the blocks.

    Source:
        Lee et al. 2019, equations 8 to 12. Gorishniy et al. 2021, "Revisiting deep learning models for tabular data",
        section 3.3, for cells as elements (https://arxiv.org/abs/2106.11959).

    Example:
        >>> model, order = SetTransformer(Sizes(0, 1)).eval(), torch.tensor([2, 0, 1])
        >>> points = Padded(torch.randn(4, 3).double(), torch.tensor([3, 3, 3, 3]))
        >>> other = Padded(points.values[:, order], points.lengths)
        >>> torch.allclose(model(points).mean, model(other).mean, atol=1e-5)
        True
    """

    Options: TypeAlias = Options
    attends: ClassVar[bool] = True
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "sine": {"learning_rate": 1e-3, "max_steps": 2000, "warmup_steps": 200},
        "heteroscedastic": {"learning_rate": 1e-3, "max_steps": 2000, "warmup_steps": 200},
        "maximum": {
            "learning_rate": 1e-3,
            "max_steps": 10_000,
            "warmup_steps": 500,
            "schedule": "linear",
            "schedule_steps": 10_000,
            "validation_steps": 1000,
        },
        "files": {"learning_rate": 1e-3, "max_steps": 3000, "warmup_steps": 200, **EARLY},
    }

    def __init__(self, sizes: Sizes, options: Options = _DEFAULT) -> None:
        super().__init__(sizes)
        hidden, heads, columns = options.hidden_dim, options.heads, sizes.features or 1
        self.scale = nn.Parameter(torch.randn(columns, hidden) / hidden**0.5)
        self.shift = nn.Parameter(torch.randn(columns, hidden) / hidden**0.5)
        inducing, norm = options.inducing or None, options.layer_norm
        blocks = (SetAttention(hidden, heads, num_inducing=inducing, layer_norm=norm) for _ in range(options.layers))
        self.blocks = nn.ModuleList(blocks)
        self.pool = SetPool(hidden, heads, layer_norm=norm)
        self.output = nn.Linear(hidden, sizes.outputs)
        self.spread = Spread(hidden, sizes.outputs)

    def read(self, points: Padded, indices: Tensor | None = None) -> Predicted:
        """Return standardized answers from the pooled set."""
        elements, mask = self._elements(points)
        features = self.pool(elements, mask=mask)[:, 0]
        return Predicted(self.output(features), self.spread(features))

    def weights(self, points: Padded) -> Tensor:
        """Return the weights of the pooling, `(batch, heads, elements)`."""
        elements, mask = self._elements(self.standardized(points))
        _, aux = self.pool(elements, mask=mask, aux=AuxRequest(weights=True))
        weights: Tensor = aux.weights[:, :, 0]
        return weights

    def _elements(self, points: Padded) -> tuple[Tensor, Tensor]:
        """Encoded elements, and the mask of padding."""
        mask = points.within[:, None, None]
        elements = points.values[..., None] * self.scale + self.shift
        for block in self.blocks:
            elements = block(elements, mask=mask)
        return elements, mask
