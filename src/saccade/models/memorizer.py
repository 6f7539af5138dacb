"""Base class of memory models: a sequence in, logits at every step out."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from saccade import AuxOutput
from saccade.models.padded import Padded

__all__ = ["BLANK", "Memorizer", "Sizes", "initialize_lstm"]

BLANK = 1
"""Input symbol at steps with output."""

_UNKNOWN = 2


class Sizes(NamedTuple):
    """Sizes of input and output.

    Args:
        inputs: features of an input vector, or number of input symbols. Symbol 0 is padding, 1 is blank, and 2 is
            unknown, which training does not contain.
        targets: bits of an output vector, or number of output symbols.
        symbols: whether input and output are symbols instead of vectors.
    """

    inputs: int
    targets: int
    symbols: bool = False


class Memorizer(nn.Module, ABC):
    r"""A causal map from a sequence to logits at each of its steps.

    .. math:: y_t = W f(x_1, \dots, x_t) + b

    At output steps the input is empty: a vector of zeros, or the blank symbol. The data `n-grams` are an exception:
    each step reads the true bit and predicts the next one. Outputs are not fed back, so one pass over a sequence
    computes all its outputs. Padding has no effect.

    Args:
        sizes: sizes of input and output.
        embedding_dim: features of a symbol. Vectors need no embedding.
        features: number of features of f.
    """

    def __init__(self, sizes: Sizes, embedding_dim: int, features: int) -> None:
        super().__init__()
        self.sizes = sizes
        self.embedding: nn.Module = nn.Identity()
        if sizes.symbols:
            self.embedding = nn.Embedding(sizes.inputs, embedding_dim, padding_idx=0)
            with torch.no_grad():
                self.embedding.weight[_UNKNOWN : _UNKNOWN + 1] = 0.0  # no information
        self.input_dim = embedding_dim if sizes.symbols else sizes.inputs
        self.output = nn.Linear(features, sizes.targets)

    def forward(self, source: Padded) -> Tensor:
        """Return the logits at each step.

        Args:
            source: symbols `(batch, length)`, sentences `(batch, length, words)` with padding 0, or vectors
                `(batch, length, inputs)`.

        Returns:
            `(batch, length, targets)`: logits of bits 1, or of symbols.
        """
        logits: Tensor = self.output(self.features(self.read(source)))
        return logits

    def trace(self, source: Padded) -> Mapping[str, Tensor]:
        """Run one sequence and return its states for a picture.

        Args:
            source: one sequence.

        Returns:
            Matrices `(positions, length)` on the CPU by name, for example "read" or "write". A column is a step.
        """
        self(source)
        return {}

    def attended(self, records: Sequence[tuple[str, AuxOutput]]) -> Mapping[str, Tensor]:
        """Return the attention weights of a run of `trace`, as matrices by name.

        Args:
            records: the result of `saccade.look.record` for this run.
        """
        return {}

    @abstractmethod
    def features(self, steps: Padded) -> Tensor:
        """Map inputs `(batch, length, input_dim)` to f `(batch, length, features)`."""

    def read(self, source: Padded) -> Padded:
        """Embed symbols, and sum those of a sentence. Vectors remain as they are."""
        if self.sizes.symbols and source.values.ndim == 3:
            return Padded(_summed(self.embedding(source.values), source.values > 0), source.lengths)
        return Padded(self.embedding(source.values), source.lengths)


def _summed(words: Tensor, within: Tensor) -> Tensor:
    r"""Return sentences as sums of word vectors with position encoding.

    .. math:: m = \sum_j l_j \odot x_j \qquad l_{jk} = (1 - j / J) - (k / d) (1 - 2 j / J)

    for the J words of a sentence and d features, counted from 1 (Sukhbaatar et al. 2015, "End-To-End Memory Networks",
    section 4.1, https://arxiv.org/abs/1503.08895).
    """
    count, dim = words.shape[-2:]
    position = torch.arange(1, count + 1, device=words.device, dtype=words.dtype)
    feature = torch.arange(1, dim + 1, device=words.device, dtype=words.dtype) / dim
    share = (position / within.sum(-1, keepdim=True).clamp(min=1))[..., None]
    weight = (1 - share) - feature * (1 - 2 * share)
    return (words * torch.where(within[..., None], weight, 0.0)).sum(-2)


def initialize_lstm(weight: Tensor, bias: Tensor, forget_bias: float) -> None:
    r"""Initialize an LSTM: weights uniform within \(1/\sqrt{n}\), biases 0.

    Only the forget gates have another bias.

    Args:
        weight: `(4 hidden, n)`, in the order of input, forget, candidate and output.
        bias: `(4 hidden,)`.
        forget_bias: initial bias of the forget gates. Above 0 a cell keeps its content at first, below 0 it forgets.

    Example:
        >>> weight, bias = torch.empty(8, 3), torch.empty(8)
        >>> initialize_lstm(weight, bias, 1.0)
        >>> bias.tolist()
        [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    """
    hidden = bias.shape[0] // 4
    with torch.no_grad():
        nn.init.uniform_(weight, -1 / math.sqrt(weight.shape[1]), 1 / math.sqrt(weight.shape[1]))
        bias.zero_()
        bias[hidden : 2 * hidden] = forget_bias
