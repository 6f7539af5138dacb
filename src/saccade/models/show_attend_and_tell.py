"""Show, Attend and Tell: an LSTM with attention to the image (Xu et al. 2015).

"Show, Attend and Tell: Neural Image Caption Generation with Visual Attention", https://arxiv.org/abs/1502.03044.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

import torch
from torch import Tensor, nn

from saccade import AuxRequest, masks
from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.kernels.cells import linear_cell, lstm_of
from saccade.kernels.topk import Logits
from saccade.models import captioning, hard, weighing
from saccade.models.captioning import RECIPES, State, texts_of
from saccade.models.image_encoder import Visual
from saccade.models.recurrent import LockedDropout
from saccade.models.reinforce import Reinforce, Samples
from saccade.models.words import logits, logits_or_loss
from saccade.nn import Attention

__all__ = ["Options", "ShowAttendAndTell"]


@dataclass(frozen=True, kw_only=True)
class Options(captioning.Options, weighing.Options, hard.TextOptions):
    """The sizes of the model, and its read of cells.

    >>> Options(read="reinforce", baseline="moving-average", soft_share=0.5).doubly_stochastic
    0.0
    """

    attention_dim: int = 128
    """Hidden features of the attention score."""

    query: Literal["state", "state-and-word"] = "state"
    """Query of a word: the state before the previous word (Xu et al. 2015),
    or the state and that word (after Anderson et al. 2018)."""

    doubly_stochastic: float = 0.0
    """With --read soft: weight of the penalty that makes the weights of each cell sum
    to 1 over all words. The authors' code has 1."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        captioning.Options.__post_init__(self)
        in_ranges(self, (("attention_dim", 1, 1 << 20),))
        weighing.Options.__post_init__(self)
        if not 0 <= self.doubly_stochastic < float("inf"):
            got = f"{self.doubly_stochastic}"
            raise ArgumentError(f"--doubly-stochastic: expected a finite number from 0 on, got {got}")
        if self.doubly_stochastic and self.read != "soft":
            got = f"{self.doubly_stochastic} and --read {self.read}"
            raise ArgumentError(f"--doubly-stochastic: expected only with --read soft, got {got}")


_DEFAULT = Options()


@dataclass
class _Received:
    """Weights `(rows, cells)` of each step."""

    steps: list[Tensor] = field(default_factory=list)


class ShowAttendAndTell(hard.Reader[Visual, State]):
    r"""LSTM decoder with gated attention to an image's cells before every word.

    .. math::
        \alpha_t &= \operatorname{softmax}_i\big(v^\top \tanh(W h_{t-1} + U a_i)\big) \qquad
        \hat z_t = \sigma(w_\beta^\top h_{t-1} + b_\beta) \sum_i \alpha_{ti}\, a_i \\
        h_t &= \operatorname{LSTM}([E y_{t-1}; \hat z_t], h_{t-1}) \qquad
        p(y_t) = \operatorname{softmax}\big(W_o (E y_{t-1} + W_h h_t + W_z \hat z_t) + b\big)

    for cells a. The initial state and LSTM cell are functions of their mean. With `query="state-and-word"` the query
    includes the last word, \(W [h_{t-1}; E y_{t-1}]\). For example, the decoder can then look for the object that the
    last word names. Hard attention reads one cell instead of the mean, a sample in training. With soft attention the
    loss of a sentence may have the penalty

    .. math:: \lambda \sum_i \Big(1 - \sum_t \alpha_{ti}\Big)^2

    Args:
        encoder: of images, a `saccade.models.image_encoder.ImageEncoder` or a `FeatureEncoder`.
        target_size: size of the vocabulary, with padding (id 0).
        options: the sizes.

    Example:
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> options = Options(widths="4,8", cell_dim=6, hidden_dim=5, embedding_dim=4)
        >>> model = ShowAttendAndTell(ImageEncoder(3, options), 9, options)
        >>> model(Visual(torch.rand(2, 3, 32, 32)), torch.randint(4, 9, (2, 7))).shape
        torch.Size([2, 7, 9])

    Source:
        Xu et al. 2015, Eq. 1 to 14. docs/caption.md lists the differences.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        **RECIPES,
        "files": {**RECIPES["files"], "doubly_stochastic": 1.0},
    }
    attention: Attention

    def __init__(self, encoder: nn.Module, target_size: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        hidden, dim, cell_dim = options.hidden_dim, options.embedding_dim, options.cell_dim
        self.options = options
        self.image_encoder, self.embedding = encoder, nn.Embedding(target_size, dim, padding_idx=0)
        self.first_hidden, self.first_cell = nn.Linear(cell_dim, hidden), nn.Linear(cell_dim, hidden)
        query_dim = hidden if options.query == "state" else hidden + dim
        reader: dict[str, Any] = weighing.attention_options(options)
        self.attention = Attention(query_dim, cell_dim, hidden_dim=options.attention_dim, score="additive", **reader)
        self.gate = nn.Linear(hidden, 1)
        self.input_proj, self.context_proj = nn.Linear(dim, 4 * hidden), nn.Linear(cell_dim, 4 * hidden)
        self.hidden_proj = nn.Linear(hidden, 4 * hidden)
        self.read_hidden, self.read_context = nn.Linear(hidden, dim), nn.Linear(cell_dim, dim, bias=False)
        self.words = nn.Linear(dim, target_size)
        self.dropout = LockedDropout(options.dropout)
        self.reinforce = Reinforce(options, query_dim) if options.read == "reinforce" else None

    @property
    def output(self) -> nn.Module:
        return self.words

    def encode(self, source: Visual) -> State:
        cells = self.image_encoder(source.images())
        mean = cells.mean()
        mask = None if cells.lengths is None else masks.Lengths(cells.lengths)
        memory = self.attention.remember(cells.values, mask=mask)
        hidden, cell = (torch.tanh(first(mean))[:, None] for first in (self.first_hidden, self.first_cell))
        return texts_of(State(hidden, cell, memory), source)

    def step(self, token: Tensor, state: State) -> tuple[Logits | Tensor, State]:
        features, state = self._decode(token[:, None], state)
        return logits(features[:, 0], self.output), state

    def decode(self, target: Tensor, state: State, samples: Samples | None = None) -> Tensor:
        return self._decode(target, state, samples)[0]

    def forward(
        self, source: Visual, target: Tensor, labels: Tensor | None = None, label_smoothing: float = 0.0
    ) -> Tensor:
        """Return logits or the loss of labels, with the penalty in training."""
        penalty = self.options.doubly_stochastic
        if labels is None or not penalty or not self.training:
            return super().forward(source, target, labels, label_smoothing)
        received = _Received()
        features, _ = self._decode(target, self.encode(source), None, received)
        cost = logits_or_loss(features, self.output, labels, label_smoothing)
        written = (labels != 0).to(cost.dtype)
        sums = torch.einsum("btn,bt->bn", torch.stack(received.steps, 1), written)
        missing = (1 - sums).square()
        if source.lengths is not None:  # padded regions have no penalty
            lengths = source.lengths if source.about is None else source.lengths[source.about]
            missing = missing * (torch.arange(sums.shape[1], device=sums.device) < lengths[:, None])
        return cost + penalty * missing.sum() / written.sum()

    def _decode(
        self, target: Tensor, state: State, samples: Samples | None = None, received: _Received | None = None
    ) -> tuple[Tensor, State]:
        """Features of the tokens after `target`, `(rows, length, embedding_dim)`."""
        (hidden, cell), memory = state.rows(), state.memory
        assert memory is not None
        embedded = self.dropout(self.embedding(target))
        advance, enter = lstm_of(self.hidden_proj), linear_cell(self.context_proj)
        hiddens, contexts = list[Tensor](), list[Tensor]()
        for word, inputs in zip(embedded.unbind(1), self.input_proj(embedded).unbind(1), strict=True):
            query = hidden if self.options.query == "state" else torch.cat([hidden, word], -1)
            context = torch.sigmoid(self.gate(hidden)) * self._read(query, state, samples, received)
            hidden, cell = advance(inputs + enter(context), hidden, cell)
            hiddens.append(hidden)
            contexts.append(context)
        features = embedded + self.read_hidden(self.dropout(torch.stack(hiddens, 1)))
        features = self.dropout(features + self.read_context(torch.stack(contexts, 1)))
        return features, state.after(hidden, cell)

    def _read(self, query: Tensor, state: State, samples: Samples | None, received: _Received | None) -> Tensor:
        """Contexts `(rows, cell_dim)` of queries `(rows, query_dim)`."""
        assert state.memory is not None
        if received is None:
            return hard.attended(self.attention, query[:, None], state.memory, samples)[:, 0]
        # An example has one query here, so the received weights are those of this query.
        context, aux = self.attention(query[:, None], memory=state.memory, aux=AuxRequest(received=True))
        received.steps.append(aux.received)
        return context[:, 0]  # type: ignore[no-any-return]
