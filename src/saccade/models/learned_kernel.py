"""Kernel regression with learned queries and keys."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from torch import Tensor, nn

from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.models.known_points import KnownPoints
from saccade.models.regressor import EARLY, Sizes
from saccade.nn import Attention

__all__ = ["LearnedKernel", "Options"]

_SCORES = ("gaussian", "scaled_dot", "additive")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The sizes of the networks, and their score.

    >>> Options(score="additive").key_dim
    16
    """

    hidden_dim: int = 64
    """Hidden units of the networks of queries and keys."""

    key_dim: int = 16
    """Features of queries and keys."""

    score: Literal["gaussian", "scaled_dot", "additive"] = "scaled_dot"
    """Score: negative squared distance, scaled dot product, or additive."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        in_ranges(self, (("hidden_dim", 1, 100_000), ("key_dim", 1, 100_000)))
        if self.score not in _SCORES:
            raise ArgumentError(f"--score: expected one of {', '.join(_SCORES)}, got {self.score}")


_DEFAULT = Options()


class LearnedKernel(KnownPoints):
    r"""Attention to the training points, with networks for queries and keys.

    .. math:: f(z) = \sum_i \operatorname{softmax}_i\big(a(W_q \phi(z), W_k \psi(z_i))\big)\, y_i

    for an input z and the training points \(z_i, y_i\).

    Args:
        sizes: sizes of the data.
        options: sizes of the networks, and the score a.

    Source:
        Bahdanau et al. 2015 for a learned score. Vinyals et al. 2016, "Matching networks", equation 1 and section
        2.1.1 (https://arxiv.org/abs/1606.04080), for attention to labelled examples.

    Example:
        >>> import torch
        >>> from saccade.models.padded import Padded
        >>> model = LearnedKernel(Sizes(2, 1, 5))
        >>> model.weights(Padded(torch.randn(3, 2).double(), torch.tensor([2, 2, 2]))).shape
        torch.Size([3, 1, 5])
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "sine": {"learning_rate": 3e-3, "max_steps": 2000, "warmup_steps": 100},
        "heteroscedastic": {"learning_rate": 3e-3, "max_steps": 2000, "warmup_steps": 100},
        "maximum": {},
        "files": {"learning_rate": 3e-3, "max_steps": 3000, "warmup_steps": 100, **EARLY},
    }

    def __init__(self, sizes: Sizes, options: Options = _DEFAULT) -> None:
        super().__init__(sizes)
        features, hidden = sizes.features, options.hidden_dim
        self.asked = nn.Sequential(nn.Linear(features, hidden), nn.Tanh())
        self.known = nn.Sequential(nn.Linear(features, hidden), nn.Tanh())
        values = 2 * sizes.outputs + 1  # answers, their squares and 1
        self.attention = Attention(hidden, hidden, values, hidden_dim=options.key_dim, score=options.score)

    def attended(self, points: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Return weighted means of values of the training points."""
        output: Tensor = self.attention(self.asked(points), self.known(self.points), values, mask=mask)
        return output
