"""ByteNet: dilated convolutions, no attention or recurrence (Kalchbrenner et al. 2016).

"Neural Machine Translation in Linear Time", https://arxiv.org/abs/1610.10099. Its time is linear in the lengths of both
sides, and the source keeps a place for each of its tokens: what attention is compared with.
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
    # Of a date most has to move by more than ten characters: 600 steps of 1,200 tokens come to 65% so, to 39% in more
    # time with the paper's kernel of 3 and dilations to 16. Twice as many steps of half the tokens are better still.
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
"""What suits each data set."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The sizes of a ByteNet.

    >>> Options(max_dilation=8).dilations
    (1, 2, 4, 8, 1, 2, 4, 8)
    """

    hidden_dim: int = 128
    """Features d inside a block. Embeddings and the outputs of blocks have 2 d."""

    kernel_size: int = 3
    """Width of the convolutions. It must be odd, because the source is read on both sides."""

    sets: int = 2
    """Sets of blocks in the encoder, and in the decoder. The dilation doubles from block to block of a set."""

    max_dilation: int = 16
    """Largest dilation, that of the last block of a set. A power of two."""

    stretch: float = 1.2
    """Positions of the source representation per source token. Later target tokens read zeros."""

    dropout: float = 0.1
    """Dropout of embeddings and of the output of each block."""

    def __post_init__(self) -> None:
        """Refuse sizes of nothing, naming the option as it is typed."""
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
        """Of each block, in their order."""
        return tuple(1 << power for power in range(self.max_dilation.bit_length())) * self.sets


_DEFAULT = Options()


@dataclass(frozen=True)
class State:
    """What the decoder carries on: of each convolution what it will read again, a constant number of positions.

    Args:
        source: the encoder's representation, one for all outputs of an example, `(examples, width, 2 hidden_dim)`.
        caches: of each block, what its convolution read last, `(examples * beam, (kernel_size - 1) * dilation,
            hidden_dim)`.
        position: of the next target token.
        beam: outputs an example.

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
        """Return the state of rows `(examples, beam)`, of these examples; None for all of them in their order."""
        source = self.source if examples is None else self.source[examples]
        chosen = rows.flatten()
        return State(source, tuple(cache[chosen] for cache in self.caches), self.position, rows.shape[1])


class ByteNet(Seq2Seq[Padded, State]):
    r"""A causal stack of dilated convolutions on top of one that sees both sides of the source.

    .. math::
        x \leftarrow x + W_3\, \sigma\Big(\sum_{j} V_j\, u_{t + (j - c)\, r}\Big) \qquad u_t = \sigma(W_2\, \sigma(x_t))

    with \(\sigma(x) = \max(0, \operatorname{LayerNorm}(x))\), dilation r = 1, 2, 4, ..., 16 and again, tap j from 0 to
    k - 1, and c = k - 1 in the decoder, which so reads no later position, (k - 1) / 2 in the encoder. The first of the
    decoder's blocks reads, at target position i, the embedding of the token before it and what the encoder has at its
    position i, added up. The encoder has \(\lceil a n \rceil\) positions for n source tokens; beyond them the decoder
    is told nothing new and goes on from what it has read. The output matrix is the embedding of the target.

    Args:
        source_size: number of source tokens, from 0 (padding) on.
        target_size: number of target tokens.
        options: the sizes; a above is `stretch`.
        joint: whether both sides have one vocabulary, and so one embedding.

    Example:
        >>> model = ByteNet(11, 7, Options(hidden_dim=4, sets=1))
        >>> source = Padded(torch.randint(4, 11, (2, 5)), torch.tensor([5, 3]))
        >>> model(source, torch.randint(4, 7, (2, 6))).shape
        torch.Size([2, 6, 7])

    Source:
        Kalchbrenner et al. 2016, section 3; what is otherwise is in docs/models.md.
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
        widths = (self.options.stretch * lengths.double() - 1e-9).ceil().long()  # 1.1 times 100 is a little above 110
        places = torch.arange(int(widths.max()), device=tokens.device)
        tokens = F.pad(tokens, (0, max(0, len(places) - tokens.shape[1])))[:, : len(places)]
        x = self._embedded(self.source_embedding, tokens) * (places < lengths[:, None])[..., None]
        within = (places < widths[:, None])[..., None]
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
        found: Tensor = self.dropout(embedding(tokens) * math.sqrt(embedding.embedding_dim))
        return found

    def _features(self, x: Tensor) -> Tensor:
        found: Tensor = self.readout(F.relu(self.decoder_norm(x)))
        return found


class _Block(nn.Module):
    """A dilated convolution of half as many features between two maps of each position, added to its input."""

    def __init__(self, options: Options, dilation: int) -> None:
        super().__init__()
        self.dim = dim = options.hidden_dim
        self.size, self.dilation = options.kernel_size, dilation
        self.down, self.up = nn.Linear(2 * dim, dim), nn.Linear(dim, 2 * dim)
        self.convolution = nn.Linear(options.kernel_size * dim, dim)  # of all its taps side by side
        self.norms = nn.ModuleList([nn.LayerNorm(2 * dim), nn.LayerNorm(dim), nn.LayerNorm(dim)])
        self.dropout = Dropout(options.dropout)

    def forward(self, x: Tensor, within: Tensor | None = None) -> Tensor:
        """The features `(batch, length, 2 d)` from those of positions on both sides `within`, or before if None."""
        reduced = self._reduced(x) if within is None else self._reduced(x) * within
        return self._residual(x, taps(reduced, self.size, self.dilation, causal=within is None))

    def nothing(self, like: Tensor) -> Tensor:
        """What lies before the first position: zeros `(examples, (k - 1) * dilation, d)`."""
        return like.new_zeros(len(like), (self.size - 1) * self.dilation, self.dim)

    def step(self, x: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        """The features `(rows, 2 d)` of one more position of a causal convolution, and what the next one reads."""
        window = torch.cat([cache, self._reduced(x)[:, None]], 1)
        return self._residual(x, window[:, :: self.dilation].flatten(1)), window[:, 1:]

    def _reduced(self, x: Tensor) -> Tensor:
        found: Tensor = F.relu(self.norms[1](self.down(F.relu(self.norms[0](x)))))
        return found

    def _residual(self, x: Tensor, read: Tensor) -> Tensor:
        found: Tensor = x + self.dropout(self.up(F.relu(self.norms[2](self.convolution(read)))))
        return found


def taps(x: Tensor, size: int, dilation: int, *, causal: bool) -> Tensor:
    """Return what a dilated convolution reads at every position, side by side, with zeros beyond the ends.

    Args:
        x: `(batch, length, features)`.
        size: k, how many positions are read; odd unless causal.
        dilation: how far apart, in positions.
        causal: whether the last of them is the position itself; else the middle one is.

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
    """The first positions of `(batch, any, features)`, zeros beyond the last of them: `(batch, length, features)`."""
    return F.pad(x[:, :length], (0, 0, 0, max(0, length - x.shape[1])))
