"""ByteNet: dilated convolutions, no attention (Kalchbrenner et al. 2016).

"Neural Machine Translation in Linear Time", https://arxiv.org/abs/1610.10099. Its time is
linear in both lengths, and its source representation grows with the source. It is a baseline of attention.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.kernels.dropout import Dropout
from saccade.kernels.topk import Logits
from saccade.models.checks import below_one
from saccade.models.padded import Padded
from saccade.models.seq2seq import Seq2Seq
from saccade.models.words import embeddings

__all__ = ["RECIPES", "ByteNet", "Options", "State", "taps"]

_SIZES = (("hidden_dim", 2, 1 << 20), ("kernel_size", 3, 1 << 10), ("sets", 1, 1 << 10), ("max_dilation", 1, 1 << 16))
_STEEPEST = 100.0

_DATES = {
    "hidden_dim": 64,
    # Most characters of a date move by more than ten positions. With 600 steps of 1,200 tokens this reaches 65%. The
    # paper's kernel of 3 with dilations to 16 reaches 39% in more time. Twice the steps of half the tokens are better.
    "kernel_size": 11,
    "max_dilation": 4,
    "sets": 1,
    "dropout": 0.0,
    "batch_tokens": 600,
    "learning_rate": 4e-3,
    "schedule": "cosine",
    "schedule_steps": 2000,
    "final_rate": 0.05,
    "max_steps": 2000,
    "validation_steps": 500,
}
RECIPES: dict[str, dict[str, Any]] = {
    "dates": _DATES,
    "several-dates": {**_DATES, "max_dilation": 8, "batch_tokens": 1200},
    "trees": {**_DATES, "max_dilation": 8, "batch_tokens": 1200},
    "files": {"hidden_dim": 128, "dropout": 0.2, "learning_rate": 1e-3},
}
"""Recipes by data set."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The sizes of a ByteNet.

    >>> Options(max_dilation=8).dilations
    (1, 2, 4, 8, 1, 2, 4, 8)
    """

    hidden_dim: int = 128
    """Features d inside a block. Embeddings and the outputs of blocks have 2 d."""

    kernel_size: int = 3
    """Width of the convolutions. It must be odd, because the encoder centres it."""

    sets: int = 2
    """Sets of blocks in the encoder, and in the decoder.

    The dilation doubles from block to block of a set."""

    max_dilation: int = 16
    """Dilation of the last block of a set, a power of two."""

    stretch: float = 1.2
    """Positions of the source representation per source token.

    Target tokens beyond it read zeros."""

    dropout: float = 0.1
    """Dropout of embeddings and of the output of each block."""

    def __post_init__(self) -> None:
        """Reject invalid options by the names that a user types."""
        in_ranges(self, _SIZES)
        if self.kernel_size % 2 == 0:
            raise ArgumentError(f"--kernel-size: expected an odd number, got {self.kernel_size}")
        if self.max_dilation & (self.max_dilation - 1):
            raise ArgumentError(f"--max-dilation: expected a power of two, got {self.max_dilation}")
        if not 1 <= self.stretch <= _STEEPEST:
            raise ArgumentError(f"--stretch: expected a number from 1 to {_STEEPEST:g}, got {self.stretch}")
        below_one(self, "dropout")

    @property
    def dilations(self) -> tuple[int, ...]:
        """Dilation of each block, in order."""
        return tuple(1 << power for power in range(self.max_dilation.bit_length())) * self.sets


_DEFAULT = Options()


@dataclass(frozen=True)
class State:
    """Decoder state: the recent inputs of each convolution, constant in size.

    Args:
        source: source representation, shared by all outputs of an example, `(examples, width, 2 hidden_dim)`.
        caches: latest inputs of the convolution of each block, `(examples * beam, (kernel_size - 1) * dilation,
            hidden_dim)`.
        position: position of the next target token.
        beam: outputs per example.

    Example:
        >>> model = ByteNet(9, 7, Options(hidden_dim=4, sets=1, max_dilation=1))
        >>> state = model.encode(Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1])))
        >>> state.select(torch.tensor([[0, 0], [1, 1]]), None).caches[0].shape
        torch.Size([4, 2, 4])
    """

    source: Tensor
    caches: tuple[Tensor, ...]
    position: int = 0
    beam: int = 1

    def select(self, rows: Tensor, examples: Tensor | None) -> "State":
        """Select and reorder rows, as `saccade.models.seq2seq.State.select` does."""
        source = self.source if examples is None else self.source[examples]
        chosen = rows.flatten()
        return State(source, tuple(cache[chosen] for cache in self.caches), self.position, rows.shape[1])


class ByteNet(Seq2Seq[Padded, State]):
    r"""A causal stack of dilated convolutions on top of a bidirectional one.

    .. math::
        x \leftarrow x + W_3\, \sigma\Big(\sum_{j} V_j\, u_{t + (j - c)\, r}\Big) \qquad u_t = \sigma(W_2\, \sigma(x_t))

    with \(\sigma(x) = \max(0, \operatorname{LayerNorm}(x))\), dilation r = 1, 2, 4, ..., 16 in each set, and tap j from
    0 to k - 1. The offset c is k - 1 in the causal decoder and (k - 1) / 2 in the encoder. At target position i the
    decoder's input is the embedding of the token before it plus the encoder's output at position i. The encoder has
    \(\lceil a n \rceil\) positions for n source tokens. Beyond them its output is 0. The output matrix is the embedding
    of the target.

    Args:
        source_size: size of the source vocabulary. Token 0 is padding.
        target_size: size of the target vocabulary.
        options: the sizes. `stretch` is a above.
        joint: whether both sides share one vocabulary and one embedding.

    Example:
        >>> model = ByteNet(11, 7, Options(hidden_dim=4, sets=1))
        >>> source = Padded(torch.randint(4, 11, (2, 5)), torch.tensor([5, 3]))
        >>> model(source, torch.randint(4, 7, (2, 6))).shape
        torch.Size([2, 6, 7])

    Source:
        Kalchbrenner et al. 2016, section 3; differences are listed in docs/models.md.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES

    def __init__(self, source_size: int, target_size: int, options: Options = _DEFAULT, joint: bool = False) -> None:
        super().__init__()
        dim = 2 * options.hidden_dim
        self.options = options
        self.source_embedding, self.target_embedding = embeddings(source_size, target_size, dim, joint=joint)
        self.encoder = nn.ModuleList(_Block(options, dilation) for dilation in options.dilations)
        self.decoder = nn.ModuleList(_Block(options, dilation) for dilation in options.dilations)
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.readout = nn.Linear(dim, dim)
        self.bias = nn.Parameter(torch.zeros(target_size))
        self.dropout = Dropout(options.dropout)

    @property
    def output(self) -> tuple[Tensor, Tensor]:
        return self.target_embedding.weight, self.bias

    def encode(self, source: Padded) -> State:
        tokens, lengths = source
        widths = (
            (self.options.stretch * lengths.double() - 1e-9).ceil().long()
        )  # in float64 1.1 · 100 is a little above 110
        positions = torch.arange(int(widths.max()), device=tokens.device)
        tokens = F.pad(tokens, (0, max(0, len(positions) - tokens.shape[1])))[:, : len(positions)]
        x = self._embedded(self.source_embedding, tokens) * (positions < lengths[:, None])[..., None]
        within = (positions < widths[:, None])[..., None]
        for block in self.encoder:
            x = block(x, within)
        x = self.encoder_norm(x) * within
        decoder = cast("Iterable[_Block]", self.decoder)
        return State(x, tuple(block.nothing(x) for block in decoder))

    def step(self, token: Tensor, state: State) -> tuple[Logits, State]:
        x, caches = self._embedded(self.target_embedding, token), []
        if state.position < state.source.shape[1]:
            x = (x.view(-1, state.beam, x.shape[-1]) + state.source[:, state.position, None]).flatten(0, 1)
        for block, cache in zip(cast("Iterable[_Block]", self.decoder), state.caches, strict=True):
            x, following = block.step(x, cache)
            caches.append(following)
        logits = Logits(self._features(x), *self.output)
        return logits, State(state.source, tuple(caches), state.position + 1, state.beam)

    def decode(self, target: Tensor, state: State) -> Tensor:
        x = self._embedded(self.target_embedding, target) + _fitted(state.source, target.shape[1])
        for block in self.decoder:
            x = block(x)
        return self._features(x)

    def _embedded(self, embedding: nn.Embedding, tokens: Tensor) -> Tensor:
        vectors: Tensor = self.dropout(embedding(tokens) * math.sqrt(embedding.embedding_dim))
        return vectors

    def _features(self, x: Tensor) -> Tensor:
        features: Tensor = self.readout(F.relu(self.decoder_norm(x)))
        return features


class _Block(nn.Module):
    """A residual bottleneck: linear map, dilated convolution, linear map."""

    def __init__(self, options: Options, dilation: int) -> None:
        super().__init__()
        self.dim = dim = options.hidden_dim
        self.size, self.dilation = options.kernel_size, dilation
        self.down, self.up = nn.Linear(2 * dim, dim), nn.Linear(dim, 2 * dim)
        self.convolution = nn.Linear(options.kernel_size * dim, dim)  # over all taps, concatenated
        self.norms = nn.ModuleList([nn.LayerNorm(2 * dim), nn.LayerNorm(dim), nn.LayerNorm(dim)])
        self.dropout = Dropout(options.dropout)

    def forward(self, x: Tensor, within: Tensor | None = None) -> Tensor:
        """Return the features `(batch, length, 2 d)`, causal if `within` is None."""
        reduced = self._reduced(x) if within is None else self._reduced(x) * within
        return self._residual(x, taps(reduced, self.size, self.dilation, causal=within is None))

    def nothing(self, like: Tensor) -> Tensor:
        """Return the empty cache: zeros `(examples, (k - 1) * dilation, d)`."""
        return like.new_zeros(len(like), (self.size - 1) * self.dilation, self.dim)

    def step(self, x: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        """Return the features `(rows, 2 d)` of the next position, and the new cache."""
        window = torch.cat([cache, self._reduced(x)[:, None]], 1)
        return self._residual(x, window[:, :: self.dilation].flatten(1)), window[:, 1:]

    def _reduced(self, x: Tensor) -> Tensor:
        features: Tensor = F.relu(self.norms[1](self.down(F.relu(self.norms[0](x)))))
        return features

    def _residual(self, x: Tensor, read: Tensor) -> Tensor:
        output: Tensor = x + self.dropout(self.up(F.relu(self.norms[2](self.convolution(read)))))
        return output


def taps(x: Tensor, size: int, dilation: int, *, causal: bool) -> Tensor:
    """Return the inputs of a dilated convolution at every position, padded by zeros.

    Args:
        x: `(batch, length, features)`.
        size: kernel size k, odd unless causal.
        dilation: distance between taps, in positions.
        causal: whether the position is the last tap. Otherwise it is the middle one.

    Returns:
        `(batch, length, k * features)`, the earliest position first.

    Source:
        Kalchbrenner et al. 2016, sections 3.4 and 3.5.

    Example:
        >>> taps(torch.tensor([[[1.0], [2.0], [3.0]]]), 2, 2, causal=True)[0].tolist()
        [[0.0, 1.0], [0.0, 2.0], [1.0, 3.0]]
    """
    reach, length = (size - 1) * dilation, x.shape[1]
    before = reach if causal else reach // 2
    padded = F.pad(x, (0, 0, before, reach - before))
    return torch.cat([padded[:, first : first + length] for first in range(0, reach + 1, dilation)], -1)


def _fitted(x: Tensor, length: int) -> Tensor:
    """Cut or pad `(batch, any, features)` with zeros to `(batch, length, features)`."""
    return F.pad(x[:, :length], (0, 0, 0, max(0, length - x.shape[1])))
