"""Policies over the locations of glimpses in an image."""

import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from saccade._definitions.numerics import wide
from saccade.errors import ArgumentError
from saccade.nn._parameters import new_zeros

__all__ = ["Anywhere", "Choice", "FirstLocation", "Gaussian", "Grid", "Policy"]


@dataclass(frozen=True, kw_only=True)
class FirstLocation:
    """The first location of an agent that does not choose it.

    >>> FirstLocation(first="random").first
    'random'
    """

    first: Literal["middle", "random"] = field(default="middle", metadata={"before": "middle"})
    """First location: the middle of the image, shifted by at most 0.1 in training,
    or random (the paper). Predictions begin in the middle."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        if self.first not in ("middle", "random"):
            raise ArgumentError(f"--first: expected middle or random, got {self.first}")


class Choice(NamedTuple):
    """A location chosen by a policy.

    >>> Choice(torch.zeros(3, 2), torch.zeros(3), torch.zeros(3)).location.shape
    torch.Size([3, 2])
    """

    location: Tensor
    """x and y, `(rows, 2)`, from −1 to 1. No gradient flows through it."""
    log_prob: Tensor
    """Log-probability or log-density of the sample, `(rows,)`."""
    entropy: Tensor
    """Entropy of the policy's distribution, `(rows,)`, in nats."""


class Policy(Protocol):
    """A distribution over locations, given features."""

    def __call__(self, hidden: Tensor, progress: float | Tensor = 1.0, numbers: Tensor | None = None) -> Choice:
        """Sample a location for each row, or return the mode.

        Args:
            hidden: `(rows, hidden_dim)`.
            progress: fraction of the training that is done, 1 for a trained model.
            numbers: uniform random numbers from [0, 1), `(rows, 2)`. Equal numbers give equal locations on every
                device. None: the mode.
        """


class Gaussian(nn.Module):
    r"""A normal distribution around a predicted location.

    .. math::
        \mu = \tanh(\gamma (W h + b)) \qquad \ell \sim \mathcal{N}(\mu, \sigma^2 I) \qquad
        \log \pi(\ell) = -\frac{\lVert \ell - \mu \rVert^2}{2 \sigma^2} - 2 \log(\sigma \sqrt{2 \pi})

    A sample beyond the image moves to its edge. Its density stays that of the sample, so the gradient is exact. The
    deviation decays geometrically in training, or is learned.

    Args:
        hidden_dim: features of the state.
        first, last: σ at the beginning and at the end of training, in halves of the image's side.
        learned: whether σ is a parameter, initialized with `first`.
        gain: γ. It scales the speed of locations under an optimizer with equal steps for all weights, for example Adam.

    Example:
        >>> choice = Gaussian(8)(torch.randn(5, 8))
        >>> choice.location.shape, bool(choice.location.abs().max() <= 1)
        (torch.Size([5, 2]), True)

    Source:
        Mnih et al. 2014, sections 3.1 and 4, for two components of fixed variance and a mean linear in the state.
        Williams 1992, section 6.
    """

    def __init__(
        self, hidden_dim: int, first: float = 0.15, last: float = 0.05, *, learned: bool = False, gain: float = 1.0
    ) -> None:
        super().__init__()
        self.gain = gain
        self.mean = nn.Linear(hidden_dim, 2)
        self.first, self.last = first, last
        self.log_deviation = nn.Parameter(torch.tensor(math.log(first))) if learned else None

    def deviation(self, progress: float | Tensor) -> Tensor:
        """Return σ at a fraction of the training."""
        if self.log_deviation is not None:
            return self.log_deviation.exp()
        return self.first * (self.last / self.first) ** (new_zeros(self) + progress)

    def forward(self, hidden: Tensor, progress: float | Tensor = 1.0, numbers: Tensor | None = None) -> Choice:
        mean, deviation = torch.tanh(self.gain * wide(self.mean(hidden))), self.deviation(progress)
        sample = mean.detach()
        if numbers is not None:
            # Half a step of float32 is added, since the normal quantile of 0 is infinite.
            noise = torch.special.ndtri((numbers.double() + 2**-25).clamp(max=1 - 2**-25))
            sample = sample + deviation.detach() * noise.to(mean)
        log_norm = 2 * (deviation.log() + 0.5 * math.log(2 * math.pi))
        log_prob = -0.5 * ((sample - mean) / deviation).square().sum(-1) - log_norm
        return Choice(sample.clamp(-1, 1), log_prob, (1 + log_norm).expand(len(hidden)))


class Grid(nn.Module):
    r"""A softmax over the cells of a grid. Locations are their centres.

    .. math::
        \pi(i, j) = \operatorname{softmax}_{(i, j)}(W h + b) \qquad
        \ell_{ij} = \Big(\frac{2 j + 1}{w} - 1,\; \frac{2 i + 1}{h} - 1\Big)

    The grid covers the image, whatever its size.

    Args:
        hidden_dim: features of the state.
        height, width: cells in each direction.

    Example:
        >>> Grid(8, 3, 4)(torch.randn(5, 8), numbers=torch.rand(5, 2)).location.shape
        torch.Size([5, 2])
    """

    centres: Tensor

    def __init__(self, hidden_dim: int, height: int, width: int) -> None:
        super().__init__()
        self.height, self.width = height, width
        self.scores = nn.Linear(hidden_dim, height * width)
        x, y = ((2 * torch.arange(count) + 1) / count - 1 for count in (width, height))
        cells = torch.stack([x.expand(height, width), y[:, None].expand(height, width)], -1)
        self.register_buffer("centres", cells.flatten(0, 1), persistent=False)

    def probabilities(self, hidden: Tensor) -> Tensor:
        """Return the probabilities of all cells, `(rows, height, width)`."""
        return wide(self.scores(hidden)).softmax(-1).view(*hidden.shape[:-1], self.height, self.width)

    def forward(self, hidden: Tensor, progress: float | Tensor = 1.0, numbers: Tensor | None = None) -> Choice:
        del progress  # a softmax has no deviation
        log_probs = wide(self.scores(hidden)).log_softmax(-1)
        probabilities = log_probs.exp()
        if numbers is None:
            cell = probabilities.argmax(-1, keepdim=True)
        else:
            below = probabilities.detach().double().cumsum(-1)
            cell = torch.searchsorted(below, numbers[:, :1].to(below) * below[:, -1:], right=True)
            cell = cell.clamp(max=below.shape[-1] - 1)
        log_prob = log_probs.gather(-1, cell)[:, 0]
        return Choice(self.centres[cell[:, 0]], log_prob, -(probabilities * log_probs).sum(-1))


class Anywhere(nn.Module):
    """The uniform distribution over the image, a baseline for policies.

    It has no mode, so without numbers the location is the centre of the image.

    >>> choice = Anywhere()(torch.zeros(5, 8), numbers=torch.rand(5, 2))
    >>> choice.log_prob[0], bool(choice.location.abs().max() <= 1)  # a density of 1/4
    (tensor(-1.3863), True)
    """

    def forward(self, hidden: Tensor, progress: float | Tensor = 1.0, numbers: Tensor | None = None) -> Choice:
        del progress
        hidden = wide(hidden)
        nats = hidden.new_full((len(hidden),), math.log(4))
        fractions = hidden.new_full((len(hidden), 2), 0.5) if numbers is None else numbers.to(hidden)
        return Choice(2 * fractions - 1, -nats, nats)
