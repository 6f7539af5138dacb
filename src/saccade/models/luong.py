"""Luong's translator: stacked LSTMs with global or local attention in the decoder.

Luong, Pham, Manning 2015, "Effective Approaches to Attention-based Neural Machine Translation",
https://arxiv.org/abs/1508.04025.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, cast

import torch
from torch import Tensor, nn

from saccade import masks, scores
from saccade._definitions.checks import in_ranges
from saccade._definitions.numerics import wide
from saccade.biases import GaussianWindow
from saccade.errors import ArgumentError
from saccade.kernels.cells import linear_cell, lstm_of
from saccade.kernels.topk import Logits
from saccade.memory import Memory
from saccade.models import hard, recurrent, weighing
from saccade.models.checks import below_one
from saccade.models.padded import Padded
from saccade.models.recurrent import LockedDropout, at_positions, reversed_positions
from saccade.models.reinforce import Reinforce, Samples
from saccade.models.renames import renamed
from saccade.models.words import embeddings
from saccade.nn import Attention

__all__ = ["RECIPES", "Luong", "Options", "State"]

_BETA = 8.0  # initial scale of the cosine. With 1 no weight could be eight times another.
_SIZES = (
    ("hidden_dim", 1, 1 << 20),
    ("embedding_dim", 1, 1 << 20),
    ("layers", 1, 1000),
    ("window", 1, 10**5),
    ("positions", 1, 10**5),
)

_DATES = {
    **recurrent.RECIPES["dates"],
    "layers": 1,
    "schedule": "cosine",
    "schedule_steps": 1000,
    "final_rate": 0.05,
    "max_steps": 1000,
}
RECIPES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("dates", "several-dates", "trees"), _DATES),
    "files": recurrent.RECIPES["files"],
}
"""Default options for each data set."""


@dataclass(frozen=True, kw_only=True)
class Options(hard.TextOptions):
    """The sizes of Luong's translator, and its attention.

    >>> Options(attention="local-p", window=5).score
    'general'
    """

    hidden_dim: int = 256
    """Units of each LSTM layer."""

    embedding_dim: int = 128
    """Features of the token embeddings, and of the input of the output layer."""

    dropout: float = 0.0
    """Dropout with one mask per sentence.

    It applies to embeddings, annotations, outputs of layers, the query and the input of the output layer."""

    layers: int = 2
    """LSTM layers of the encoder, and of the decoder."""

    attention: Literal["global", "local-m", "local-p", "none"] = "global"
    """Attention: global, local-m, local-p or none.

    Local attention has a window, which moves by one position per token (local-m) or is centred at a predicted position
    (local-p)."""

    score: Literal["general", "dot", "scaled_dot", "additive", "location", "cosine"] = "general"
    """Score of decoder state and source. Additive is the paper's concat."""

    normalizer: weighing.Name = "softmax"
    """Normalizer of the scores."""

    window: int = 10
    """Source positions on each side of the centre of a local window."""

    positions: int = 200
    """Source positions of the location score. Later positions get no weight."""

    input_feeding: bool = True
    """Feed the attentional state into the next step."""

    reverse: bool = False
    """Encode the source in reverse, as in the paper.

    Positions still count from the start."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        in_ranges(self, _SIZES)
        below_one(self, "dropout")
        self._reject_ineffective()
        if self.attention == "local-p" and self.entropy_bonus:
            why = "with --attention local-p, whose weights do not sum to one"
            raise ArgumentError(f"--entropy-bonus: expected 0 {why}, got {self.entropy_bonus}")

    def _reject_ineffective(self) -> None:
        """Reject options without effect unless they have their defaults."""
        attends, local = self.attention != "none", self.attention in ("local-m", "local-p")
        conditions = {
            "score": (attends, "an --attention other than none"),
            "normalizer": (attends, "an --attention other than none"),
            "read": (attends, "an --attention other than none"),
            "window": (local, "--attention local-m or local-p"),
            "positions": (attends and self.score == "location", "--score location"),
        }
        for name, (effective, beside) in conditions.items():
            if not effective and (value := getattr(self, name)) != Options.__dataclass_fields__[name].default:
                raise ArgumentError(f"--{name}: expected only with {beside}, got {value}")


_DEFAULT = Options()


@dataclass(frozen=True)
class State:
    """Decoder state of each output of a beam.

    Args:
        layers: hidden state and cell of each layer, both `(examples, beam, hidden_dim)`.
        fed: last attentional state, `(examples, beam, embedding_dim)`.
        position: number of tokens so far.
        lengths: lengths of the sources within reach of the attention, `(examples,)`.
        memory: annotations of each example, shared by its outputs. None without attention.

    Example:
        >>> model = Luong(9, 7, Options(hidden_dim=4, embedding_dim=3))
        >>> state = model.encode(Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1])))
        >>> state.select(torch.tensor([[0, 0], [1, 1]]), None).fed.shape
        torch.Size([2, 2, 3])
    """

    layers: tuple[tuple[Tensor, Tensor], ...]
    fed: Tensor
    position: int
    lengths: Tensor
    memory: Memory | None

    def select(self, rows: Tensor, examples: Tensor | None) -> "State":
        """Select and reorder rows, as `saccade.models.seq2seq.State.select` does."""
        layers = tuple((hidden.flatten(0, 1)[rows], cell.flatten(0, 1)[rows]) for hidden, cell in self.layers)
        memory, lengths = self.memory, self.lengths
        if examples is not None:
            memory, lengths = None if memory is None else memory.select(examples), lengths[examples]
        return State(layers, self.fed.flatten(0, 1)[rows], self.position, lengths, memory)


class Luong(hard.Reader[Padded, State]):
    r"""LSTM encoder and decoder, with attention by the decoder's top state.

    .. math::
        h_t &= \operatorname{LSTM}([E y_{t-1}; \tilde h_{t-1}], h_{t-1}) \qquad
        a_t = \operatorname{softmax}_s(\operatorname{score}(h_t, \bar h_s)) \\
        c_t &= \sum_s a_t(s)\, \bar h_s \qquad \tilde h_t = \tanh(W_c [c_t; h_t]) \qquad
        p(y_t) = \operatorname{softmax}(E \tilde h_t + b)

    Local attention has weights for \(|s - p_t| \le D\) alone. The centre is \(p_t = t\) (local-m), or a predicted
    position (local-p). With local-p a Gaussian multiplies the weights, and they are not normalized again. For a source
    of S tokens:

    .. math::
        p_t = S \cdot \sigma(v_p^\top \tanh(W_p h_t)) \qquad
        a_t(s) \leftarrow a_t(s) \exp\Big(-\frac{(s - p_t)^2}{2 (D / 2)^2}\Big)

    Positions s count from 0. The output matrix is the embedding of the target.

    Args:
        source_size: size of the source vocabulary. Token 0 is padding.
        target_size: size of the target vocabulary.
        options: the sizes.
        joint: whether both sides share one vocabulary and one embedding.

    Example:
        >>> model = Luong(11, 7, Options(hidden_dim=8, embedding_dim=4, attention="local-p"))
        >>> source = Padded(torch.randint(4, 11, (2, 5)), torch.tensor([5, 3]))
        >>> model(source, torch.randint(4, 7, (2, 6))).shape
        torch.Size([2, 6, 7])

    Source:
        Luong, Pham, Manning 2015, Eq. 5 to 10 and section 3.3. docs/models.md lists the differences.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES

    def __init__(self, source_size: int, target_size: int, options: Options = _DEFAULT, joint: bool = False) -> None:
        super().__init__()
        hidden, dim, attends = options.hidden_dim, options.embedding_dim, options.attention != "none"
        self.options = options
        self.source_embedding, self.target_embedding = embeddings(source_size, target_size, dim, joint=joint)
        widths = [dim, *[hidden] * (options.layers - 1)]
        self.encoder = nn.ModuleList(_Layer(width, hidden) for width in widths)
        self.decoder = nn.ModuleList(_Layer(width, hidden) for width in widths)
        self.feed = nn.Linear(dim, 4 * hidden) if options.input_feeding else None
        self.attention = _attention(options) if attends else None
        self.center = _Center(hidden) if options.attention == "local-p" else None
        self.readout = nn.Linear(hidden * (1 + attends), dim)
        self.bias = nn.Parameter(torch.zeros(target_size))
        self.dropout = LockedDropout(options.dropout)
        feeds = options.input_feeding
        self.reinforce = Reinforce(options, hidden, feeds=feeds) if options.read == "reinforce" else None

    @property
    def output(self) -> tuple[Tensor, Tensor]:
        return self.target_embedding.weight, self.bias

    def encode(self, source: Padded) -> State:
        (tokens, lengths), layers = source, []
        x = self.source_embedding(tokens)
        order = reversed_positions(lengths, tokens.shape[1]) if self.options.reverse else None
        x = x if order is None else at_positions(x, order)
        for layer in cast("Iterable[_Layer]", self.encoder):
            x, last = layer.over(self.dropout(x), lengths)
            layers.append(last)
        fed = x.new_zeros(len(x), 1, self.options.embedding_dim)
        memory = None
        if self.attention is not None:
            annotations = self.dropout(x if order is None else at_positions(x, order))
            if self.options.score == "location":  # has no weights for later positions
                annotations = annotations[:, : self.options.positions]
                lengths = lengths.clamp(max=self.options.positions)
            memory = self.attention.remember(annotations, mask=masks.Lengths(lengths))
        return State(tuple(layers), fed, 0, lengths, memory)

    def step(self, token: Tensor, state: State) -> tuple[Logits, State]:
        features, state = self._decode(token[:, None], state, None)
        return Logits(features[:, 0], *self.output), state

    def decode(self, target: Tensor, state: State, samples: Samples | None = None) -> Tensor:
        return self._decode(target, state, samples)[0]

    def _decode(self, target: Tensor, state: State, samples: Samples | None) -> tuple[Tensor, State]:
        """Return the features `(rows, length, embedding_dim)` of the next tokens."""
        shape, fed = state.fed.shape[:2], state.fed.flatten(0, 1)
        layers = [(hidden.flatten(0, 1), cell.flatten(0, 1)) for hidden, cell in state.layers]
        decoder = cast("list[_Layer]", list(self.decoder))
        steps, feed = (
            [lstm_of(layer.hidden_proj) for layer in decoder],
            None if self.feed is None else linear_cell(self.feed),
        )
        inputs, outputs = decoder[0].input_proj(self.dropout(self.target_embedding(target))), []
        dropouts = _Dropouts(
            *(self.dropout.draw(fed, width) for width in (*[self.options.hidden_dim] * 2, fed.shape[1]))
        )
        for offset, word in enumerate(inputs.unbind(1)):
            word = word if feed is None else word + feed(fed)
            for depth, step in enumerate(steps):
                word = word if not depth else decoder[depth].input_proj(dropouts.layers(layers[depth - 1][0]))
                layers[depth] = step(word, *layers[depth])
            outputs.append(layers[-1][0])
            if feed is not None:
                fed = self._read(outputs[-1][:, None], state, state.position + offset, samples, dropouts)[:, 0]
                outputs[-1] = fed
        features = torch.stack(outputs, 1)
        if feed is None:
            features = self._read(features, state, state.position, samples, dropouts)
        carried = tuple((hidden.view(*shape, -1), cell.view(*shape, -1)) for hidden, cell in layers)
        position = state.position + target.shape[1]
        return features, State(carried, fed.view(*shape, -1), position, state.lengths, state.memory)

    def _read(self, query: Tensor, state: State, first: int, samples: Samples | None, dropouts: "_Dropouts") -> Tensor:
        """Return the attentional states of queries at the positions from `first` on.

        Queries are `(rows, length, hidden_dim)`.
        """
        dropped = dropouts.query(query)
        if self.attention is None:
            return dropouts.features(torch.tanh(self.readout(dropped)))
        assert state.memory is not None
        context = hard.attended(
            self.attention, query, state.memory, samples, **self._around(query, state.lengths, first)
        )
        combined = torch.cat([context, dropped], -1)
        return dropouts.features(torch.tanh(self.readout(combined)))

    def _around(self, query: Tensor, lengths: Tensor, first: int) -> dict[str, Any]:
        """Return window and Gaussian of local attention (Eq. 9 and 10).

        Queries are `(rows, steps, hidden_dim)`.
        """
        if self.options.attention == "global":
            return {}
        window, examples = self.options.window, len(lengths)
        if self.center is None:
            steps = torch.arange(first, first + query.shape[1], device=query.device)
            return {"mask": masks.Around(steps.repeat(len(query) // examples), window)}
        center = lengths[:, None] * self.center(query).view(examples, -1)
        return {"mask": masks.Around(center, window), "gate": GaussianWindow(center, window / 2)}


def _attention(options: Options) -> Attention:
    hidden, score = options.hidden_dim, options.score
    named: Any = scores.Cosine(nn.Parameter(torch.tensor(_BETA))) if score == "cosine" else score
    return Attention(
        hidden,
        hidden,
        hidden_dim=hidden if score == "additive" else None,
        score=named,
        normalizer=weighing.NORMALIZERS[options.normalizer](),
        max_length=options.positions if score == "location" else None,
        **hard.attention_options(options),
    )


class _Center(nn.Module):
    """Predicted position, as a share of the source's length (Eq. 9)."""

    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(hidden_dim, hidden_dim, bias=False), nn.Linear(hidden_dim, 1, bias=False)

    def forward(self, query: Tensor) -> Tensor:
        # wide, because half types do not separate positions 256 and 257
        return torch.sigmoid(wide(self.outer(torch.tanh(self.inner(query)))[..., 0]))


class _Dropouts(NamedTuple):
    """Dropout masks of all steps: between layers, of the query, of the features."""

    layers: Callable[[Tensor], Tensor]
    query: Callable[[Tensor], Tensor]
    features: Callable[[Tensor], Tensor]


class _Layer(nn.Module):
    """An LSTM layer with a loop in Python: for last cells, and for input feeding."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.input_proj, self.hidden_proj = nn.Linear(input_dim, 4 * hidden_dim), nn.Linear(hidden_dim, 4 * hidden_dim)
        renamed(self, {"entering": "input_proj", "before": "hidden_proj"})

    def over(self, sequence: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return all states, and the last state and cell of each sentence.

        They are `(batch, length, hidden_dim)`, and `(batch, 1, hidden_dim)` each.
        """
        step, states, cells = lstm_of(self.hidden_proj), [], []
        hidden = cell = sequence.new_zeros(len(sequence), self.hidden_dim)
        for word in self.input_proj(sequence).unbind(1):
            hidden, cell = step(word, hidden, cell)
            states.append(hidden)
            cells.append(cell)
        outputs = torch.stack(states, 1)
        rows, last = torch.arange(len(sequence), device=sequence.device), lengths - 1
        return outputs, (outputs[rows, last][:, None], torch.stack(cells, 1)[rows, last][:, None])
