"""Hard attention: each step of a decoder reads one source position, drawn in training, and learns which by rewards.

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

__all__ = ["OF_REINFORCE", "Options", "Reader", "TextOptions", "attended", "attention_options"]


OF_REINFORCE = ("baseline", "samples", "entropy_bonus", "reward_weight", "soft_share", "charge")
"""Options that mean something with `read="reinforce"` alone."""
X = TypeVar("X")
S = TypeVar("S", bound=State)


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a model reads its memory, and how it learns where.

    >>> Options(read="reinforce", baseline="leave-one-out", samples=4).samples
    4
    """

    read: Literal["soft", "reinforce", "straight-through"] = "soft"
    """Read of a step: the expectation (soft), or a sample, trained by REINFORCE (reinforce) or by the gradient of the
    expectation (straight-through). Without training it is the most probable position."""

    baseline: Baseline = "learned"
    """Baseline of the reward: a linear map of the state (learned), the other samples (leave-one-out), or a moving
    average."""

    samples: int = 1
    """Samples per example and gradient of REINFORCE. Leave-one-out needs at least 2."""

    entropy_bonus: float = 0.0
    """Weight of the entropy of the attention in the loss of REINFORCE."""

    reward_weight: float = 1.0
    """Weight λ_r of the gradient of REINFORCE beside that of the likelihood. 1 is the gradient of the expected cost; Xu
    et al. 2015 choose it by validation."""

    soft_share: float = 0.0
    """Probability that REINFORCE trains an example with soft attention: 0.5 in Xu et al. 2015, section 4.1. With 1 all
    training is soft."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        known = type(self).__dataclass_fields__
        for name in (name for name in OF_REINFORCE if name in known):
            value, plain = getattr(self, name), known[name].default
            if self.read != "reinforce" and value != plain:
                option, beside = f"--{name.replace('_', '-')}", f"--read {self.read}"
                raise ArgumentError(f"{option}: expected only with --read reinforce, got {value} and {beside}")
        if not 0 < self.reward_weight < float("inf"):
            raise ArgumentError(f"--reward-weight: expected a finite number above 0, got {self.reward_weight}")
        if not 0 <= self.soft_share <= 1:
            raise ArgumentError(f"--soft-share: expected a share from 0 to 1, got {self.soft_share}")
        check_estimator(self)


@dataclass(frozen=True, kw_only=True)
class TextOptions(Options):
    """How a model reads its memory that writes a text, token by token.

    >>> TextOptions(read="reinforce", charge="whole").baseline
    'learned'
    """

    charge: Literal["to-come", "whole"] = "to-come"
    """Cost of a sample: the later tokens (to-come), or the whole text, as in Xu et al. 2015, Eq. 11 (whole). Both have
    the same expected gradient; whole is noisier."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        super().__post_init__()
        if self.charge not in ("to-come", "whole"):
            raise ArgumentError(f"--charge: expected to-come or whole, got {self.charge}")


def attention_options(options: Options) -> dict[str, Any]:
    """Return what `saccade.nn.Attention` is told: to draw in training, and to take the likeliest elsewhere.

    >>> attention_options(Options(read="straight-through"))["eval_read"]
    Argmax(estimator=None)
    """
    if options.read == "soft":
        return {}
    return {"read": reads.Sample(options.read.replace("-", "_")), "eval_read": reads.Argmax()}


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
        if samples.soft is not None:
            expected = attention(together, memory=memory, read=reads.Soft(), **options)
            soft = samples.soft.view(len(together), -1, 1).repeat_interleave(query.shape[1], 1)
            context = torch.where(soft, expected, context)
    return context.reshape(*query.shape[:2], context.shape[-1])


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
        cost: Tensor = self.reinforce(decode, wanted, self.output, label_smoothing)
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
