"""What reads a sequence step by step and says, at some of its steps, what it remembers: the shape, said once."""

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
"""The symbol that is read where something is said."""

_UNKNOWN = 2


class Sizes(NamedTuple):
    """What a memorizer reads and says.

    Args:
        inputs: features of a vector that is read, or how many symbols there are to read: 0 is padding, 1 is blank, and
            2 one that is not known, which training does not meet.
        targets: bits of a vector that is said, or how many symbols there are to say.
        symbols: whether symbols are read and said, and not vectors.
    """

    inputs: int
    targets: int
    symbols: bool = False


class Memorizer(nn.Module, ABC):
    r"""A causal map from a sequence to logits at each of its steps.

    .. math:: y_t = W f(x_1, \dots, x_t) + b

    At steps where something is said nothing is read: a vector of zeros, or the blank symbol; of `n-grams` each step
    reads the true bit and says the next. What was said is never fed back, so that one pass over a sequence answers all
    that is asked in it. What lies behind the end of a sequence changes nothing in it.

    Args:
        sizes: of what is read and said.
        embedding_dim: features of a symbol; vectors are read as they are.
        features: of f.
    """

    def __init__(self, sizes: Sizes, embedding_dim: int, features: int) -> None:
        super().__init__()
        self.sizes = sizes
        self.embedding: nn.Module = nn.Identity()
        if sizes.symbols:
            self.embedding = nn.Embedding(sizes.inputs, embedding_dim, padding_idx=0)
            with torch.no_grad():
                self.embedding.weight[_UNKNOWN : _UNKNOWN + 1] = 0.0  # it tells nothing
        self.input_dim = embedding_dim if sizes.symbols else sizes.inputs
        self.output = nn.Linear(features, sizes.targets)

    def forward(self, source: Padded) -> Tensor:
        """Return what is said at each step.

        Args:
            source: symbols `(batch, length)`, those of sentences `(batch, length, words)`, 0 behind each, or vectors
                `(batch, length, inputs)`.

        Returns:
            Logits `(batch, length, targets)`: of each bit being 1, or of symbols.
        """
        found: Tensor = self.output(self.features(self.read(source)))
        return found

    def trace(self, source: Padded) -> Mapping[str, Tensor]:
        """Return what a picture shows of the state as a sequence is read, beside what was attended to.

        Args:
            source: of one sequence.

        Returns:
            By names, such as "read" or "write": `(places, length)` on the CPU, a column for each step.
        """
        self(source)
        return {}

    def attended(self, records: Sequence[tuple[str, AuxOutput]]) -> Mapping[str, Tensor]:
        """Return what each step attended to, as `trace` has it, of what was recorded while that ran.

        Args:
            records: of `saccade.look.record`.
        """
        return {}

    @abstractmethod
    def features(self, steps: Padded) -> Tensor:
        """Return f at each step `(batch, length, features)` of vectors `(batch, length, input_dim)`."""

    def read(self, source: Padded) -> Padded:
        """Return symbols as vectors, those of a sentence as their sum, and vectors as they are."""
        if self.sizes.symbols and source.values.ndim == 3:
            return Padded(_summed(self.embedding(source.values), source.values > 0), source.lengths)
        return Padded(self.embedding(source.values), source.lengths)


def _summed(words: Tensor, there: Tensor) -> Tensor:
    r"""Sentences as sums of their words, each feature of which weighs places otherwise, so that their order counts.

    .. math:: m = \sum_j l_j \odot x_j \qquad l_{jk} = (1 - j / J) - (k / d) (1 - 2 j / J)

    for the J words of a sentence and d features, both counted from 1 (Sukhbaatar et al. 2015, "End-To-End Memory
    Networks", section 4.1, https://arxiv.org/abs/1503.08895).
    """
    count, dim = words.shape[-2:]
    place = torch.arange(1, count + 1, device=words.device, dtype=words.dtype)
    feature = torch.arange(1, dim + 1, device=words.device, dtype=words.dtype) / dim
    share = (place / there.sum(-1, keepdim=True).clamp(min=1))[..., None]
    weight = (1 - share) - feature * (1 - 2 * share)
    return (words * torch.where(there[..., None], weight, 0.0)).sum(-2)


def initialize_lstm(weight: Tensor, bias: Tensor, forget_bias: float) -> None:
    r"""Draw the weights of an LSTM, uniform within \(1/\sqrt{n}\), and bias its forget gates alone.

    Args:
        weight: `(4 hidden, n)`, in the order of input, forget, candidate and output.
        bias: `(4 hidden,)`.
        forget_bias: above 0 a cell keeps what it holds, below 0 it forgets, until it has learned otherwise.

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
