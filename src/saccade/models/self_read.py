"""Hard self-attention: each word takes the value of one word instead of the mean.

Its gradient is that of REINFORCE, Williams 1992, "Simple statistical gradient-following algorithms for connectionist
reinforcement learning", or straight-through, Bengio, Léonard, Courville 2013, "Estimating or Propagating Gradients
Through Stochastic Neurons for Conditional Computation", https://arxiv.org/abs/1308.3432.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from saccade import AuxOutput, reads
from saccade.errors import ArgumentError
from saccade.models.hard import check_rewards
from saccade.models.reinforce import Baseline, Reinforce, Samples
from saccade.nn import MultiheadAttention

__all__ = ["Options", "attended", "attention_options", "check_experts", "learner"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The read of self-attention, and its gradient estimator.

    >>> Options(self_read="sample", baseline="leave-one-out", samples=4).samples
    4
    """

    self_read: Literal["soft", "sample", "argmax"] = field(default="soft", metadata={"before": "soft"})
    """Read of self-attention: the mean (soft), or the value of one word for each head.

    The word is sampled in training, with gradients of REINFORCE (sample), or it is the most probable one, with
    straight-through gradients (argmax). Both take the most probable word in evaluation."""

    baseline: Baseline = field(default="learned", metadata={"before": "learned"})
    """Baseline of the reward: learned, leave-one-out or moving-average.

    The learned baseline is a linear map of the word's features, leave-one-out the mean of the other samples."""

    samples: int = field(default=1, metadata={"before": 1})
    """Samples per example and gradient of REINFORCE. Leave-one-out needs at least 2."""

    entropy_bonus: float = field(default=0.0, metadata={"before": 0.0})
    """Weight of the entropy of self-attention in the loss of REINFORCE."""

    reward_weight: float = field(default=1.0, metadata={"before": 1.0})
    """Weight of the gradient of REINFORCE beside the gradient of the likelihood.

    With 1 their sum is the gradient of the expected loss."""

    soft_share: float = field(default=0.0, metadata={"before": 0.0})
    """Probability that REINFORCE trains an example with soft self-attention."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        check_rewards(self, "--self-read", self.self_read, "sample")


def check_experts(options: Options, experts: int) -> None:
    """Reject experts beside samples: rewards do not count the loss of uneven loads.

    Raises:
        ArgumentError: naming the option.
    """
    if experts and options.self_read == "sample":
        raise ArgumentError(f"--experts: expected 0 with --self-read sample, got {experts}. Use --self-read argmax.")


def attention_options(options: Any) -> dict[str, Any]:
    """Return read arguments of `saccade.nn.MultiheadAttention`.

    Args:
        options: of the layers. Without a `self_read` their self-attention is soft.

    Example:
        >>> attention_options(Options(self_read="argmax"))
        {'read': Argmax(estimator='straight_through'), 'eval_read': Argmax(estimator=None)}
    """
    if not isinstance(options, Options) or options.self_read == "soft":
        return {}
    sampled = options.self_read == "sample"
    read = reads.Sample("reinforce") if sampled else reads.Argmax("straight_through")
    return {"read": read, "eval_read": reads.Argmax()}


def learner(options: Any, hidden_dim: int) -> Reinforce | None:
    """Return REINFORCE for the samples of self-attention, or None without samples.

    >>> learner(Options(), 8) is None
    True
    """
    sampled = isinstance(options, Options) and options.self_read == "sample"
    return Reinforce(options, hidden_dim) if sampled else None


def attended(attention: MultiheadAttention, x: Tensor, samples: Samples | None = None, **options: Any) -> Tensor:
    """Attend from words to words.

    The log-probability of a word's sample is the sum over heads.

    Args:
        attention: self-attention of a layer.
        x: `(rows, length, hidden_dim)`.
        samples: collects the samples, if given.
        options: mask and bias.

    Returns:
        `(rows, length, hidden_dim)`.

    Example:
        >>> attention = MultiheadAttention(8, 2, read=reads.Sample("reinforce"))
        >>> samples = Samples(entropies=False)
        >>> attended(attention, torch.randn(3, 5, 8), samples).shape, samples.log_prob[0].shape
        (torch.Size([3, 5, 8]), torch.Size([3, 5]))
    """
    if samples is None:
        output: Tensor = attention(x, **options)
        return output
    output, aux = attention(x, aux=samples.request, **options)
    entropy = None if aux.entropy is None else aux.entropy.sum(1)
    samples.add(x, AuxOutput(log_prob=aux.log_prob.sum(1), entropy=entropy))
    if samples.soft is None:
        return output
    return torch.where(samples.soft[:, None, None], attention(x, read=reads.Soft(), **options), output)
