"""The mean of all training targets, a baseline."""

from typing import Any, ClassVar, TypeAlias

import torch
from torch import Tensor, nn

from saccade.models import regressor
from saccade.models.padded import Padded
from saccade.models.regressor import Predicted, Regressor, Sizes

__all__ = ["Mean"]

_DEFAULT = regressor.Options()


class Mean(Regressor):
    r"""One answer and one deviation for all inputs.

    .. math:: \hat y(x) = \mu_y + \sigma_y b

    b is 0 at first, the minimum of the squared error. The absolute error moves it to the median.

    Args:
        sizes: sizes of the data.
        options: no options.

    Example:
        >>> model = Mean(Sizes(2, 1))
        >>> model(Padded(torch.randn(3, 2).double(), torch.tensor([2, 2, 2]))).mean.squeeze(1)
        tensor([0., 0., 0.], dtype=torch.float64, grad_fn=<SqueezeBackward1>)
    """

    Options: TypeAlias = regressor.Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        data: {"max_steps": 500, "warmup_steps": 50, "start": "none"}
        for data in ("sine", "heteroscedastic", "maximum", "files")
    }

    def __init__(self, sizes: Sizes, options: regressor.Options = _DEFAULT) -> None:
        super().__init__(sizes)
        self.answer = nn.Parameter(torch.zeros(sizes.outputs))
        self.log_deviation = nn.Parameter(torch.zeros(sizes.outputs))

    def read(self, points: Padded, indices: Tensor | None = None) -> Predicted:
        """Return one answer and one deviation for all inputs."""
        rows = points.values.shape[0]
        return Predicted(self.answer.expand(rows, -1), self.log_deviation.exp().expand(rows, -1))
