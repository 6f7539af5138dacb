"""Hard attention: each step of a decoder reads one source position, drawn in training, and learns which by rewards.

Xu et al. 2015, "Show, Attend and Tell", section 4.1, https://arxiv.org/abs/1502.03044.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import AuxOutput, AuxRequest, reads
from saccade.errors import ArgumentError
from saccade.memory import Memory
from saccade.models.renames import renamed
from saccade.models.seq2seq import Seq2Seq, State
from saccade.nn import Attention

__all__ = ["Noise", "Options", "Reader", "Reinforce", "Samples", "attended", "attention_options", "gradient_noise"]

X = TypeVar("X")
S = TypeVar("S", bound=State)


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a translator reads its source, and how it learns where.

    >>> Options(read="reinforce", baseline="leave-one-out", samples=4).samples
    4
    """

    read: Literal["soft", "reinforce", "straight-through"] = "soft"
    """What a step reads: the mean of all positions (soft), or one, drawn in training and the likeliest elsewhere, which
    learns by its reward (reinforce) or by the gradient of the mean (straight-through)."""

    baseline: Literal["learned", "leave-one-out"] = "learned"
    """What a reward is compared with: what a linear map of the state expects, or the other draws for the sentence."""

    samples: int = 1
    """How many times a sentence is read for one gradient of REINFORCE; leave-one-out takes two at least."""

    entropy_bonus: float = 0.0
    """What a nat of the weights' entropy is worth to REINFORCE beside one of likelihood: it keeps looking around."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        for name in ("baseline", "samples", "entropy_bonus"):
            value, plain = getattr(self, name), Options.__dataclass_fields__[name].default
            if self.read != "reinforce" and value != plain:
                option, beside = f"--{name.replace('_', '-')}", f"--read {self.read}"
                raise ArgumentError(f"{option}: expected only with --read reinforce, got {value} and {beside}")
        least = 2 if self.baseline == "leave-one-out" else 1
        if not least <= self.samples <= 1000:
            beside = f" with --baseline {self.baseline}"
            raise ArgumentError(f"--samples: expected a number from {least} to 1000{beside}, got {self.samples}")
        if not 0 <= self.entropy_bonus < float("inf"):
            raise ArgumentError(f"--entropy-bonus: expected a finite number from 0 on, got {self.entropy_bonus}")


def attention_options(options: Options) -> dict[str, Any]:
    """Return what `saccade.nn.Attention` is told: to draw in training, and to take the likeliest elsewhere.

    >>> attention_options(Options(read="straight-through"))["eval_read"]
    Argmax()
    """
    if options.read == "soft":
        return {}
    return {"read": reads.Sample(options.read.replace("-", "_")), "eval_read": reads.Argmax()}


@dataclass
class Samples:
    """What the steps of a forward drew, in their order.

    Args:
        entropies: whether those of the weights are wanted too.
        query: that asked, `(rows, steps, hidden_dim)` each.
        log_prob: of what was drawn, `(rows, steps)` each.
        entropy: of the weights, `(rows, steps)` each, in nats.

    Example:
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


def attended(
    attention: Attention, query: Tensor, memory: Memory, samples: Samples | None = None, **options: Any
) -> Tensor:
    """Return what a decoder's rows read, of which those of an example lie side by side and read one memory.

    Args:
        attention: of the model.
        query: `(examples * beam, steps, hidden_dim)`.
        memory: of the examples.
        samples: where to keep what was drawn, if it was.
        options: mask and gate, for queries `(examples, beam * steps, hidden_dim)`.

    Returns:
        `(examples * beam, steps, value_dim)`.

    Example:
        >>> attention = Attention(4, 4, score="dot")
        >>> memory, beam = attention.remember(torch.randn(2, 5, 4)), 3
        >>> attended(attention, torch.randn(2 * beam, 1, 4), memory).shape
        torch.Size([6, 1, 4])
    """
    together = query.reshape(len(memory.key), -1, query.shape[-1])
    if samples is None:
        context: Tensor = attention(together, memory=memory, **options)
    else:
        context, aux = attention(together, memory=memory, aux=samples.request, **options)
        samples.add(query, aux)
    return context.reshape(*query.shape[:2], context.shape[-1])


class Reinforce(nn.Module):
    r"""The expected cost of what a decoder writes when it reads where it drew, with an unbiased gradient.

    .. math::
        \nabla \mathbb{E}\Big[\sum_t \ell_t\Big] = \mathbb{E}\Big[\sum_t \nabla \ell_t
            + \sum_t \Big(\sum_{u \ge t} \ell_u - b_t\Big) \nabla \log p(s_t)\Big]

    where the draw \(s_t\) is charged with the tokens that it can change, beside a baseline \(b_t\) that does not depend
    on it: what a linear map of the state expects, learned by least squares, or the mean of the other draws for the same
    sentence. The number is the cost of what was drawn; all else is in the gradient alone.

    Args:
        options: baseline, samples and entropy bonus.
        hidden_dim: features of a query.
        feeds: whether what is read enters the next step: if not, a draw changes its own token alone.

    Example:
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
        whose rewards are the whole sentence's; leave-one-out: Kool, van Hoof, Welling 2019, section 3.
    """

    def __init__(self, options: Options, hidden_dim: int, *, feeds: bool = True) -> None:
        super().__init__()
        self.options, self.feeds = options, feeds
        self.baseline = nn.Linear(hidden_dim, 1) if options.baseline == "learned" else None
        renamed(self, {"expected": "baseline"})

    def forward(
        self,
        decode: Callable[[Tensor, Samples], Tensor],
        wanted: Tensor,
        weight: Tensor,
        bias: Tensor,
        label_smoothing: float,
    ) -> Tensor:
        """Return the cost of the wanted tokens under an output layer.

        Args:
            decode: from the numbers of the sentences `(batch, samples)` to be written, and where to keep what it
                draws, to features `(batch * samples, length, dim)`.
            wanted: `(batch, length)`, 0 where there is none.
            weight, bias, label_smoothing: as for `saccade.models.words.logits_or_loss`.
        """
        count = self.options.samples
        rows = torch.arange(len(wanted), device=wanted.device)[:, None].expand(-1, count)
        samples = Samples(self.options.entropy_bonus > 0)
        logits = F.linear(decode(rows, samples), weight, bias)
        tokens = wanted.repeat_interleave(count, 0)
        losses = F.cross_entropy(
            logits.flatten(0, 1), tokens.flatten(), ignore_index=0, reduction="none", label_smoothing=label_smoothing
        )
        return self.cost(losses.view(tokens.shape), samples, wanted)

    def cost(self, losses: Tensor, samples: Samples, wanted: Tensor) -> Tensor:
        """Return the mean of what tokens cost, with the gradient above.

        Args:
            losses: `(batch * samples, length)`, 0 where nothing is wanted.
            samples: of every token.
            wanted: `(batch, length)`.
        """
        inside = (wanted != 0).repeat_interleave(self.options.samples, 0)
        number = inside.sum()
        following, left = losses.detach(), inside.to(losses.dtype)
        if self.feeds:
            following, left = _to_come(following), _to_come(left)
        log_prob, own = torch.cat(samples.log_prob, 1), losses.new_zeros(())
        if self.baseline is None:
            each = following.unflatten(0, (-1, self.options.samples))
            others = (each.sum(1, keepdim=True) - each) / (self.options.samples - 1)
            surplus = (each - others).flatten(0, 1)
        else:
            # What a token to come will cost, on the mean: of one size wherever in the sentence, so that its own
            # gradient does not crowd out all others where they are clipped together.
            guess = self.baseline(torch.cat(samples.query, 1).detach())[..., 0]
            surplus = following - (left * guess).detach()
            own = ((following / left.clamp(min=1) - guess).square() * inside).sum() / number
        learned = surplus * log_prob
        if samples.entropy:
            learned = learned - self.options.entropy_bonus * torch.cat(samples.entropy, 1)
        hidden: Tensor = (learned * inside).sum() / number + own
        cost: Tensor = losses.sum() / number + (hidden - hidden.detach())
        return cost


class Reader(Seq2Seq[X, S]):
    """A model that reads its source by one `attention`, softly or hard.

    Where it reads by REINFORCE, what the wanted tokens cost in training is `Reinforce`'s. A subclass says what the
    source becomes (`encode`) and what the tokens are predicted from (`decode`).

    Example:
        >>> from saccade.models.rnnsearch import RNNSearch
        >>> issubclass(RNNSearch, Reader)
        True
    """

    attention: Attention | None
    """What reads the source; None for a model that looks at nothing."""

    reinforce: Reinforce | None
    """What teaches it where to look; None if the gradient does."""

    @abstractmethod
    def decode(self, target: Tensor, state: S, samples: Samples | None = None) -> Tensor:
        """Return what every token after the true ones `(rows, length)` is predicted from, `(rows, length, dim)`.

        Args:
            target: token ids, a row for each row of the state.
            state: before the first of them.
            samples: where to keep what is drawn.
        """

    def forward(self, source: X, target: Tensor, wanted: Tensor | None = None, label_smoothing: float = 0.0) -> Tensor:
        """Return logits or their cost, as `Seq2Seq.forward` does; in training by REINFORCE that of `Reinforce`."""
        samples = self.reinforce is not None and self.attention is not None and self.attention.training
        if wanted is None or not samples:
            return super().forward(source, target, wanted, label_smoothing)
        state = self.encode(source)

        def decode(rows: Tensor, samples: Samples) -> Tensor:
            return self.decode(target[rows.flatten()], state.select(rows, None), samples)

        assert self.reinforce is not None
        cost: Tensor = self.reinforce(decode, wanted, *self.output, label_smoothing)
        return cost

    def alignment(self, records: Sequence[tuple[str, AuxOutput]]) -> Tensor | None:
        """Return the weights of every step one below the other; where one position is read, 1 there and 0 elsewhere."""
        found = [aux.weights for _, aux in records if aux.weights is not None]
        if not found or self.attention is None:
            return None
        weights = torch.cat(found, -2)
        if self.attention.eval_read is None:
            return weights
        chosen = torch.zeros_like(weights).scatter(-1, weights.argmax(-1, keepdim=True), 1.0)
        return chosen * (weights.sum(-1, keepdim=True) > 0)


def _to_come(numbers: Tensor) -> Tensor:
    """Sums of each row from every place to its end."""
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
    if draws < 2:
        raise ArgumentError(f"draws: expected at least 2, got {draws}")
    if model.attention is None or not list(model.attention.parameters()):
        raise ArgumentError("model: expected an attention with parameters, whose gradient is looked at, got none")
    modes = {module: module.training for module in model.modules()}
    model.eval()
    model.attention.train()
    try:
        parameters = list(model.attention.parameters())
        found = []
        for _ in range(draws):
            grads = torch.autograd.grad(model(source, target, wanted), parameters, allow_unused=True)
            found.append(torch.cat([grad.flatten().double() for grad in grads if grad is not None]))
    finally:
        for module, mode in modes.items():
            module.training = mode
    every = torch.stack(found)
    variance = float(every.var(0).sum())
    return Noise(variance, float(every.mean(0).square().sum()) - variance / draws)
