"""REINFORCE: the gradient of an expected cost over samples, with baselines.

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
_DECAY = 0.9  # of the moving average, per step (Xu et al. 2015, section 4.1)


class Estimator(Protocol):
    """Options of a gradient estimator."""

    @property
    def baseline(self) -> Baseline:
        """Baseline of the reward."""

    @property
    def samples(self) -> int:
        """Samples for one gradient."""

    @property
    def entropy_bonus(self) -> float:
        """Weight of the policy's entropy, per nat."""


def check_estimator(options: Estimator) -> None:
    """Reject invalid options.

    Raises:
        ArgumentError: naming the option.
    """
    least = 2 if options.baseline == "leave-one-out" else 1
    if not least <= options.samples <= 1000:
        beside = f" with --baseline {options.baseline}"
        raise ArgumentError(f"--samples: expected a number from {least} to 1000{beside}, got {options.samples}")
    if not 0 <= options.entropy_bonus < float("inf"):
        raise ArgumentError(f"--entropy-bonus: expected a finite number from 0 on, got {options.entropy_bonus}")


@dataclass
class Samples:
    """Samples of the steps of one forward pass, in order.

    Args:
        entropies: whether to record entropies too.
        query: queries, `(rows, steps, hidden_dim)` each.
        log_prob: log-probabilities of the samples, `(rows, steps)` each.
        entropy: entropies of the weights, `(rows, steps)` each, in nats.
        soft: True for rows that read the mean instead of a sample, `(rows,)`. Their samples have no cost. None: no row.

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
        """Statistics to request from attention."""
        return AuxRequest(log_prob=True, entropy=self.entropies)

    def add(self, query: Tensor, aux: AuxOutput) -> None:
        """Append the samples of queries `(rows, steps, hidden_dim)`."""
        self.query.append(query)
        for values, value in ((self.log_prob, aux.log_prob), (self.entropy, aux.entropy)):
            if value is not None:
                values.append(value.reshape(query.shape[:2]))


class Reinforce(nn.Module):
    r"""The expected cost of a decoder that reads samples, with an unbiased gradient.

    .. math::
        \nabla \mathbb{E}\Big[\sum_t \ell_t\Big] = \mathbb{E}\Big[\sum_t \nabla \ell_t
            + \sum_t \Big(\sum_{u \ge t} \ell_u - b_t\Big) \nabla \log p(s_t)\Big]

    The cost of a sample \(s_t\) is the loss of the tokens that depend on it, or of all tokens (`charge="whole"`). The
    baseline \(b_t\) does not depend on the sample. It is a linear map of the state, trained by least squares, the mean
    cost of the other samples for the sentence, or a moving average over steps.

    `reward_weight` scales the second sum. With probability `soft_share` an example reads the mean instead of samples.
    The value of the result is the cost of the samples. Only its gradient has the other terms.

    Args:
        options: baseline, samples and entropy bonus.
        hidden_dim: features of a query.
        feeds: whether the context enters the next step. If not, only its own token depends on a sample.

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
        Williams 1992, "Simple statistical gradient-following algorithms", section 4. Xu et al. 2015, Eq. 11 and 12, and
        section 4.1 for the moving average, there over whole texts (`charge="whole"`). Kool, van Hoof, Welling 2019,
        section 3, for leave-one-out.
    """

    average: Tensor
    """Moving average of the cost of a token, or of a text with `charge="whole"`."""

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
        labels: Tensor,
        output: OutputLayer,
        label_smoothing: float,
    ) -> Tensor:
        """Return the cost of the labels under an output layer.

        Args:
            decode: function from the indices of examples `(batch, samples)` to features `(batch * samples, length,
                dim)`. It records its samples in its second argument.
            labels: the true next tokens, `(batch, length)`, 0 for padding.
            output, label_smoothing: as for `saccade.models.words.logits_or_loss`.
        """
        rows, samples = self.start(labels)
        features, tokens = decode(rows.view(-1, self.options.samples), samples), labels[rows]
        mean, losses = token_losses(features, output, tokens, label_smoothing)
        return self.cost(losses, samples, labels, mean)

    def start(self, examples: Tensor) -> tuple[Tensor, Samples]:
        """Return the example of each row, and a record without samples.

        There are `(examples * samples,)` rows.

        Args:
            examples: any tensor with one row an example.
        """
        rows = torch.arange(len(examples), device=examples.device)[:, None].expand(-1, self.options.samples)
        return rows.flatten(), Samples(self.options.entropy_bonus > 0, soft=self._soft(rows))

    def _soft(self, rows: Tensor) -> Tensor | None:
        """Draw the examples that read the mean, as a mask of rows. None without any."""
        share = getattr(self.options, "soft_share", 0.0)  # agents with glimpses have no mean of locations
        if not share:
            return None
        coins = torch.rand(len(rows), device=rows.device) < share
        return coins.repeat_interleave(rows.shape[1])

    def cost(self, losses: Tensor, samples: Samples, labels: Tensor, mean: Tensor | None = None) -> Tensor:
        """Return the mean cost of tokens, with the gradient above.

        Args:
            losses: of the tokens, `(batch * samples, length)`, 0 for padding.
            samples: of every token.
            labels: `(batch, length)`, 0 for padding.
            mean: of the losses, with its gradient, if the losses have none.
        """
        inside = (labels != 0).repeat_interleave(self.options.samples, 0)
        number = inside.sum()
        following, left = self._charges(losses.detach(), inside.to(losses.dtype))
        learned, error = self.charged(following, samples, left)
        hidden = ((learned if error is None else learned + error) * inside).sum() / number
        mean = losses.sum() / number if mean is None else mean
        return mean + (hidden - hidden.detach())  # the value is the mean alone, the gradient that of both terms

    def cost_of_rows(self, mean: Tensor, losses: Tensor, counts: Tensor, samples: Samples, inside: Tensor) -> Tensor:
        r"""Return the mean cost of rows, each due to all samples of its row.

        .. math::
            \nabla \mathbb{E}\Big[\tfrac{1}{N} \sum_r \ell_r\Big] = \mathbb{E}\Big[\tfrac{1}{N} \sum_r
                \Big(\nabla \ell_r + \sum_s (\ell_r - b_{rs}) \nabla \log p(s)\Big)\Big]

        for samples s of rows r with N terms of the loss. With `start` this is REINFORCE for an encoder.

        Args:
            mean: the sum of the losses over the sum of the counts, with its gradient.
            losses: of each row, without a gradient, `(rows,)`.
            counts: terms of each loss, for example its tokens, `(rows,)`.
            samples: with `(rows, length)` log-probabilities of each layer.
            inside: False for padding, whose samples have no effect, `(rows, length)`.
        """
        inside = inside.repeat(1, len(samples.log_prob))
        following, left = (part.detach().to(losses.dtype)[:, None].expand(inside.shape) for part in (losses, counts))
        learned, error = self.charged(following, samples, left)
        hidden = (learned * inside).sum() / counts.sum()
        if error is not None:
            hidden = hidden + (error * inside).sum() / inside.sum()
        return mean + (hidden - hidden.detach())

    def _charges(self, losses: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
        """Cost of each sample, and its number of terms, both `(rows, length)`."""
        if getattr(self.options, "charge", "to-come") == "whole":
            return losses.sum(1, keepdim=True).expand_as(losses), torch.ones_like(losses)
        return (to_come(losses), to_come(inside)) if self.feeds else (losses, inside)

    def charged(self, following: Tensor, samples: Samples, left: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return terms with the gradient of samples, and the baseline's squared error.

        Both are `(rows, steps)`. The error is None without a trained baseline.

        Args:
            following: cost of each sample, `(rows, steps)`, without a gradient. Rows of one example are adjacent.
            samples: with a query and a log-probability of each.
            left: number of terms of each cost. A baseline predicts the cost of one term.
        """
        error = None
        # Rows that read the mean instead of samples do not train the baseline.
        drawn = torch.ones_like(left[:, :1], dtype=torch.bool) if samples.soft is None else ~samples.soft[:, None]
        if self.options.baseline == "leave-one-out":
            costs = following.unflatten(0, (-1, self.options.samples))
            others = (costs.sum(1, keepdim=True) - costs) / (self.options.samples - 1)
            surplus = (costs - others).flatten(0, 1)
        elif self.baseline is not None:
            # The prediction is the mean cost of a later token. Its scale is the same at all positions, so its gradient
            # does not dominate when all gradients are clipped together.
            guess = self.baseline(torch.cat(samples.query, 1).detach())[..., 0]
            surplus = following - (left * guess).detach()
            error = (following / left.clamp(min=1) - guess).square() * drawn
        else:
            surplus = following - left * self.average
            if self.training and bool(drawn.any()):
                self.average.lerp_((following * drawn).sum() / (left * drawn).sum().clamp(min=1), 1 - _DECAY)
        surplus = surplus * drawn * getattr(self.options, "reward_weight", 1.0)
        learned = surplus * torch.cat(samples.log_prob, 1)
        if samples.entropy:
            learned = learned - self.options.entropy_bonus * torch.cat(samples.entropy, 1)
        return learned, error


def to_come(numbers: Tensor) -> Tensor:
    """Return the sums of each row from every position to its end.

    >>> to_come(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[6., 5., 3.]])
    """
    return numbers.flip(-1).cumsum(-1).flip(-1)


@dataclass(frozen=True)
class Noise:
    r"""Noise of an estimated gradient.

    Args:
        variance: \(\sum_i \operatorname{Var} g_i\) over samples, unbiased.
        signal: \(\lVert \mathbb{E} g \rVert^2\), estimated without bias, so it may be below 0.

    >>> Noise(variance=4.0, signal=1.0).signal
    1.0
    """

    variance: float
    signal: float


def noise_of(cost: Callable[[], Tensor], parameters: Sequence[Tensor], draws: int = 16) -> Noise:
    """Return the noise of a cost's gradient over the samples in it.

    Args:
        cost: function that draws new samples at each call, and returns a cost.
        parameters: to differentiate with respect to.
        draws: number of gradients, at least 2.

    Raises:
        ArgumentError: fewer than 2 draws.

    Example:
        >>> weight = torch.ones(3, requires_grad=True)
        >>> noise_of(lambda: weight.square().sum(), [weight], draws=2)
        Noise(variance=0.0, signal=12.0)
    """
    if draws < 2:
        raise ArgumentError(f"draws: expected at least 2, got {draws}")
    gradients = []
    for _ in range(draws):
        grads = torch.autograd.grad(cost(), parameters, allow_unused=True)
        gradients.append(torch.cat([grad.flatten().double() for grad in grads if grad is not None]))
    stacked = torch.stack(gradients)
    variance = float(stacked.var(0).sum())
    return Noise(variance, float(stacked.mean(0).square().sum()) - variance / draws)


def gradient_noise(model: Any, source: Any, target: Tensor, labels: Tensor, draws: int = 16) -> Noise:
    """Return the noise of an attention's gradient from a batch, over its samples.

    Dropout is off, so only samples are random, from torch's global generator. Soft attention has no noise.

    Args:
        model: with an `attention`. The gradient is that of its parameters.
        source, target, labels: as for its forward.
        draws: number of gradients, at least 2.

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
        raise ArgumentError("model: expected an attention with parameters, got none")
    modes = {module: module.training for module in model.modules()}
    model.eval()
    model.attention.train()
    try:
        return noise_of(lambda: model(source, target, labels), list(model.attention.parameters()), draws)
    finally:
        for module, mode in modes.items():
            module.training = mode
