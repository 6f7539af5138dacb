"""Layers of attention and feed-forward networks (Vaswani et al. 2017).

"Attention Is All You Need", https://arxiv.org/abs/1706.03762.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Literal, TypeAlias, get_args, get_origin

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import masks
from saccade._definitions.checks import in_ranges
from saccade._definitions.structure import Grid
from saccade.biases import Alibi
from saccade.errors import ArgumentError
from saccade.kernels.dropout import Dropout
from saccade.memory import Memory
from saccade.models import mixture, self_read
from saccade.models.checks import below_one
from saccade.models.positions import WAVELENGTHS, slopes, waves
from saccade.models.reinforce import Samples
from saccade.nn import MultiheadAttention
from saccade.nn.experts import Routing

__all__ = ["Layer", "Options", "Positions", "add_positions", "apply_layers", "distances", "layers_of"]

Positions: TypeAlias = Literal["sinusoidal", "rotary", "alibi", "none"]
_SIZES = (("hidden_dim", 2, 1 << 20), ("heads", 1, 1 << 12), ("layers", 1, 1 << 10), ("feedforward_dim", 1, 1 << 20))


@dataclass(frozen=True, kw_only=True)
class Options(mixture.Options):
    """The sizes of layers of self-attention.

    >>> Options(layers=2).layers
    2
    """

    hidden_dim: int = 256
    """Features of each position, a multiple of the heads."""

    heads: int = 4
    """Attention heads of each layer."""

    layers: int = 3
    """Layers of the encoder, and of the decoder."""

    feedforward_dim: int = 1024
    """Hidden features of the feed-forward networks."""

    dropout: float = 0.1
    """Dropout of embeddings and of the output of each sublayer."""

    norm: Literal["pre", "post"] = "pre"
    """Layer normalization before each sublayer (pre, Xiong et al. 2020), or after it
    (post), as in the paper."""

    positions: Positions = "sinusoidal"
    """Position encoding: added to embeddings (sinusoidal), rotations of queries and
    keys (rotary, Su et al. 2021), distances in the scores (alibi, Press et al. 2022), or none."""

    score: Literal["scaled_dot", "dot", "additive", "general", "cosine", "gaussian"] = "scaled_dot"
    """Score of queries and keys in each head."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        mixture.Options.__post_init__(self)
        in_ranges(self, _SIZES)
        for field in fields(self):
            choices, chosen = get_args(field.type), getattr(self, field.name)
            if get_origin(field.type) is Literal and chosen not in choices:
                name = field.name.replace("_", "-")
                raise ArgumentError(f"--{name}: expected {' or '.join(choices)}, got {chosen}")
        if self.hidden_dim % self.heads:
            raise ArgumentError(f"--hidden-dim: expected a multiple of --heads = {self.heads}, got {self.hidden_dim}")
        if self.positions == "sinusoidal" and self.hidden_dim % 2:
            raise ArgumentError(f"--hidden-dim: expected an even number, got {self.hidden_dim}")
        if self.positions == "rotary" and self.hidden_dim // self.heads % 2:
            width = self.hidden_dim // self.heads
            raise ArgumentError(f"--positions rotary: expected an even number of features a head, got {width}")
        below_one(self, "dropout")


class Layer(nn.Module):
    """A layer of a Transformer, with residual connections.

    It has self-attention, attention to the source in a decoder, and a feed-forward network. Self-attention without a
    source is soft or hard (`saccade.models.self_read`).

    Args:
        options: the sizes.
        attends: whether the layer has attention to a source.
        experts: whether experts replace the feed-forward network.
        routing: whether tokens choose experts, or experts choose tokens.

    Source:
        Vaswani et al. 2017, section 3.1.

    Example:
        >>> layer = Layer(Options(hidden_dim=8, heads=2, feedforward_dim=16), attends=False)
        >>> layer(torch.randn(1, 5, 8), layer.attention).shape
        torch.Size([1, 5, 8])
    """

    def __init__(self, options: Options, *, attends: bool, experts: bool = False, routing: Routing = "tokens") -> None:
        super().__init__()
        dim, rotary = options.hidden_dim, WAVELENGTHS if options.positions == "rotary" else None
        reads = {} if attends else self_read.attention_options(options)
        self.attention = MultiheadAttention(dim, options.heads, score=options.score, rotary_base=rotary, **reads)
        if attends:
            self.source_attention = MultiheadAttention(dim, options.heads, score=options.score)
        if experts:
            self.experts = mixture.mixture(dim, options.feedforward_dim, options.dropout, options, routing)
        else:
            self.inner, self.outer = nn.Linear(dim, options.feedforward_dim), nn.Linear(options.feedforward_dim, dim)
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(3 if attends else 2))
        self.dropout, self.pre = Dropout(options.dropout), options.norm == "pre"

    def forward(self, x: Tensor, *reads: Callable[[Tensor], Tensor], there: Tensor | None = None) -> Tensor:
        """Apply the reads and the feed-forward network.

        Args:
            x: features, `(batch, length, dim)`.
            reads: self-attention, and in a decoder attention to the source.
            there: False for padding, which experts do not take, boolean `(batch, length)`. None: no padding.
        """
        for norm, part in zip(self.norms, (*reads, lambda y: self._feedforward(y, there)), strict=True):
            x = x + self.dropout(part(norm(x))) if self.pre else norm(x + self.dropout(part(x)))
        return x

    def remember(self, source: Tensor, within: masks.Mask | None) -> Memory:
        """Return the keys and values of a source `(examples, length, dim)`."""
        return self.source_attention.remember(source, mask=within)

    def look(self, x: Tensor, source: Memory, beam: int) -> Tensor:
        """Attend to the source. The `beam` rows of an example share its memory."""
        query = x if beam == 1 else x.view(-1, beam, x.shape[-1])
        context: Tensor = self.source_attention(query, memory=source)
        return context.view(x.shape)

    def _feedforward(self, x: Tensor, there: Tensor | None) -> Tensor:
        if hasattr(self, "experts"):
            output: Tensor = self.experts(x, mask=there)[0]
        else:
            output = self.outer(self.dropout(F.relu(self.inner(x))))
        return output


def layers_of(options: Options, *, attends: bool, routing: Routing = "tokens") -> nn.ModuleList:
    """Return the layers of an encoder or a decoder, some with experts.

    Args:
        options: the sizes.
        attends: whether the layers have attention to a source.
        routing: whether tokens choose experts, or experts choose tokens.

    Example:
        >>> layers = layers_of(Options(hidden_dim=8, heads=2, layers=3, experts=4), attends=False)
        >>> [hasattr(layer, "experts") for layer in layers]
        [True, False, True]
    """
    mixtures = [mixture.has_experts(options, number, options.layers) for number in range(options.layers)]
    return nn.ModuleList(Layer(options, attends=attends, experts=experts, routing=routing) for experts in mixtures)


def apply_layers(
    layers: Iterable[Any], x: Tensor, mask: masks.Mask | None, options: Options, samples: Samples | None = None
) -> Tensor:
    """Apply layers of self-attention, without the last normalization.

    Args:
        layers: without attention to a source.
        x: `(batch, length, hidden_dim)`.
        mask: of keys, broadcast to `(batch, heads, length, length)`.
        options: of the layers.
        samples: collects the samples of hard self-attention, if given.

    Returns:
        `(batch, length, hidden_dim)`.

    Example:
        >>> options = Options(hidden_dim=8, heads=2, feedforward_dim=16)
        >>> layers = [Layer(options, attends=False) for _ in range(2)]
        >>> apply_layers(layers, torch.randn(1, 5, 8), masks.Lengths(torch.tensor([[3]])), options).shape
        torch.Size([1, 5, 8])
    """
    there = _there(mask, x) if options.experts else None
    for layer in layers:
        read = partial(self_read.attended, layer.attention, samples=samples, mask=mask, bias=distances(x, options))
        x = layer(x, read, there=there)
    return x


def _there(mask: masks.Mask | None, x: Tensor) -> Tensor | None:
    """Positions that the mask permits as keys, `(batch, length)`."""
    if mask is None:
        return None
    batch, length = x.shape[:2]
    return mask.dense(Grid(1, length, 0, 1, x.device)).expand(batch, 1, 1, length).view(batch, length)


def add_positions(x: Tensor, first: int, options: Options) -> Tensor:
    """Add sinusoidal positions to features, if `positions="sinusoidal"`.

    Args:
        x: `(batch, length, hidden_dim)`.
        first: position of the first features.
        options: of the model.

    Example:
        >>> add_positions(torch.zeros(1, 1, 4), 0, Options(hidden_dim=4, heads=1)).tolist()
        [[[0.0, 1.0, 0.0, 1.0]]]
    """
    indices = first + torch.arange(x.shape[1], device=x.device)
    return x + waves(indices, x.shape[-1]).to(x.dtype) if options.positions == "sinusoidal" else x


def distances(x: Tensor, options: Options, align: Literal["end"] | None = None) -> Alibi | None:
    """Return the bias of ALiBi, if `positions="alibi"`.

    Args:
        x: features of the layers' device and dtype.
        options: of the layers.
        align: as for `saccade.biases.Alibi`.

    Example:
        >>> distances(torch.zeros(1), Options(heads=2, positions="alibi")).slopes.tolist()
        [0.0625, 0.00390625]
    """
    return Alibi(slopes(options.heads).to(x), align) if options.positions == "alibi" else None
