"""RAM with glimpses at random locations, a baseline."""

from typing import Any, ClassVar, TypeAlias

from saccade.models import ram
from saccade.models.policies import Anywhere

__all__ = ["RandomGlimpses"]

_DEFAULT = ram.Sizes()


class RandomGlimpses(ram.Ram):
    """RAM with uniform random locations, except for the first glimpse.

    Example:
        >>> import torch
        >>> model = RandomGlimpses(1, 10, ram.Sizes(patch=4, hidden_dim=16, glimpse_dim=8))
        >>> path = model.look(torch.rand(2, 1, 28, 28))
        >>> path.location.shape, path.log_prob.requires_grad
        (torch.Size([2, 1, 6, 2]), False)

    Source:
        Mnih et al. 2014, section 4.1, table 2 of the NIPS proceedings, "8 random glimpses".
    """

    Options: TypeAlias = ram.Sizes
    recipes: ClassVar[dict[str, dict[str, Any]]] = ram.UNREWARDED

    def __init__(self, channels: int, classes: int, options: ram.Sizes = _DEFAULT, longest: int = 1) -> None:
        super().__init__(channels, classes, options, longest)

    def make_policy(self, options: Any) -> Anywhere:
        """Return the policy."""
        del options
        return Anywhere()
