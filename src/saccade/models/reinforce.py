"""The gradient of an expected cost through what was drawn: REINFORCE, its baselines, and how noisy it is.

Williams 1992, "Simple statistical gradient-following algorithms for connectionist reinforcement learning".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

import torch
from torch import Tensor, nn

from saccade import AuxOutput, AuxRequest
from saccade.errors import ArgumentError
from saccade.models.renames import renamed
from saccade.models.words import OutputLayer, token_losses

__all__ = [
    "Baseline",
    "Estimator",
    "Noise",
    "Reinforce",
    "Samples",
    "check_estimator",
    "gradient_noise",
    "noise_of",
    "to_come",
]

Baseline: TypeAlias = Literal["learned", "leave-one-out", "moving-average"]
_KEPT = 0.9  # of a moving average, at each step (Xu et al. 2015, section 4.1)


class Estimator(Protocol):
    """What options say of an estimated gradient."""

    @property
    def baseline(self) -> Baseline:
        """What a reward is compared with."""

    @property
    def samples(self) -> int:
        """Draws for one gradient."""

    @property
    def entropy_bonus(self) -> float:
        """What a nat of the policy's entropy is worth."""


def check_estimator(options: Estimator) -> None:
    """Reject invalid options.

    Raises:
        ArgumentError: if something does.
    """
    least = 2 if options.baseline == "leave-one-out" else 1
    if not least <= options.samples <= 1000:
        beside = f" with --baseline {options.baseline}"
        raise ArgumentError(f"--samples: expected a number from {least} to 1000{beside}, got {options.samples}")
    if not 0 <= options.entropy_bonus < float("inf"):
        raise ArgumentError(f"--entropy-bonus: expected a finite number from 0 on, got {options.entropy_bonus}")


@dataclass
class Samples:
    """What the steps of a forward drew, in their order.

    Args:
        entropies: whether those of the weights are wanted too.
        query: that asked, `(rows, steps, hidden_dim)` each.
        log_prob: of what was drawn, `(rows, steps)` each.
        entropy: of the weights, `(rows, steps)` each, in nats.
        soft: which rows read the mean and not what was drawn, `(rows,)`; their draws are charged with nothing. None:
            none of them.

    Example:
        >>> from saccade import reads
        >>> from saccade.models.hard import attended
        >>> from saccade.nn import Attention
        >>> attention = Attention(4, 4, score="dot", read=reads.Sample("reinforce"))
        >>> samples, query = Samples(entropies=False), torch.randn(2, 3, 4)
        >>> context = attended(attention, query, attention.remember(torch.randn(2, 5, 4)), samples)
        >>> context.shape, samples.log_prob[0].shape
        (torch.Size([2, 3, 4]), torch.Size([2, 3]))
    """

    entropies: bool
    query: list[Tensor] = field(default_factory=list)
    log_prob: list[Tensor] = field(default_factory=list)
    entropy: list[Tensor] = field(default_factory=list)
    soft: Tensor | None = None

    @property
    def request(self) -> AuxRequest:
        """What attention is asked for beside its output."""
        return AuxRequest(log_prob=True, entropy=self.entropies)

    def add(self, query: Tensor, aux: AuxOutput) -> None:
        """Keep what the queries `(rows, steps, hidden_dim)` drew, given what attention said of as many draws."""
        self.query.append(query)
        for kept, found in ((self.log_prob, aux.log_prob), (self.entropy, aux.entropy)):
            if found is not None:
                kept.append(found.reshape(query.shape[:2]))


class Reinforce(nn.Module):
    r"""The expected cost of what a decoder writes when it reads where it drew, with an unbiased gradient.

    .. math::
        \nabla \mathbb{E}\Big[\sum_t \ell_t\Big] = \mathbb{E}\Big[\sum_t \nabla \ell_t
            + \sum_t \Big(\sum_{u \ge t} \ell_u - b_t\Big) \nabla \log p(s_t)\Big]

    where the draw \(s_t\) is charged with the tokens that it can change, or with all of them, beside a baseline \(b_t\)
    that does not depend on it: what a linear map of the state expects, learned by least squares, the mean of the other
    draws for the same sentence, or a moving average over steps. The second sum may be weighed. An example may read the
    mean in the place of draws, as a coin falls. The number is the cost of what was drawn, all else is in the gradient.

    Args:
        options: baseline, samples and entropy bonus.
        hidden_dim: features of a query.
        feeds: whether what is read enters the next step: if not, a draw changes its own token alone.

    Example:
        >>> from saccade.models.hard import Options
        >>> reinforce = Reinforce(Options(read="reinforce", baseline="leave-one-out", samples=2), 4)
        >>> log_prob = torch.zeros(2, 3, requires_grad=True)
        >>> samples = Samples(False, [torch.zeros(2, 3, 4)], [log_prob])
        >>> losses = torch.tensor([[1.0, 2.0, 3.0], [1.0, 1.0, 2.0]])
        >>> reinforce.cost(losses, samples, torch.tensor([[4, 5, 6]])).backward()
        >>> log_prob.grad * 6
        tensor([[ 2.,  2.,  1.],
                [-2., -2., -1.]])

    Source:
        Williams 1992, "Simple statistical gradient-following algorithms", section 4; Xu et al. 2015, Eq. 11 and 12,
        and the moving average of section 4.1, there of whole texts (`charge="whole"`); leave-one-out: Kool, van Hoof,
        Welling 2019, section 3.
    """

    average: Tensor
    """What a token, or a whole text where draws are charged with that, cost of late, where that is the baseline."""

    def __init__(self, options: Estimator, hidden_dim: int, *, feeds: bool = True) -> None:
        super().__init__()
        self.options, self.feeds = options, feeds
        self.baseline = nn.Linear(hidden_dim, 1) if options.baseline == "learned" else None
        if options.baseline == "moving-average":
            self.register_buffer("average", torch.zeros(()))
        renamed(self, {"expected": "baseline"})

    def forward(
        self,
        decode: Callable[[Tensor, Samples], Tensor],
        wanted: Tensor,
        output: OutputLayer,
        label_smoothing: float,
    ) -> Tensor:
        """Return the cost of the wanted tokens under an output layer.

        Args:
            decode: from the numbers of the sentences `(batch, samples)` to be written, and where to keep what it
                draws, to features `(batch * samples, length, dim)`.
            wanted: `(batch, length)`, 0 where there is none.
            output, label_smoothing: as for `saccade.models.words.logits_or_loss`.
        """
        count = self.options.samples
        rows = torch.arange(len(wanted), device=wanted.device)[:, None].expand(-1, count)
        samples = Samples(self.options.entropy_bonus > 0, soft=self._soft(rows))
        features, tokens = decode(rows, samples), wanted.repeat_interleave(count, 0)
        mean, losses = token_losses(features, output, tokens, label_smoothing)
        return self.cost(losses, samples, wanted, mean)

    def _soft(self, rows: Tensor) -> Tensor | None:
        """Which of the rows `(batch, samples)` read the mean, as a coin falls for each example; None: none ever do."""
        share = getattr(self.options, "soft_share", 0.0)  # eyes have none: there is no mean of places
        if not share:
            return None
        coins = torch.rand(len(rows), device=rows.device) < share
        return coins.repeat_interleave(rows.shape[1])

    def cost(self, losses: Tensor, samples: Samples, wanted: Tensor, mean: Tensor | None = None) -> Tensor:
        """Return the mean of what tokens cost, with the gradient above.

        Args:
            losses: `(batch * samples, length)`, 0 where nothing is wanted.
            samples: of every token.
            wanted: `(batch, length)`.
            mean: of the losses, with its gradient, where it is known and they have none.
        """
        inside = (wanted != 0).repeat_interleave(self.options.samples, 0)
        number = inside.sum()
        following, left = self._charges(losses.detach(), inside.to(losses.dtype))
        learned, error = self.charged(following, samples, left)
        hidden = ((learned if error is None else learned + error) * inside).sum() / number
        mean = losses.sum() / number if mean is None else mean
        return mean + (hidden - hidden.detach())

    def _charges(self, losses: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
        """What every draw is charged with, and of how many things that is the sum, of `(rows, length)` each."""
        if getattr(self.options, "charge", "to-come") == "whole":
            return losses.sum(1, keepdim=True).expand_as(losses), torch.ones_like(losses)
        return (to_come(losses), to_come(inside)) if self.feeds else (losses, inside)

    def charged(self, following: Tensor, samples: Samples, left: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return what has the gradient of where was looked, and what the baseline is off by, both `(rows, steps)`.

        Args:
            following: what every draw is charged with, `(rows, steps)`, without a gradient; the rows of an example's
                draws lie side by side.
            samples: of every draw.
            left: of how many things `following` is the sum; a baseline knows what one costs.
        """
        error = None
        # Rows that read the mean are charged with nothing, so no baseline is to know what they cost.
        drawn = torch.ones_like(left[:, :1], dtype=torch.bool) if samples.soft is None else ~samples.soft[:, None]
        if self.options.baseline == "leave-one-out":
            each = following.unflatten(0, (-1, self.options.samples))
            others = (each.sum(1, keepdim=True) - each) / (self.options.samples - 1)
            surplus = (each - others).flatten(0, 1)
        elif self.baseline is not None:
            # What a token to come will cost, on the mean: of one size wherever in the sentence, so that its own
            # gradient does not crowd out all others where they are clipped together.
            guess = self.baseline(torch.cat(samples.query, 1).detach())[..., 0]
            surplus = following - (left * guess).detach()
            error = (following / left.clamp(min=1) - guess).square() * drawn
        else:
            surplus = following - left * self.average
            if self.training and bool(drawn.any()):
                self.average.lerp_((following * drawn).sum() / (left * drawn).sum().clamp(min=1), 1 - _KEPT)
        surplus = surplus * drawn * getattr(self.options, "reward_weight", 1.0)  # eyes have none
        learned = surplus * torch.cat(samples.log_prob, 1)
        if samples.entropy:
            learned = learned - self.options.entropy_bonus * torch.cat(samples.entropy, 1)
        return learned, error


def to_come(numbers: Tensor) -> Tensor:
    """Return sums of each row from every place to its end.

    >>> to_come(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[6., 5., 3.]])
    """
    return numbers.flip(-1).cumsum(-1).flip(-1)


@dataclass(frozen=True)
class Noise:
    r"""How noisy an estimated gradient is.

    Args:
        variance: \(\sum_i \operatorname{Var} g_i\) over draws, unbiased.
        signal: \(\lVert \mathbb{E} g \rVert^2\), estimated without bias; it may come out below 0 where noise is all.

    >>> Noise(variance=4.0, signal=1.0).signal
    1.0
    """

    variance: float
    signal: float


def noise_of(cost: Callable[[], Tensor], parameters: Sequence[Tensor], draws: int = 16) -> Noise:
    """Return the noise of the gradient that parameters get from a cost, over whatever is drawn in it.

    Args:
        cost: what is differentiated, drawn anew by each call.
        parameters: that the gradient is by.
        draws: how many gradients are made, at least 2.

    Raises:
        ArgumentError: fewer than 2 draws.

    Example:
        >>> weight = torch.ones(3, requires_grad=True)
        >>> noise_of(lambda: weight.square().sum(), [weight], draws=2)
        Noise(variance=0.0, signal=12.0)
    """
    if draws < 2:
        raise ArgumentError(f"draws: expected at least 2, got {draws}")
    found = []
    for _ in range(draws):
        grads = torch.autograd.grad(cost(), parameters, allow_unused=True)
        found.append(torch.cat([grad.flatten().double() for grad in grads if grad is not None]))
    every = torch.stack(found)
    variance = float(every.var(0).sum())
    return Noise(variance, float(every.mean(0).square().sum()) - variance / draws)


def gradient_noise(model: Any, source: Any, target: Tensor, wanted: Tensor, draws: int = 16) -> Noise:
    """Return the noise of the gradient that a model's attention gets from a batch, over what it may draw.

    Nothing else is random: dropout is off. Soft attention has none. The draws come from torch's global generator.

    Args:
        model: one with an `attention`, whose parameters' gradient is looked at.
        source, target, wanted: as for its forward.
        draws: how many gradients are made, at least 2.

    Raises:
        ArgumentError: fewer than 2 draws, or an attention without parameters.

    Example:
        >>> from saccade.models.padded import Padded
        >>> from saccade.models.rnnsearch import Options, RNNSearch
        >>> model = RNNSearch(9, 7, Options(hidden_dim=4, embedding_dim=3))  # reads softly
        >>> source = Padded(torch.tensor([[4, 5, 6]]), torch.tensor([3]))
        >>> round(gradient_noise(model, source, torch.tensor([[1, 4]]), torch.tensor([[4, 2]]), draws=2).variance, 6)
        0.0
    """
    if model.attention is None or not list(model.attention.parameters()):
        raise ArgumentError("model: expected an attention with parameters, whose gradient is looked at, got none")
    modes = {module: module.training for module in model.modules()}
    model.eval()
    model.attention.train()
    try:
        return noise_of(lambda: model(source, target, wanted), list(model.attention.parameters()), draws)
    finally:
        for module, mode in modes.items():
            module.training = mode
