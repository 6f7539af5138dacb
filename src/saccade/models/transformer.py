"""The Transformer, without recurrence or convolution (Vaswani et al. 2017).

"Attention Is All You Need", https://arxiv.org/abs/1706.03762.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeAlias, cast, get_args, get_origin

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import AuxOutput, masks
from saccade._definitions.checks import in_ranges
from saccade._definitions.structure import Grid
from saccade.biases import Alibi
from saccade.errors import ArgumentError
from saccade.kernels.dropout import Dropout
from saccade.kernels.topk import Logits
from saccade.memory import Memory
from saccade.models import mixture
from saccade.models.checks import below_one
from saccade.models.positions import WAVELENGTHS, slopes, waves
from saccade.models.seq2seq import Seq2Seq
from saccade.models.words import embeddings
from saccade.nn import MultiheadAttention
from saccade.nn.experts import Routing

__all__ = [
    "RECIPES",
    "Layer",
    "Options",
    "Positions",
    "State",
    "Transformer",
    "add_positions",
    "apply_layers",
    "layers_of",
]

Positions: TypeAlias = Literal["sinusoidal", "rotary", "alibi", "none"]
_SIZES = (("hidden_dim", 2, 1 << 20), ("heads", 1, 1 << 12), ("layers", 1, 1 << 10), ("feedforward_dim", 1, 1 << 20))

_DATES = {
    "hidden_dim": 64,
    "layers": 2,
    "feedforward_dim": 256,
    "dropout": 0.0,
    "positions": "rotary",  # after 600 steps 99% of dates are correct, with sinusoids 93%, with ALiBi 90%
    "learning_rate": 5e-3,
    "schedule": "cosine",
    "schedule_steps": 800,
    "final_rate": 0.05,
    "max_steps": 800,
}
_FEW = {"hidden_dim": 128, "layers": 2, "feedforward_dim": 512, "positions": "rotary"}
RECIPES: dict[str, dict[str, Any]] = {
    "dates": _DATES,
    "several-dates": _DATES,
    "trees": _DATES,
    "files": {"hidden_dim": 256, "dropout": 0.3, "positions": "rotary", "learning_rate": 1e-3},
    "hundreds": {**_FEW, "dropout": 0.3, "vocabulary_size": 1000, "learning_rate": 2e-3},
    "thousands": {**_FEW, "dropout": 0.2, "vocabulary_size": 1000, "learning_rate": 3e-3},
    "ten-thousands": {
        **_FEW,
        "hidden_dim": 192,
        "feedforward_dim": 768,
        "dropout": 0.2,
        "vocabulary_size": 2000,
        "learning_rate": 2e-3,
    },
}
"""Recipes of the data sets."""


@dataclass(frozen=True, kw_only=True)
class Options(mixture.Options):
    """The sizes of a Transformer and its variants.

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
                raise ArgumentError(f"--{field.name}: expected {' or '.join(choices)}, got {chosen}")
        if self.hidden_dim % self.heads:
            raise ArgumentError(f"--hidden-dim: expected a multiple of --heads = {self.heads}, got {self.hidden_dim}")
        if self.positions == "sinusoidal" and self.hidden_dim % 2:
            raise ArgumentError(f"--hidden-dim: expected an even number, got {self.hidden_dim}")
        if self.positions == "rotary" and self.hidden_dim // self.heads % 2:
            width = self.hidden_dim // self.heads
            raise ArgumentError(f"--positions rotary: expected an even number of features a head, got {width}")
        below_one(self, "dropout")


_DEFAULT = Options()


@dataclass(frozen=True)
class State:
    """State of the decoder: the key-value caches.

    Args:
        target: cache of the tokens so far for each layer, `(examples * beam, heads, length, head_dim)`.
        source: cache of the source for each layer, `(examples, heads, length, head_dim)`. The outputs of an example
            share it.
        beam: outputs per example.

    Example:
        >>> from saccade.models.padded import Padded
        >>> model = Transformer(9, 7, Options(hidden_dim=4, heads=2, layers=1, feedforward_dim=8))
        >>> state = model.encode(Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1])))
        >>> state.select(torch.tensor([[0, 0], [1, 1]]), None).source[0].key.shape
        torch.Size([2, 2, 2, 2])
    """

    target: tuple[Memory, ...]
    source: tuple[Memory, ...]
    beam: int = 1

    def select(self, rows: Tensor, examples: Tensor | None) -> "State":
        """Return the state of rows `(examples, beam)`, of all examples or some."""
        target = tuple(memory.select(rows.flatten()) for memory in self.target)
        source = self.source if examples is None else tuple(memory.select(examples) for memory in self.source)
        return State(target, source, rows.shape[1])


class Transformer(Seq2Seq[Any, State]):
    r"""Encoder and decoder with layers of attention and a feed-forward network.

    .. math::
        \operatorname{FFN}(x) &= W_2 \max(0,\ W_1 x + b_1) + b_2 \\
        \text{post: } x &\leftarrow \operatorname{LayerNorm}(x + f(x)) \qquad
        \text{pre: } x \leftarrow x + f(\operatorname{LayerNorm}(x))

    for f = self-attention, attention to the source (decoder) and FFN. Embeddings are scaled by \(\sqrt{d}\), and the
    output matrix is the embedding of the target.

    Args:
        source_size: size of the source vocabulary, with padding (id 0).
        target_size: size of the target vocabulary.
        options: the sizes.
        joint: whether both sides share one vocabulary and its embedding.

    Example:
        >>> from saccade.models.padded import Padded
        >>> model = Transformer(11, 7, Options(hidden_dim=8, heads=2, layers=1, feedforward_dim=16))
        >>> source = Padded(torch.randint(4, 11, (2, 5)), torch.tensor([5, 3]))
        >>> model(source, torch.randint(4, 7, (2, 6))).shape
        torch.Size([2, 6, 7])

    Source:
        Vaswani et al. 2017, section 3. docs/models.md lists the differences.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES

    def __init__(self, source_size: int, target_size: int, options: Options = _DEFAULT, joint: bool = False) -> None:
        super().__init__()
        dim = options.hidden_dim
        self.options = options
        self.source_embedding, self.target_embedding = embeddings(source_size, target_size, dim, joint=joint)
        self.encoder, self.decoder = (layers_of(options, attends=attends) for attends in (False, True))
        last = nn.LayerNorm if options.norm == "pre" else nn.Identity
        self.encoder_norm, self.decoder_norm = last(dim), last(dim)
        self.bias = nn.Parameter(torch.zeros(target_size))
        self.dropout = Dropout(options.dropout)

    @property
    def output(self) -> tuple[Tensor, Tensor]:
        return self.target_embedding.weight, self.bias

    def encode(self, source: Any) -> State:
        within = masks.Lengths(source.lengths[:, None])
        return self.begin(self._embedded(self.source_embedding, source.values, 0), within)

    def begin(self, x: Tensor, within: masks.Mask | None) -> State:
        """Encode embedded sources `(batch, length, hidden_dim)`."""
        x = apply_layers(self.encoder, x, within, self.options)
        x, decoder = self.encoder_norm(x), cast("Iterable[Layer]", self.decoder)
        pairs = [(layer.attention.remember(x[:, :0]), layer.remember(x, within)) for layer in decoder]
        return State(tuple(target for target, _ in pairs), tuple(source for _, source in pairs))

    def step(self, token: Tensor, state: State) -> tuple[Logits, State]:
        x, caches = self._embedded(self.target_embedding, token[:, None], len(state.target[0])), []
        for layer, cache, source in zip(self.decoder, state.target, state.source, strict=True):

            def read(y: Tensor, layer: Any = layer, cache: Memory = cache) -> Tensor:
                caches.append(layer.attention.append(cache, y))
                output: Tensor = layer.attention(y, memory=caches[-1], bias=self._distance(y, "end"))
                return output

            x = layer(x, read, lambda y, layer=layer, source=source: layer.look(y, source, state.beam))
        features = self.decoder_norm(x)[:, 0]
        logits = Logits(features, *self.output)
        return logits, State(tuple(caches), state.source, state.beam)

    def decode(self, target: Tensor, state: State) -> Tensor:
        x, there = self._embedded(self.target_embedding, target, 0), target > 0
        for layer, memory in zip(self.decoder, state.source, strict=True):
            attend = layer.attention
            x = layer(
                x,
                lambda y, attend=attend: attend(y, mask=masks.Causal(), bias=self._distance(y, None)),
                lambda y, layer=layer, memory=memory: layer.look(y, memory, 1),
                there=there,
            )
        features: Tensor = self.decoder_norm(x)
        return features

    def alignment(self, records: Sequence[tuple[str, AuxOutput]]) -> Tensor | None:
        """Return the weights of source positions, `(batch, target_length, source_length)`.

        They are the mean over heads of the last layer but one, or of the only layer. That layer aligns words best
        (the "layer average baseline" of Garg et al. 2019).

        Args:
            records: from `saccade.look.record`, of a `forward` in evaluation mode.
        """
        layers = [aux.weights for name, aux in records if name.endswith("source_attention")]
        weights = layers[max(len(layers) - 2, 0)]
        return None if weights is None else weights.mean(1)

    def _embedded(self, embedding: nn.Embedding, tokens: Tensor, first: int) -> Tensor:
        """Embeddings of tokens `(batch, length)`, with positions from `first` on."""
        x = embedding(tokens) * math.sqrt(embedding.embedding_dim)
        output: Tensor = self.dropout(add_positions(x, first, self.options))
        return output

    def _distance(self, x: Tensor, align: Literal["end"] | None) -> Alibi | None:
        return _distance(x, self.options, align)


class Layer(nn.Module):
    """A layer of a Transformer, with residual connections.

    It has self-attention, attention to the source in a decoder, and a feed-forward network.

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
        self.attention = MultiheadAttention(dim, options.heads, score=options.score, rotary_base=rotary)
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


def apply_layers(layers: Iterable[Any], x: Tensor, mask: masks.Mask | None, options: Options) -> Tensor:
    """Apply layers of self-attention, without the last normalization.

    Args:
        layers: without attention to a source.
        x: `(batch, length, hidden_dim)`.
        mask: of keys, broadcast to `(batch, heads, length, length)`.
        options: of the layers.

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
        attend = layer.attention
        x = layer(x, lambda y, attend=attend: attend(y, mask=mask, bias=_distance(y, options, None)), there=there)
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


def _distance(x: Tensor, options: Options, align: Literal["end"] | None) -> Alibi | None:
    """The bias of ALiBi, if `positions="alibi"`."""
    return Alibi(slopes(options.heads).to(x), align) if options.positions == "alibi" else None
