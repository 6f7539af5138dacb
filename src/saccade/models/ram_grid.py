"""RAM with locations drawn by a softmax over a grid, instead of a Gaussian."""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from saccade._definitions.checks import in_ranges
from saccade.models import ram
from saccade.models.policies import FirstLocation, Grid

__all__ = ["Options", "RamGrid"]


@dataclass(frozen=True, kw_only=True)
class Options(ram.Chooser, FirstLocation):
    """The sizes of RAM with a grid of locations.

    >>> Options(rows=5).columns
    7
    """

    rows: int = 7
    """Rows of the grid of locations."""

    columns: int = 7
    """Columns of the grid of locations."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        ram.Chooser.__post_init__(self)
        FirstLocation.__post_init__(self)
        in_ranges(self, (("rows", 1, 256), ("columns", 1, 256)))


_DEFAULT = Options()


class RamGrid(ram.Ram):
    r"""RAM with a softmax over the cells of an h × w grid.

    Each cell has its own logit, so the policy has to learn which cells are neighbours.

    .. math:: \pi(i, j \mid h_t) = \operatorname{softmax}_{(i, j)}(W h_t + b)

    Example:
        >>> import torch
        >>> model = RamGrid(1, 10, Options(rows=4, columns=5, patch=4, hidden_dim=16, glimpse_dim=8))
        >>> model.policy.probabilities(torch.randn(2, 16)).shape
        torch.Size([2, 4, 5])

    Source:
        Mnih et al. 2014, section 3. Xu et al. 2015, Eq. 8 and 9, for samples from a softmax over positions.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = ram.RECIPES

    def __init__(self, channels: int, classes: int, options: Options = _DEFAULT, longest: int = 1) -> None:
        super().__init__(channels, classes, options, longest)

    def make_policy(self, options: Options) -> Grid:
        """Return the policy."""
        return Grid(options.hidden_dim, options.rows, options.columns)
