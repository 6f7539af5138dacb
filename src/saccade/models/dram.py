"""DRAM: one recurrent layer classifies, a second one chooses where to look.

Ba, Mnih, Kavukcuoglu 2015, "Multiple Object Recognition with Visual Attention", https://arxiv.org/abs/1412.7755.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from torch import Tensor, nn
from torch.nn import functional as F

from saccade._definitions.checks import in_ranges
from saccade.models import ram
from saccade.models.cores import advanced, make_core, nothing_seen
from saccade.models.policies import Gaussian

__all__ = ["Dram", "Options"]


@dataclass(frozen=True, kw_only=True)
class Options(ram.Deviations):
    """The sizes of an agent with two recurrent layers.

    >>> Options(coarse=12).core
    'lstm'
    """

    core: Literal["rnn", "lstm"] = "lstm"
    """Recurrent layers: rectified units or LSTMs."""

    combine: Literal["add", "multiply"] = "multiply"
    """Combination of the features of a patch and of its location."""

    coarse: int = 16
    """Rows and columns of the coarse image that chooses the first location."""

    context_channels: int = 16
    """Channels of the convolutions over the coarse image."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        in_ranges(self, (("coarse", 4, 256), ("context_channels", 1, 4096)))


_DEFAULT = Options()
# Rewards alone train the upper layer, and Adam's steps are as long for weak gradients. With a gain of 1 all glimpses
# moved to one corner within some hundred steps.
_GAIN = 0.1


class Dram(ram.Ram):
    r"""Deep recurrent attention model: separate states for content and location.

    .. math::
        g_n &= \operatorname{Glimpse}(x, \ell_n) \qquad & \text{content times location} \\
        r^{(1)}_n &= \operatorname{LSTM}(g_n, r^{(1)}_{n-1}), \quad r^{(1)}_0 = 0 \qquad & \text{content} \\
        r^{(2)}_n &= \operatorname{LSTM}(r^{(1)}_n, r^{(2)}_{n-1}), \qquad & \text{location} \\
        \ell_{n+1} &\sim \mathcal{N}\big(\tanh(\gamma (W_\ell r^{(2)}_n + b_\ell)), \sigma^2 I\big), \qquad
            p(y) = \operatorname{softmax}(W_y r^{(1)}_N + b_y)

    The context network has three convolutions and a linear map over the downsampled image. Its output C is the initial
    upper state: cell C and output tanh C of an LSTM, or output relu C of rectified units. The upper state chooses all
    locations, the first one included. The classifier reads the lower state, which C does not reach. Otherwise the
    coarse image alone could answer, and the model would not learn where to look (section 3 of the paper).

    Labels are strings or classes. The loss trains the lower layer, as in `Ram`. Rewards train the policy, the upper
    layer and the context network, which have no other gradient. No gradient flows from the upper layer to the lower.

    Args:
        channels, classes, options, longest: as for `Ram`.

    Example:
        >>> import torch
        >>> model = Dram(1, 11, Options(patch=4, hidden_dim=16, glimpse_dim=8, glimpses=2), longest=3)
        >>> path = model.look(torch.rand(3, 1, 40, 60), rollouts=5)
        >>> path.location.shape, path.log_prob.shape  # the model chooses the first location too
        (torch.Size([3, 5, 6, 2]), torch.Size([3, 5, 6]))

    Source:
        Ba et al. 2015, section 3, for glimpse, recurrent, emission, context and classification network. Section 3.2 for
        strings. docs/glimpse.md lists the differences.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = ram.RECIPES
    _CHOOSES_FIRST: ClassVar[bool] = True

    def __init__(self, channels: int, classes: int, options: Options = _DEFAULT, longest: int = 1) -> None:
        super().__init__(channels, classes, options, longest)
        self.upper, filters = make_core(options), options.context_channels
        side = (options.coarse + 3) // 4
        self.context = nn.Sequential(
            nn.Conv2d(channels, filters, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(filters, filters, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(filters, filters, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(filters * side**2, options.hidden_dim),
        )

    def make_policy(self, options: Any) -> Gaussian:
        """Return the policy of locations."""
        deviations = options.deviation, options.last_deviation
        return Gaussian(options.hidden_dim, *deviations, learned=options.learn_deviation, gain=_GAIN)

    def _start(self, images: Tensor, rollouts: int) -> tuple[Tensor, ...]:
        lower = nothing_seen(self.core, images, rollouts)
        context = self.context(F.adaptive_avg_pool2d(images, self.options.coarse)).repeat_interleave(rollouts, 0)
        # tanh C is the output of an LSTM with cell C and an open gate, relu C that of rectified units.
        return (*lower, context.tanh(), context) if len(lower) == 2 else (*lower, context.relu())

    def _chooses_by(self, state: tuple[Tensor, ...]) -> Tensor:
        return state[len(state) // 2]

    def _next(self, glimpse: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        half = len(state) // 2
        lower = advanced(self.core, glimpse, state[:half])
        return (*lower, *advanced(self.upper, lower[0].detach(), state[half:]))
