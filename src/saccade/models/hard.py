"""Hard attention: each step of a decoder reads one sampled source position.

Xu et al. 2015, "Show, Attend and Tell", section 4.1, https://arxiv.org/abs/1502.03044.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from saccade import AuxOutput, reads
from saccade.errors import ArgumentError
from saccade.memory import Memory
from saccade.models.reinforce import Baseline, Reinforce, Samples, check_estimator
from saccade.models.seq2seq import Seq2Seq, State
from saccade.nn import Attention

__all__ = [
    "OF_REINFORCE",
    "Options",
    "Reader",
    "TextOptions",
    "attended",
    "attention_options",
    "check_rewards",
    "chosen",
]


OF_REINFORCE = ("baseline", "samples", "entropy_bonus", "reward_weight", "soft_share", "charge")
"""Options with an effect for `read="reinforce"` alone."""
X = TypeVar("X")
S = TypeVar("S", bound=State)


@dataclass(frozen=True, kw_only=True)
class Options:
    """The read of a model's memory, and its gradient estimator.

    >>> Options(read="reinforce", baseline="leave-one-out", samples=4).samples
    4
    """

    read: Literal["soft", "reinforce", "straight-through"] = "soft"
    """Read: soft, or hard attention with REINFORCE or straight-through gradients.

    Straight-through uses the gradient of soft attention. Hard attention samples a position in training, and takes the
    most probable one in evaluation."""

    baseline: Baseline = "learned"
    """Baseline of the reward: learned, leave-one-out or moving-average.

    The learned baseline is a linear map of the state, leave-one-out the mean of the other samples."""

    samples: int = 1
    """Samples per example and gradient of REINFORCE. Leave-one-out needs at least 2."""

    entropy_bonus: float = 0.0
    """Weight of the entropy of the attention in the loss of REINFORCE."""

    reward_weight: float = 1.0
    """Weight λ_r of the gradient of REINFORCE beside the gradient of the likelihood.

    With 1 their sum is the gradient of the expected loss. Xu et al. 2015 choose it by validation."""

    soft_share: float = 0.0
    """Probability that REINFORCE trains an example with soft attention.

    It is 0.5 in Xu et al. 2015, section 4.1. With 1 all training is soft."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        check_rewards(self, "--read", self.read, "reinforce")


def check_rewards(options: Any, option: str, chosen: str, reinforced: str) -> None:
    """Reject invalid options of REINFORCE, and options of REINFORCE without it.

    Args:
        options: dataclass with some fields of `OF_REINFORCE`.
        option: the option that chooses REINFORCE, for example `--read`.
        chosen: its value.
        reinforced: its value with REINFORCE.

    Raises:
        ArgumentError: naming the option.

    Example:
        >>> check_rewards(Options(read="reinforce", samples=2), "--read", "reinforce", "reinforce")
    """
    fields = type(options).__dataclass_fields__
    for name in (name for name in OF_REINFORCE if name in fields):
        value, default = getattr(options, name), fields[name].default
        if chosen != reinforced and value != default:
            flag, beside = f"--{name.replace('_', '-')}", f"{option} {chosen}"
            raise ArgumentError(f"{flag}: expected only with {option} {reinforced}, got {value} and {beside}")
    if not 0 < options.reward_weight < float("inf"):
        raise ArgumentError(f"--reward-weight: expected a finite number above 0, got {options.reward_weight}")
    if not 0 <= options.soft_share <= 1:
        raise ArgumentError(f"--soft-share: expected a share from 0 to 1, got {options.soft_share}")
    check_estimator(options)


@dataclass(frozen=True, kw_only=True)
class TextOptions(Options):
    """The read of the memory in a model of texts.

    >>> TextOptions(read="reinforce", charge="whole").baseline
    'learned'
    """

    charge: Literal["to-come", "whole"] = "to-come"
    """Loss of a sample: loss of the later tokens (to-come), or of all (whole).

    Both have one expected gradient, but whole is noisier. Xu et al. 2015, Eq. 11, use whole."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        if self.charge not in ("to-come", "whole"):
            raise ArgumentError(f"--charge: expected to-come or whole, got {self.charge}")


def attention_options(options: Options) -> dict[str, Any]:
    """Return read arguments of `saccade.nn.Attention`: sample, argmax in evaluation.

    >>> attention_options(Options(read="straight-through"))["eval_read"]
    Argmax(estimator=None)
    """
    if options.read == "soft":
        return {}
    return {"read": reads.Sample(options.read.replace("-", "_")), "eval_read": reads.Argmax()}


def attended(
    attention: Attention, query: Tensor, memory: Memory, samples: Samples | None = None, **options: Any
) -> Tensor:
    """Attend from a decoder's rows. Adjacent rows of one example share its memory.

    Args:
        attention: the attention module of the model.
        query: `(examples * beam, steps, hidden_dim)`.
        memory: the memory of the examples.
        samples: collects the samples, if given.
        options: mask and gate, for queries `(examples, beam * steps, hidden_dim)`.

    Returns:
        `(examples * beam, steps, value_dim)`.

    Example:
        >>> attention = Attention(4, 4, score="dot")
        >>> memory, beam = attention.remember(torch.randn(2, 5, 4)), 3
        >>> attended(attention, torch.randn(2 * beam, 1, 4), memory).shape
        torch.Size([6, 1, 4])
    """
    queries = query.reshape(len(memory.key), -1, query.shape[-1])
    if samples is None:
        context: Tensor = attention(queries, memory=memory, **options)
    else:
        context, aux = attention(queries, memory=memory, aux=samples.request, **options)
        samples.add(query, aux)
        if samples.soft is not None:
            expected = attention(queries, memory=memory, read=reads.Soft(), **options)
            soft = samples.soft.view(len(queries), -1, 1).repeat_interleave(query.shape[1], 1)
            context = torch.where(soft, expected, context)
    return context.reshape(*query.shape[:2], context.shape[-1])


def chosen(weights: Tensor) -> Tensor:
    """Return 1 at the largest weight of each row, and 0 elsewhere.

    An empty row is all 0.

    >>> chosen(torch.tensor([[0.2, 0.5, 0.3], [0.0, 0.0, 0.0]]))
    tensor([[0., 1., 0.],
            [0., 0., 0.]])
    """
    largest = torch.zeros_like(weights).scatter(-1, weights.argmax(-1, keepdim=True), 1.0)
    return largest * (weights.sum(-1, keepdim=True) > 0)


class Reader(Seq2Seq[X, S]):
    """Base class of models with one `attention` to the source, soft or hard.

    With REINFORCE the training loss is that of `Reinforce`. A subclass encodes the source (`encode`) and computes the
    features of the next tokens (`decode`).

    Example:
        >>> from saccade.models.rnnsearch import RNNSearch
        >>> issubclass(RNNSearch, Reader)
        True
    """

    attention: Attention | None
    """Attention to the source, or None for a model without attention."""

    reinforce: Reinforce | None
    """REINFORCE, or None if attention learns by backpropagation."""

    @abstractmethod
    def decode(self, target: Tensor, state: S, samples: Samples | None = None) -> Tensor:
        """Return the features of the next tokens, `(rows, length, dim)`.

        Args:
            target: true tokens, `(rows, length)`, one row per row of the state.
            state: the state before the first of them.
            samples: collects the samples, if given.
        """

    def forward(self, source: X, target: Tensor, labels: Tensor | None = None, label_smoothing: float = 0.0) -> Tensor:
        """Return logits or the loss, as `Seq2Seq.forward` and `Reinforce` do."""
        samples = self.reinforce is not None and self.attention is not None and self.attention.training
        if labels is None or not samples:
            return super().forward(source, target, labels, label_smoothing)
        state = self.encode(source)

        def decode(rows: Tensor, samples: Samples) -> Tensor:
            return self.decode(target[rows.flatten()], state.select(rows, None), samples)

        assert self.reinforce is not None
        cost: Tensor = self.reinforce(decode, labels, self.output, label_smoothing)
        return cost

    def alignment(self, records: Sequence[tuple[str, AuxOutput]]) -> Tensor | None:
        """Return the weights of all steps as rows, or 1 at the most probable position."""
        steps = [aux.weights for _, aux in records if aux.weights is not None]
        if not steps or self.attention is None:
            return None
        weights = torch.cat(steps, -2)
        if self.attention.eval_read is None:
            return weights
        return chosen(weights)
