"""Listen, Attend and Spell: a pyramidal LSTM encoder and an attention decoder.

Chan, Jaitly, Le, Vinyals 2016, "Listen, Attend and Spell", https://arxiv.org/abs/1508.01211, with the location-aware
attention of Chorowski et al. 2015, "Attention-Based Models for Speech Recognition", https://arxiv.org/abs/1506.07503.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import AuxOutput, AuxRequest, masks
from saccade._definitions.checks import in_ranges
from saccade._definitions.numerics import wide
from saccade.errors import ArgumentError
from saccade.kernels.cells import lstm_of
from saccade.kernels.topk import Logits
from saccade.memory import Memory
from saccade.models import ctc
from saccade.models.checks import below_one
from saccade.models.listener import Listener, SpecAugment
from saccade.models.padded import Padded
from saccade.models.recurrent import LockedDropout
from saccade.models.renames import renamed
from saccade.models.seq2seq import Seq2Seq
from saccade.models.words import logits_or_loss
from saccade.nn import Attention

__all__ = ["RECIPES", "Las", "Options", "State"]

_SIZES = (
    ("hidden_dim", 2, 1 << 20),
    ("embedding_dim", 1, 1 << 20),
    ("layers", 1, 1000),
    ("speller_layers", 1, 1000),
    ("pyramid", 0, 1000),
    ("location_filters", 1, 1 << 20),
    ("location_width", 1, 100_001),
    ("time_masks", 0, 1000),
    ("time_width", 0, 100_000),
    ("frequency_masks", 0, 1000),
    ("frequency_width", 0, 100_000),
)

_TONES: dict[str, Any] = {"hidden_dim": 64, "embedding_dim": 32, "layers": 2, "learning_rate": 8e-3}
RECIPES: dict[str, dict[str, Any]] = {
    "tones": _TONES,
    **{name: {**_TONES, "ctc_weight": 0.0, "attention": "content"} for name in ("voices", "phrases")},
    "files": {"hidden_dim": 256, "embedding_dim": 64, "dropout": 0.3, "ctc_weight": 0.5, "learning_rate": 2e-3},
}
"""Default options for each data set."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The sizes of listener and speller, their attention and regularization.

    >>> Options(attention="dot", speller_layers=2).ctc_weight
    0.3
    """

    hidden_dim: int = 256
    """Units of each speller layer, and of both directions of a listener layer.

    The number must be even."""

    embedding_dim: int = 64
    """Features of the token embeddings."""

    layers: int = 3
    """LSTM layers of the listener."""

    pyramid: int = 2
    """Layers of the listener, from the first on, that halve the number of steps."""

    speller_layers: int = 1
    """LSTM layers of the speller. The last one makes the query.

    Chan et al. 2016 have 2."""

    attention: Literal["location", "content", "dot"] = "location"
    """Score: additive (content), additive with previous weights (location), or dot.

    Dot is the product of two MLPs, as in Chan et al. 2016, Eq. 9."""

    attend_to: Literal["all", "loud"] = "all"
    """Steps to attend to: all, or loud ones.

    The mean feature of a loud step is at least that of the recording. In a recording of one word nothing else keeps the
    attention off silence."""

    location_filters: int = 10
    """Convolution filters over the previous attention weights."""

    location_width: int = 15
    """Width of the location filters in steps. It must be odd."""

    dropout: float = 0.0
    """Dropout with one mask per utterance.

    It applies between layers, to embeddings and to the input of the output layer."""

    ctc_weight: float = 0.3
    """Weight of a CTC loss on the listener, from 0 to 1."""

    scheduled_sampling: float = 0.0
    """Probability that a training step reads the model's own last token."""

    time_masks: int = 2
    """Time masks of each training utterance (SpecAugment)."""

    time_width: int = 40
    """Largest width of a time mask in frames."""

    frequency_masks: int = 2
    """Frequency masks of each training utterance (SpecAugment)."""

    frequency_width: int = 8
    """Largest width of a frequency mask in features."""

    @property
    def step_frames(self) -> int:
        """Frames of a step of the encoded audio."""
        return int(2**self.pyramid)

    def __post_init__(self) -> None:
        """Reject invalid options."""
        in_ranges(self, _SIZES)
        for name in ("hidden_dim", "location_width"):
            odd = name == "location_width"
            if (value := getattr(self, name)) % 2 != odd:
                expected = "an odd number" if odd else "an even number"
                raise ArgumentError(f"--{name.replace('_', '-')}: expected {expected}, got {value}")
        if self.pyramid > self.layers:
            raise ArgumentError(f"--pyramid: expected at most {self.layers}, the --layers, got {self.pyramid}")
        below_one(self, "dropout", "ctc_weight", "scheduled_sampling")


_DEFAULT = Options()


@dataclass(frozen=True)
class State:
    """Decoder state of each output of a beam.

    Args:
        hidden, cell: states of the speller's layers, concatenated, `(examples, beam, speller_layers * hidden_dim)`.
        context: last context vector, `(examples, beam, hidden_dim)`.
        weights: last attention weights, `(examples, beam, steps)`.
        memory: the encoded audio, `(examples, 1, steps, hidden_dim)`, shared by all outputs of an example.
        lengths: number of encoded steps, `(examples,)`.

    Example:
        >>> model = Las(5, 7, Options(hidden_dim=4, embedding_dim=3))
        >>> state = model.encode(Padded(torch.randn(2, 8, 5), torch.tensor([8, 3])))
        >>> state.select(torch.tensor([[0, 0], [1, 1]]), None).hidden.shape
        torch.Size([2, 2, 4])
    """

    hidden: Tensor
    cell: Tensor
    context: Tensor
    weights: Tensor
    memory: Memory
    lengths: Tensor

    def select(self, rows: Tensor, examples: Tensor | None) -> "State":
        """Select and reorder rows, as `saccade.models.seq2seq.State.select` does."""
        parts = {name: getattr(self, name).flatten(0, 1)[rows] for name in ("hidden", "cell", "context", "weights")}
        if examples is None:
            return replace(self, **parts)
        return State(**parts, memory=self.memory.select(examples), lengths=self.lengths[examples])


class Las(Seq2Seq[Padded, State]):
    r"""Listener and speller: an encoder of audio and a decoder with attention.

    .. math::
        h &= \operatorname{Listen}(x) \qquad s_i = \operatorname{LSTM}(s_{i-1}, [E y_{i-1}; c_{i-1}]) \qquad
        f_i = F * \alpha_{i-1} \\
        e_{ij} &= v^\top \tanh(W s_i + V h_j + U f_{ij}) \qquad \alpha_i = \operatorname{softmax}(e_i) \qquad
        c_i = \sum_j \alpha_{ij} h_j \\
        p(y_i) &= \operatorname{softmax}\big(E \tanh(W_o [s_i; c_i]) + b\big)

    Without U f the attention is content-based. With `attention="dot"` the score is \(e_{ij} = \langle\varphi(s_i),
    \psi(h_j)\rangle\), and φ and ψ are MLPs with one tanh layer. The location term U f is added to the keys, so there
    is no tensor of queries × keys × features. In training `ctc_weight` is the share of the CTC loss on \(h\) (Graves et
    al. 2006) in the loss, as in Kim, Hori, Watanabe 2017, "Joint CTC-Attention based End-to-End Speech Recognition",
    Eq. 7.

    Args:
        source_dim: features of a frame.
        target_size: size of the target vocabulary. Token 0 is padding.
        options: the sizes.

    Example:
        >>> model = Las(5, 7, Options(hidden_dim=8, embedding_dim=4))
        >>> source = Padded(torch.randn(2, 30, 5), torch.tensor([30, 17]))
        >>> model(source, torch.randint(4, 7, (2, 6))).shape
        torch.Size([2, 6, 7])

    Source:
        Chan et al. 2016, Eq. 1 to 11, with `attention="dot"` and two layers of the speller. Chorowski et al. 2015, Eq.
        5 to 9. There the query is the previous state. docs/transcribe.md lists further differences.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES

    def __init__(self, source_dim: int, target_size: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        hidden, dim = options.hidden_dim, options.embedding_dim
        self.options = options
        masked = options.time_masks, options.time_width, options.frequency_masks, options.frequency_width
        self.augment = SpecAugment(*masked)
        self.listener = Listener(source_dim, hidden, options.layers, options.pyramid, options.dropout)
        self.embedding = nn.Embedding(target_size, dim, padding_idx=0)
        nn.init.normal_(self.embedding.weight, std=dim**-0.5)
        self.input_proj, self.hidden_proj = nn.Linear(dim + hidden, 4 * hidden), nn.Linear(hidden, 4 * hidden)
        self.upper = nn.ModuleList(_Layer(hidden) for _ in range(options.speller_layers - 1))
        by_products = options.attention == "dot"
        self.attention = Attention(hidden, hidden, hidden_dim=hidden, score="dot" if by_products else "additive")
        self.networks = _Networks(hidden) if by_products else None
        self.location = _Location(options, hidden) if options.attention == "location" else None
        self.readout = nn.Linear(2 * hidden, dim)
        self.bias = nn.Parameter(torch.zeros(target_size))
        self.ctc = nn.Linear(hidden, target_size) if options.ctc_weight else None
        self.dropout = LockedDropout(options.dropout)
        renamed(self, {"entering": "input_proj", "before": "hidden_proj", "connectionist": "ctc"})

    @property
    def output(self) -> tuple[Tensor, Tensor]:
        return self.embedding.weight, self.bias

    def encode(self, source: Padded) -> State:
        """Encode utterances: frames `(batch, length, source_dim)`."""
        encoded, lengths = self.listener(self.augment(source))
        encoded = self.dropout(encoded)
        allowed: Tensor | masks.Mask = masks.Lengths(lengths[:, None])
        if self.options.attend_to == "loud":
            allowed = _loud(source, self.options.step_frames)[:, None, None]
        heard = encoded[:, None]
        key = heard if self.networks is None else self.networks.key(heard)
        memory = self.attention.remember(key, heard, mask=allowed)
        zeros = encoded.new_zeros(len(encoded), 1, self.options.hidden_dim)
        states = zeros.repeat(1, 1, self.options.speller_layers)
        return State(states, states, zeros, encoded.new_zeros(len(encoded), 1, encoded.shape[1]), memory, lengths)

    def step(self, token: Tensor, state: State) -> tuple[Logits, State]:
        features, state = self._decode(token[:, None], state)
        return Logits(features[:, 0], *self.output), state

    def decode(self, target: Tensor, state: State) -> Tensor:
        return self._decode(target, state)[0]

    def forward(
        self, source: Padded, target: Tensor, labels: Tensor | None = None, label_smoothing: float = 0.0
    ) -> Tensor:
        """Return the logits of every next token, or the joint loss of labels.

        The loss is a weighted mean of cross-entropy and CTC.

        Args:
            source: frames `(batch, length, source_dim)`.
            target, labels, label_smoothing: as for `Seq2Seq.forward`.
        """
        state = self.encode(source)
        cost = logits_or_loss(self._decode(target, state)[0], self.output, labels, label_smoothing)
        if labels is None or self.ctc is None:
            return cost
        lengths = (labels != 0).sum(1) - 1  # without the end
        share = self.options.ctc_weight
        log_probs = self.ctc_log_probs(state, labels[:, None], lengths[:, None])[:, 0]
        # Utterances with too few frames for CTC train the speller alone.
        possible = (log_probs > ctc.NEVER).to(log_probs)
        aligned = -(log_probs * possible / lengths.clamp(min=1)).sum() / possible.sum().clamp(min=1)
        return (1 - share) * cost + share * aligned

    def ctc_log_probs(self, state: State, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return the CTC log-probability of texts, see `ctc.log_probs_of_texts`.

        Args:
            state: the result of `encode`.
            tokens: n texts of each example, without end tokens, `(examples, n, length)`. Padding is ignored.
            lengths: number of tokens of each text, `(examples, n)`.

        Returns:
            `(examples, n)`, in nats. It is -1e6 for a text with too few frames, or with a blank.
        """
        assert self.ctc is not None
        log_probs = wide(self.ctc(state.memory.value[:, 0])).log_softmax(-1)
        return ctc.log_probs_of_texts(log_probs, state.lengths, tokens, lengths)

    def ctc_alignment(self, state: State, tokens: Tensor) -> Tensor:
        """Return `ctc.alignment` of an utterance's text without the end token."""
        assert self.ctc is not None
        with torch.inference_mode(mode=False):
            logits = self.ctc(state.memory.value[0, 0].clone())
            return ctc.alignment(wide(logits).log_softmax(-1), tokens)

    def alignment(self, records: Sequence[tuple[str, AuxOutput]]) -> Tensor | None:
        """Return the weights of all steps as rows, `(batch, target_length, steps)`."""
        return torch.cat([aux.weights for _, aux in records if aux.weights is not None], -2).flatten(0, 1)

    def _decode(self, target: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the features `(rows, length, embedding_dim)` of the next tokens."""
        examples, beam = state.hidden.shape[:2]
        context, width, upper = state.context.flatten(0, 1), self.options.hidden_dim, cast("list[_Layer]", self.upper)
        hiddens, cells = (list(part.flatten(0, 1).split(width, -1)) for part in (state.hidden, state.cell))
        advances, weights, outputs = list(map(lstm_of, self._hidden_projections())), state.weights, list[Tensor]()
        widths = self.options.embedding_dim, 2 * width, *[width] * len(upper)
        dropouts = [self.dropout.draw(context, width) for width in widths]
        for position, token in enumerate(target.unbind(1)):
            token = self._chosen(token, outputs) if position else token
            inputs = self.input_proj(torch.cat([dropouts[0](self.embedding(token)), context], -1))
            for depth, advance in enumerate(advances):
                if depth:
                    inputs = upper[depth - 1].input_proj(dropouts[depth + 1](hiddens[depth - 1]))
                hiddens[depth], cells[depth] = advance(inputs, hiddens[depth], cells[depth])
            hidden = hiddens[-1]
            read, weights = self._read(hidden.view(examples, beam, 1, -1), weights, state.memory)
            context = read.flatten(0, 2)
            outputs.append(torch.tanh(self.readout(dropouts[1](torch.cat([hidden, context], -1)))))
        parts = torch.cat(hiddens, -1), torch.cat(cells, -1), context
        hidden, cell, context = (part.view(examples, beam, -1) for part in parts)
        return torch.stack(outputs, 1), replace(state, hidden=hidden, cell=cell, context=context, weights=weights)

    def _hidden_projections(self) -> list[nn.Linear]:
        """Recurrent projections of the speller's layers, from the lowest on."""
        return [self.hidden_proj, *(layer.hidden_proj for layer in cast("list[_Layer]", self.upper))]

    def _read(self, query: Tensor, weights: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Return contexts of queries `(examples, beam, 1, hidden_dim)`, and the weights."""
        query = query if self.networks is None else self.networks.query(query)
        if self.location is None:
            return self.attention(query, memory=memory), weights
        memory = memory.shift(self.location(weights.to(query.dtype)))
        read, aux = self.attention(query, memory=memory, aux=AuxRequest(weights=True))
        return read, aux.weights[:, :, 0]

    def _chosen(self, token: Tensor, outputs: Sequence[Tensor]) -> Tensor:
        """Choose true tokens or predictions at random.

        This is scheduled sampling (Bengio et al. 2015, section 2.4).
        """
        share = self.options.scheduled_sampling
        if not self.training or not share:
            return token
        prediction = F.linear(outputs[-1].detach(), *self.output).argmax(-1)
        return torch.where(torch.rand(len(token), device=token.device) < share, prediction, token)


def _loud(source: Padded, step_frames: int) -> Tensor:
    """Return the steps with at least the mean feature, `(batch, steps)`."""
    length = source.values.shape[1]
    padding = (0, -length % step_frames)
    sound = torch.where(source.within, source.values.mean(-1), 0.0)
    sums, counts = (F.pad(part, padding).unflatten(1, (-1, step_frames)).sum(2) for part in (sound, source.within))
    means = sums / counts.clamp(min=1)
    loud = (means >= sound.sum(1, keepdim=True) / source.lengths[:, None]) & (counts > 0)
    steps: Tensor = loud | ((counts > 0) & ~loud.any(1, keepdim=True))  # equal means may be rounded differently
    return steps


class _Layer(nn.Module):
    """Input and recurrent projection of an upper LSTM layer of the speller."""

    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.input_proj, self.hidden_proj = (nn.Linear(hidden_dim, 4 * hidden_dim) for _ in range(2))


class _Networks(nn.Module):
    """First layers of φ and ψ (Chan et al. 2016, Eq. 9).

    The projections of the attention are their second layers.
    """

    def __init__(self, hidden_dim: int) -> None:
        super().__init__()
        self.query, self.key = (nn.Sequential(nn.Linear(hidden_dim, hidden_dim), nn.Tanh()) for _ in range(2))


class _Location(nn.Module):
    """Location features U (F * α) (Chorowski et al. 2015, Eq. 8 and 9)."""

    def __init__(self, options: Options, hidden_dim: int) -> None:
        super().__init__()
        width = options.location_width
        self.filters = nn.Conv1d(1, options.location_filters, width, padding=width // 2, bias=False)
        self.projection = nn.Linear(options.location_filters, hidden_dim, bias=False)

    def forward(self, weights: Tensor) -> Tensor:
        """Map weights `(examples, beam, steps)` to `(examples, beam, steps, hidden_dim)`."""
        filtered = self.filters(weights.flatten(0, 1)[:, None]).mT
        features: Tensor = self.projection(filtered)
        return features.view(*weights.shape, -1)
