"""RAM, the recurrent attention model: a classifier by glimpses of an image.

Mnih, Heess, Graves, Kavukcuoglu 2014, "Recurrent Models of Visual Attention", https://arxiv.org/abs/1406.6247.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.models.cores import advanced, make_core, nothing_seen
from saccade.models.policies import Choice, FirstLocation, Gaussian, Policy
from saccade.models.reinforce import Baseline, Reinforce, Samples, check_estimator
from saccade.models.strings import NOTHING, rewards, symbol_logits
from saccade.nn import Glimpse, Retina
from saccade.nn.retina import LARGEST

__all__ = ["UNREWARDED", "Chooser", "Deviations", "Options", "Path", "Ram", "Sizes"]

_SIZES = (
    ("glimpses", 1, 1000),
    ("patch", 1, 1024),
    ("scales", 1, 8),
    ("hidden_dim", 1, 1 << 16),
    ("glimpse_dim", 1, 1 << 16),
)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of an agent.

    >>> Sizes(patch=12, scales=3).glimpses
    6
    """

    glimpses: int = 6
    """Glimpses per image, or per symbol of a string label."""

    patch: int = 8
    """Side of a patch in pixels. It must be even with several scales."""

    scales: int = 1
    """Patches per location, each twice as wide as the last and of equal resolution."""

    glimpse_dim: int = 128
    """Features of a patch, and of its location."""

    hidden_dim: int = 256
    """Units of the recurrent layer."""

    core: Literal["rnn", "lstm"] = "rnn"
    """Recurrent layer: rectified units or an LSTM."""

    combine: Literal["add", "multiply"] = "add"
    """Sum or product of the features of a patch and of its location."""

    earlier_loss: float = 0.0
    """Weight of the mean loss of predictions after earlier glimpses."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        in_ranges(self, _SIZES)
        if not 0 <= self.earlier_loss <= 100:
            raise ArgumentError(f"--earlier-loss: expected a number from 0 to 100, got {self.earlier_loss}")
        if self.scales > 1 and self.patch % 2:
            raise ArgumentError(f"--patch: expected an even number where --scales is {self.scales}, got {self.patch}")
        if (limit := LARGEST >> (self.scales - 1)) < self.patch:
            raise ArgumentError(f"--patch: expected at most {limit} where --scales is {self.scales}, got {self.patch}")


@dataclass(frozen=True, kw_only=True)
class Chooser(Sizes):
    """The sizes of an agent that samples locations, and its policy gradient.

    >>> Chooser(samples=8).baseline
    'leave-one-out'
    """

    baseline: Baseline = "leave-one-out"
    """Baseline of the reward: the other rollouts of the image (leave-one-out),
    a linear map of the state (learned), or a moving average."""

    samples: int = 4
    """Rollouts per image and gradient. Leave-one-out needs at least 2."""

    entropy_bonus: float = 0.0
    """Weight of the policy's entropy. A correct answer has weight 1."""

    reward: Literal["right", "probability"] = "right"
    """Reward: 1 for a correct prediction (right), or the label's probability
    (probability), which has less variance."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        if self.reward not in ("right", "probability"):
            raise ArgumentError(f"--reward: expected right or probability, got {self.reward}")
        check_estimator(self)


@dataclass(frozen=True, kw_only=True)
class Deviations(Chooser):
    """The sizes of an agent with a Gaussian policy.

    >>> Deviations().deviation
    0.15
    """

    deviation: float = 0.15
    """Initial standard deviation of locations, in halves of the image's side."""

    last_deviation: float = 0.05
    """Final standard deviation, also for predictions.
    If the learning rate does not decay, the deviation is constant."""

    learn_deviation: bool = False
    """Learn the deviation, initialized with --deviation.
    Otherwise an entropy bonus has no effect."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        for name in ("deviation", "last_deviation"):
            if not 1e-3 <= getattr(self, name) <= 2:
                option, got = name.replace("_", "-"), getattr(self, name)
                raise ArgumentError(f"--{option}: expected a number from 0.001 to 2, got {got}")
        if self.learn_deviation and self.last_deviation != Deviations.last_deviation:
            got = f"{self.last_deviation} with --learn-deviation, whose last deviation is learned"
            raise ArgumentError(f"--last-deviation: expected none, got {got}")


@dataclass(frozen=True, kw_only=True)
class Options(Deviations, FirstLocation):
    """The sizes of RAM.

    >>> Options().first
    'middle'
    """

    def __post_init__(self) -> None:
        """Reject invalid options."""
        Deviations.__post_init__(self)
        FirstLocation.__post_init__(self)


_COMMON: dict[str, Any] = {
    "warmup_steps": 100,
    "schedule": "cosine",
    "final_rate": 0.02,
    "clip": 5.0,
    "earlier_loss": 0.5,
    "reward": "probability",
    "threads": 1,
    "validation_steps": 500,
    "checkpoint_steps": 500,
}
#: With a learned baseline, one path for each of 128 images learns as fast at first as two paths for each of 64 images,
#: at twice the learning rate. Over tens of thousands of steps its locations drifted to the edges, but those of
#: leave-one-out did not (docs/results.md has both).
_SHORT: dict[str, Any] = {"learning_rate": 2e-3, "batch_size": 128, "baseline": "learned", "samples": 1}
_LONG: dict[str, Any] = {"learning_rate": 1e-3, "batch_size": 64, "baseline": "leave-one-out", "samples": 2}
_ONE_DIGIT: dict[str, Any] = {
    **_COMMON, **_SHORT, "patch": 8, "scales": 1, "shift": 2, "schedule_steps": 3000, "max_steps": 3000
}  # fmt: skip
_CANVAS: dict[str, Any] = {
    **_COMMON, **_LONG, "patch": 12, "scales": 3, "schedule_steps": 20_000, "max_steps": 20_000
}  # fmt: skip
RECIPES: dict[str, dict[str, Any]] = {
    "digits": _ONE_DIGIT,
    "translated": _CANVAS,
    "cluttered": _CANVAS,
    "row": {**_CANVAS, "glimpses": 3},
    "files": {**_CANVAS, "patch": 8},
}
"""Recipes of the data sets."""
UNREWARDED: dict[str, dict[str, Any]] = {
    data: {name: value for name, value in recipe.items() if name not in ("baseline", "samples", "reward")}
    | {"batch_size": recipe["batch_size"] * recipe["samples"]}
    for data, recipe in RECIPES.items()
}
"""Recipes of agents without rewards: as many paths a step, one for each image."""

_DEFAULT = Options()


class Path(NamedTuple):
    """Paths of an agent over images, `(batch, rollouts)` of them."""

    location: Tensor
    """x and y of each glimpse from −1 to 1, `(batch, rollouts, glimpses, 2)`."""
    logits: Tensor
    """Logits after each glimpse, `(batch, rollouts, glimpses, classes)`."""
    log_prob: Tensor
    """Log-probability of each sampled location, `(batch, rollouts, choices)`.

    If the first location is fixed, choices are those of the later glimpses."""
    entropy: Tensor
    """Entropy of the policy at each choice, in nats, of the same shape."""
    hidden: Tensor
    """Detached inputs of the policy, `(batch, rollouts, choices, hidden_dim)`."""
    weights: Tensor | None = None
    """Weights of tiles, `(batch, rollouts, choices, rows, columns)`, or None."""


class Ram(nn.Module):
    r"""The recurrent attention model: an RNN over glimpses, with a policy of locations.

    .. math::
        g_t = \operatorname{Glimpse}(x, \ell_t) \qquad h_t = \operatorname{relu}(W_h h_{t-1} + W_g g_t + b) \qquad
        \ell_{t+1} \sim \pi(\cdot \mid h_t) \qquad p(y \mid x) = \operatorname{softmax}(W_y h_T + b_y)

    The cross-entropy of the label after the last glimpse trains everything except the policy. `earlier_loss` adds the
    mean cross-entropy after earlier glimpses. REINFORCE trains the policy alone. The reward R is 1 for a correct
    prediction and 0 otherwise, or the probability of the label:

    .. math::
        \nabla J = -\frac{1}{N} \sum_{n} \sum_{t=2}^{T} \nabla \log \pi(\ell^n_t \mid h^n_{t-1}) (R^n - b^n)

    over N rollouts. The state is detached, so rewards do not train the glimpse and the recurrent layer. The first
    location is the centre of the image, with a small random shift in training, or random. No weight depends on the
    image's size. Pixels outside the image are black.

    For string labels, `glimpses` glimpses precede each symbol, and the loss is the sum over symbols. A symbol has
    reward 1 if it and all symbols before it are correct. The reward counts for the locations before the symbol.

    Args:
        channels: of the images: 3 for RGB, 1 for grey.
        classes: number of classes. For string labels, number of symbols. The last symbol ends a string.
        options: the sizes.
        longest: symbols of the longest label, 1 for classes.

    Example:
        >>> model = Ram(1, 10, Options(patch=4, scales=2, hidden_dim=16, glimpse_dim=8))
        >>> path = model.look(torch.rand(3, 1, 28, 28), rollouts=5)
        >>> path.location.shape, path.logits.shape
        (torch.Size([3, 5, 6, 2]), torch.Size([3, 5, 6, 10]))

    Source:
        Mnih et al. 2014, sections 3 and 4. Ba, Mnih, Kavukcuoglu 2015, section 3.2, for strings. docs/glimpse.md lists
        the differences.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    spells: ClassVar[bool] = True
    """Whether labels may be strings."""
    _JITTER: ClassVar[float] = 0.1  # largest shift of the first location in training
    _CHOOSES_FIRST: ClassVar[bool] = False  # whether the policy chooses the first location

    def __init__(self, channels: int, classes: int, options: Any = _DEFAULT, longest: int = 1) -> None:
        super().__init__()
        hidden = options.hidden_dim
        self.options, self.longest = options, longest
        retina = Retina(options.patch, options.scales)
        self.glimpse = Glimpse(retina, channels, options.glimpse_dim, hidden, options.combine)  # f_g, section 3.1
        self.core = make_core(options)  # f_h
        self.policy = self.make_policy(options)  # f_l
        self.reinforce = Reinforce(options, hidden) if self.draws(options) else None  # Eq. 2 and 3
        self.output = nn.Linear(hidden, classes)  # f_a

    def make_policy(self, options: Any) -> Policy:
        """Return the policy."""
        deviations = options.deviation, options.last_deviation
        return Gaussian(options.hidden_dim, *deviations, learned=options.learn_deviation)

    def draws(self, options: Any) -> bool:
        """Return whether locations are sampled, and trained by rewards."""
        return isinstance(options, Chooser)

    @property
    def steps(self) -> int:
        """Total number of glimpses."""
        return int(self.options.glimpses) * self.longest

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits after the most probable path.

        They are `(batch, classes)`, or `(batch, longest, classes)` for string labels.
        """
        logits = symbol_logits(self.look(images, draw=False).logits, self.longest)[:, 0]
        return logits[:, 0] if self.longest == 1 else logits

    def look(
        self,
        images: Tensor,
        rollouts: int = 1,
        *,
        draw: bool = True,
        progress: float | Tensor = 1.0,
        numbers: Tensor | None = None,
    ) -> Path:
        """Look at images, glimpse by glimpse.

        Args:
            images: `(batch, channels, height, width)` in [0, 1], of any size.
            rollouts: paths for each image.
            draw: whether to sample locations. Otherwise they are the modes.
            progress: fraction of the training that is done.
            numbers: uniform random numbers from [0, 1), `(batch, rollouts, glimpses or more, 2)`. None: numbers from
                torch's global generator.
        """
        shape, count = (len(images), rollouts), len(images) * rollouts
        if draw and numbers is None:
            numbers = torch.rand(*shape, self.steps, 2, device=images.device)
        drawn = [None] * self.steps if numbers is None or not draw else numbers.flatten(0, 1).unbind(1)
        state = self._start(images, rollouts)
        locations, hiddens, inputs, choices = list[Tensor](), list[Tensor](), list[Tensor](), list[Choice]()
        for step in range(self.steps):
            if step or self._CHOOSES_FIRST:
                inputs.append(self._chooses_by(state))
                choices.append(self.policy(inputs[-1], progress, drawn[step]))  # l_t by h_{t-1}, section 3.1
            centre = images.new_zeros(count, 2)
            locations.append(choices[-1].location if choices else self._first(centre, drawn[step]))
            glimpse = self.glimpse(images, locations[-1].view(*shape, 2)).flatten(0, 1)  # g_t, section 3.1
            state = self._next(glimpse, state)  # h_t
            hiddens.append(state[0])
        log_prob, entropy = (
            torch.stack([choice[number] for choice in choices], -1) if choices else images.new_zeros(count, 0)
            for number in (1, 2)
        )
        hidden = torch.stack(inputs, 1).detach() if inputs else images.new_zeros(count, 0, self.options.hidden_dim)
        parts = torch.stack(locations, 1), self.output(torch.stack(hiddens, 1)), log_prob, entropy, hidden
        return Path(*(part.unflatten(0, shape) for part in parts))

    def cost(
        self, images: Tensor, labels: Tensor, progress: float | Tensor = 0.0, label_smoothing: float = 0.0
    ) -> Tensor:
        """Return the training loss, a mean over images and rollouts.

        Args:
            images: `(batch, channels, height, width)` in [0, 1].
            labels: `(batch,)`. Strings are `(batch, longest)`, with `saccade.models.strings.NOTHING` after their ends.
            progress: fraction of the training that is done.
            label_smoothing: share of a label's probability that is spread evenly over all classes.
        """
        rollouts = 1 if self.reinforce is None else self.options.samples
        path = self.look(images, rollouts, progress=progress)
        labels = labels.view(len(labels), self.longest).repeat_interleave(rollouts, 0)
        logits, inside = symbol_logits(path.logits, self.longest).flatten(0, 1).float(), labels != NOTHING
        cost = F.cross_entropy(logits[inside], labels[inside], label_smoothing=label_smoothing)
        cost = cost + self._earlier(path, labels, label_smoothing)
        cost = cost * (inside.sum() / len(labels))  # the sum over symbols
        if self.reinforce is None or not path.log_prob.requires_grad:  # one glimpse chooses nothing
            return cost
        kind = self.options.reward
        # R of section 3.1: the reward comes at the end, so R_t is R for all choices before it.
        charged, left = (self._by_choice(part, path) for part in rewards(logits.detach(), labels, kind))
        bonus = [path.entropy.flatten(0, 1)] if self.options.entropy_bonus else []
        samples = Samples(bool(bonus), [path.hidden.flatten(0, 1)], [path.log_prob.flatten(0, 1)], bonus)
        learned, error = self.reinforce.charged(-charged, samples, left)  # −log π (R_t − b_t), Eq. 3
        matters = (left > 0).to(learned.dtype)
        # Eq. 3 has a sum over choices and a mean over the M rollouts; `error` trains the baseline.
        hidden = (learned * matters).sum(1).mean() + (0 if error is None else (error * matters).sum(1).mean())
        return cost + (hidden - hidden.detach())  # the value is the cost alone, the gradient that of both terms

    def _earlier(self, path: Path, labels: Tensor, label_smoothing: float) -> float | Tensor:
        """Weighted loss of predictions before the last glimpse of each symbol."""
        every = path.logits.flatten(0, 1).unflatten(1, (self.longest, -1))[:, :, :-1].float()
        if not self.options.earlier_loss or not every.shape[2]:
            return 0.0
        targets = labels[..., None].expand(every.shape[:3])
        inside = targets != NOTHING
        cost = F.cross_entropy(every[inside], targets[inside], label_smoothing=label_smoothing)
        weighted: Tensor = self.options.earlier_loss * cost
        return weighted

    def _by_choice(self, numbers: Tensor, path: Path) -> Tensor:
        """Repeat numbers of symbols `(rows, longest)` for each choice `(rows, choices)`."""
        return numbers.repeat_interleave(self.options.glimpses, 1)[:, self.steps - path.log_prob.shape[-1] :]

    def _first(self, middle: Tensor, drawn: Tensor | None) -> Tensor:
        """First location if the policy does not choose it, `(rows, 2)`."""
        if drawn is None:
            return middle
        if getattr(self.options, "first", "middle") == "random":
            return (2 * drawn - 1).to(middle)
        return (2 * drawn - 1) * self._JITTER if self.training else middle

    def _start(self, images: Tensor, rollouts: int) -> tuple[Tensor, ...]:
        """Initial state, `(batch * rollouts, hidden_dim)` each. The first is the output."""
        return nothing_seen(self.core, images, rollouts)

    def _chooses_by(self, state: tuple[Tensor, ...]) -> Tensor:
        """Input of the policy, detached from the recurrent layer."""
        return state[0].detach()

    def _next(self, glimpse: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return advanced(self.core, glimpse, state)
