"""RAM, the recurrent attention model: it chooses where to look next, then classifies.

Mnih, Heess, Graves, Kavukcuoglu 2014, "Recurrent Models of Visual Attention", https://arxiv.org/abs/1406.6247.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.models.policies import Choice, Gaussian, Policy
from saccade.models.reinforce import Baseline, Reinforce, Samples, check_estimator
from saccade.models.strings import NOTHING, rewards, said
from saccade.nn import Glimpse, Retina
from saccade.nn.retina import LARGEST

__all__ = ["UNREWARDED", "Chooser", "Options", "Path", "Ram", "Sizes", "advanced", "make_core", "nothing_seen"]

_SIZES = (
    ("glimpses", 1, 1000),
    ("patch", 1, 1024),
    ("scales", 1, 8),
    ("hidden_dim", 1, 1 << 16),
    ("glimpse_dim", 1, 1 << 16),
)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of an eye.

    >>> Sizes(patch=12, scales=3).glimpses
    6
    """

    glimpses: int = 6
    """Glimpses per image, or per symbol of a label that is a string."""

    patch: int = 8
    """Pixels of a patch's side. It must be even with several scales."""

    scales: int = 1
    """Patches per location, each twice as wide as the last and of equal resolution."""

    glimpse_dim: int = 128
    """Features of a patch, and of its location."""

    hidden_dim: int = 256
    """Units of the recurrent layer."""

    core: Literal["rnn", "lstm"] = "rnn"
    """Recurrent layer: rectified units or an LSTM."""

    combine: Literal["add", "multiply"] = "add"
    """How features of a patch and of its location are combined."""

    earlier_loss: float = 0.0
    """Weight of the mean loss of predictions after earlier glimpses."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        in_ranges(self, _SIZES)
        if not 0 <= self.earlier_loss <= 100:
            raise ArgumentError(f"--earlier-loss: expected a number from 0 to 100, got {self.earlier_loss}")
        if self.scales > 1 and self.patch % 2:
            raise ArgumentError(f"--patch: expected an even number where --scales is {self.scales}, got {self.patch}")
        if (most := LARGEST >> (self.scales - 1)) < self.patch:
            raise ArgumentError(f"--patch: expected at most {most} where --scales is {self.scales}, got {self.patch}")


@dataclass(frozen=True, kw_only=True)
class Chooser(Sizes):
    """The sizes of an eye that draws where to look, and how it learns to.

    >>> Chooser(samples=8).baseline
    'leave-one-out'
    """

    baseline: Baseline = "leave-one-out"
    """Baseline of the reward: the other rollouts of the image (leave-one-out), a linear map of the state (learned), or
    a moving average."""

    samples: int = 4
    """Rollouts per image and gradient. Leave-one-out needs at least 2."""

    entropy_bonus: float = 0.0
    """Weight of the policy's entropy. A correct answer has weight 1."""

    reward: Literal["right", "probability"] = "right"
    """Reward: 1 for a correct prediction (right), or the probability of the label, which has less variance
    (probability)."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        if self.reward not in ("right", "probability"):
            raise ArgumentError(f"--reward: expected right or probability, got {self.reward}")
        check_estimator(self)


@dataclass(frozen=True, kw_only=True)
class Options(Chooser):
    """The sizes of an eye that looks around a predicted place.

    >>> Options().deviation
    0.15
    """

    deviation: float = 0.15
    """Initial standard deviation of sampled locations, as a fraction of half the image's side."""

    last_deviation: float = 0.05
    """Final standard deviation, and that of predictions. Without a falling schedule it always holds."""

    learn_deviation: bool = False
    """Learn the deviation, from --deviation on. Only then has an entropy bonus an effect."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        for name in ("deviation", "last_deviation"):
            if not 1e-3 <= getattr(self, name) <= 2:
                option, got = name.replace("_", "-"), getattr(self, name)
                raise ArgumentError(f"--{option}: expected a number from 0.001 to 2, got {got}")
        if self.learn_deviation and self.last_deviation != Options.last_deviation:
            got = f"{self.last_deviation} with --learn-deviation, which ends where it is learned to"
            raise ArgumentError(f"--last-deviation: expected none, got {got}")


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
#: With a learned baseline one path of each of 128 images learns as fast at first as two of each of 64, at twice the
#: rate. Over tens of thousands of steps its places drifted to the edges; those of rollouts that are compared with each
#: other did not (docs/results.md has both).
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
"""What suits each data set."""
UNREWARDED: dict[str, dict[str, Any]] = {
    data: {name: value for name, value in recipe.items() if name not in ("baseline", "samples", "reward")}
    | {"batch_size": recipe["batch_size"] * recipe["samples"]}
    for data, recipe in RECIPES.items()
}
"""The same for eyes that learn nothing by rewards: as many paths a step, each over an image of its own."""

_DEFAULT = Options()


class Path(NamedTuple):
    """Where eyes went, and what they made of it, for `(batch, rollouts)` of them."""

    location: Tensor
    """`(batch, rollouts, glimpses, 2)`: x and y, from −1 to 1."""
    logits: Tensor
    """After every glimpse, `(batch, rollouts, glimpses, classes)`."""
    log_prob: Tensor
    """Of each chosen place, `(batch, rollouts, choices)`: the last of them where the first ones are given."""
    entropy: Tensor
    """Of what each was chosen from, in nats, of the same shape."""
    hidden: Tensor
    """What each was chosen by, `(batch, rollouts, choices, hidden_dim)`, without a gradient."""
    weights: Tensor | None = None
    """Of all tiles at each choice, `(batch, rollouts, choices, rows, columns)`, of an eye that reads tiles."""


class Ram(nn.Module):
    r"""The recurrent attention model: glimpse by glimpse, a state grows that says what to answer and where to look.

    .. math::
        g_t = \operatorname{Glimpse}(x, \ell_t) \qquad h_t = \operatorname{relu}(W_h h_{t-1} + W_g g_t + b) \qquad
        \ell_{t+1} \sim \pi(\cdot \mid h_t) \qquad p(y \mid x) = \operatorname{softmax}(W_y h_T + b_y)

    In training the loss is the cross-entropy of the label after the last glimpse (with `earlier_loss` its mean after
    earlier ones too), whose gradient teaches all but the policy, and REINFORCE, which teaches the policy alone, with
    the reward 1 for a right answer and 0 for a wrong one, or with the probability of the right answer:

    .. math::
        \nabla J = -\frac{1}{N} \sum_{n} \sum_{t=2}^{T} \nabla \log \pi(\ell^n_t \mid h^n_{t-1}) (R^n - b^n)

    over N rollouts, with the state detached: where to look next is read off what was seen, and does not change how it
    is seen. The first place is the middle of the image, moved a little at random in training. Weights know nothing of
    the image's size, and what lies outside of it is black.

    Where labels are strings, each symbol is said after as many glimpses more, the loss is the sum over symbols, and the
    reward is 1 for each that is right while all before are right, charged to the places that were chosen before it.

    Args:
        channels: of the images: 3 for RGB, 1 for grey.
        classes: number of classes; where labels are strings, of symbols, the last of which ends one.
        options: the sizes.
        longest: symbols of the longest label, 1 where labels are no strings.

    Example:
        >>> model = Ram(1, 10, Options(patch=4, scales=2, hidden_dim=16, glimpse_dim=8))
        >>> path = model.look(torch.rand(3, 1, 28, 28), rollouts=5)
        >>> path.location.shape, path.logits.shape
        (torch.Size([3, 5, 6, 2]), torch.Size([3, 5, 6, 10]))

    Source:
        Mnih et al. 2014, sections 3 and 4; strings: Ba, Mnih, Kavukcuoglu 2015, section 3.2. docs/glimpse.md says what
        is otherwise.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    spells: ClassVar[bool] = True
    """Whether labels may be strings."""
    _JITTER: ClassVar[float] = 0.1  # how far from the middle the first place may be in training
    _CHOOSES_FIRST: ClassVar[bool] = False  # whether the policy says where to look before anything was seen

    def __init__(self, channels: int, classes: int, options: Any = _DEFAULT, longest: int = 1) -> None:
        super().__init__()
        hidden = options.hidden_dim
        self.options, self.longest = options, longest
        retina = Retina(options.patch, options.scales)
        self.glimpse = Glimpse(retina, channels, options.glimpse_dim, hidden, options.combine)
        self.core = make_core(options)
        self.policy = self.make_policy(options)
        self.reinforce = Reinforce(options, hidden) if self.draws(options) else None
        self.output = nn.Linear(hidden, classes)

    def make_policy(self, options: Any) -> Policy:
        """Return what chooses places."""
        deviations = options.deviation, options.last_deviation
        return Gaussian(options.hidden_dim, *deviations, learned=options.learn_deviation)

    def draws(self, options: Any) -> bool:
        """Return whether where to look is drawn, and learned by rewards."""
        return isinstance(options, Chooser)

    @property
    def steps(self) -> int:
        """How many glimpses there are in all."""
        return int(self.options.glimpses) * self.longest

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits of classes `(batch, classes)`, or `(batch, longest, classes)`, after the likeliest path."""
        logits = said(self.look(images, draw=False).logits, self.longest)[:, 0]
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
        """Let eyes go over images.

        Args:
            images: `(batch, channels, height, width)` in [0, 1], of any size.
            rollouts: how many eyes look at each.
            draw: places at random; else the likeliest.
            progress: share of the training that is over.
            numbers: what draws are made of, `(batch, rollouts, glimpses or more, 2)`, each evenly from [0, 1); None:
                such from torch's own generator.
        """
        shape, count = (len(images), rollouts), len(images) * rollouts
        if draw and numbers is None:
            numbers = torch.rand(*shape, self.steps, 2, device=images.device)
        drawn = [None] * self.steps if numbers is None or not draw else numbers.flatten(0, 1).unbind(1)
        state = self._start(images, rollouts)
        places, hiddens, asked, choices = list[Tensor](), list[Tensor](), list[Tensor](), list[Choice]()
        for step in range(self.steps):
            if step or self._CHOOSES_FIRST:
                asked.append(self._chooses_by(state))
                choices.append(self.policy(asked[-1], progress, drawn[step]))
            places.append(choices[-1].location if choices else self._middle(images.new_zeros(count, 2), drawn[step]))
            seen = self.glimpse(images, places[-1].view(*shape, 2)).flatten(0, 1)
            state = self._next(seen, state)
            hiddens.append(state[0])
        log_prob, entropy = (
            torch.stack([choice[number] for choice in choices], -1) if choices else images.new_zeros(count, 0)
            for number in (1, 2)
        )
        by = torch.stack(asked, 1).detach() if asked else images.new_zeros(count, 0, self.options.hidden_dim)
        found = torch.stack(places, 1), self.output(torch.stack(hiddens, 1)), log_prob, entropy, by
        return Path(*(part.unflatten(0, shape) for part in found))

    def cost(
        self, images: Tensor, labels: Tensor, progress: float | Tensor = 0.0, label_smoothing: float = 0.0
    ) -> Tensor:
        """Return what a batch costs in training: a mean over images and rollouts, whose gradient teaches everything.

        Args:
            images: `(batch, channels, height, width)` in [0, 1].
            labels: `(batch,)`; of strings `(batch, longest)`, `saccade.models.strings.NOTHING` behind their end.
            progress: share of the training that is over.
            label_smoothing: share of a label's probability that is spread evenly over all.
        """
        rollouts = 1 if self.reinforce is None else self.options.samples
        path = self.look(images, rollouts, progress=progress)
        wanted = labels.view(len(labels), self.longest).repeat_interleave(rollouts, 0)
        logits, inside = said(path.logits, self.longest).flatten(0, 1).float(), wanted != NOTHING
        cost = F.cross_entropy(logits[inside], wanted[inside], label_smoothing=label_smoothing)
        cost = cost + self._earlier(path, wanted, label_smoothing)
        cost = cost * (inside.sum() / len(wanted))  # the sum over symbols
        if self.reinforce is None or not path.log_prob.requires_grad:  # one glimpse chooses nothing
            return cost
        kind = self.options.reward
        charged, left = (self._by_choice(part, path) for part in rewards(logits.detach(), wanted, kind))
        bonus = [path.entropy.flatten(0, 1)] if self.options.entropy_bonus else []
        samples = Samples(bool(bonus), [path.hidden.flatten(0, 1)], [path.log_prob.flatten(0, 1)], bonus)
        learned, error = self.reinforce.charged(-charged, samples, left)
        matters = (left > 0).to(learned.dtype)
        hidden = (learned * matters).sum(1).mean() + (0 if error is None else (error * matters).sum(1).mean())
        return cost + (hidden - hidden.detach())

    def _earlier(self, path: Path, wanted: Tensor, label_smoothing: float) -> float | Tensor:
        """What answers after all glimpses but the last of each symbol cost, times their weight."""
        every = path.logits.flatten(0, 1).unflatten(1, (self.longest, -1))[:, :, :-1].float()
        if not self.options.earlier_loss or not every.shape[2]:
            return 0.0
        asked = wanted[..., None].expand(every.shape[:3])
        inside = asked != NOTHING
        cost = F.cross_entropy(every[inside], asked[inside], label_smoothing=label_smoothing)
        weighted: Tensor = self.options.earlier_loss * cost
        return weighted

    def _by_choice(self, numbers: Tensor, path: Path) -> Tensor:
        """Numbers of symbols `(rows, longest)` for each chosen place `(rows, choices)` of those."""
        return numbers.repeat_interleave(self.options.glimpses, 1)[:, self.steps - path.log_prob.shape[-1] :]

    def _middle(self, middle: Tensor, drawn: Tensor | None) -> Tensor:
        """Where to look before anything was chosen, `(rows, 2)`."""
        return middle if drawn is None or not self.training else (2 * drawn - 1) * self._JITTER

    def _start(self, images: Tensor, rollouts: int) -> tuple[Tensor, ...]:
        """The state before the first glimpse, `(batch * rollouts, hidden_dim)` each; answers are read off the first."""
        return nothing_seen(self.core, images, rollouts)

    def _chooses_by(self, state: tuple[Tensor, ...]) -> Tensor:
        """What a place is chosen by; rewards do not teach what carries it on."""
        return state[0].detach()

    def _next(self, seen: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return advanced(self.core, seen, state)


def make_core(options: Any) -> nn.LSTMCell | nn.RNNCell:
    """Return what carries on what was seen: an LSTM, or rectified units."""
    hidden = options.hidden_dim
    return nn.LSTMCell(hidden, hidden) if options.core == "lstm" else nn.RNNCell(hidden, hidden, nonlinearity="relu")


def nothing_seen(core: nn.LSTMCell | nn.RNNCell, images: Tensor, rollouts: int) -> tuple[Tensor, ...]:
    """Return a core's first state, of an eye for each rollout of each image: all zeros."""
    zeros = images.new_zeros(len(images) * rollouts, core.hidden_size)
    return (zeros, zeros) if isinstance(core, nn.LSTMCell) else (zeros,)


def advanced(core: nn.LSTMCell | nn.RNNCell, seen: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return a core's next state, what it says first."""
    if isinstance(core, nn.LSTMCell):
        hidden, cell = core(seen, (state[0], state[1]))
        return hidden, cell
    return (core(seen, state[0]),)
