"""Adaptive attention: each word looks at the image or at a visual sentinel.

Lu, Xiong, Parikh, Socher 2017, "Knowing When to Look: Adaptive Attention via a Visual Sentinel for Image Captioning",
https://arxiv.org/abs/1612.01887.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import AuxOutput, AuxRequest, masks
from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.kernels.cells import lstm_of
from saccade.kernels.topk import Logits
from saccade.memory import Memory
from saccade.models import captioning
from saccade.models.captioning import RECIPES, State, picked, texts_of
from saccade.models.image_encoder import Visual
from saccade.models.recurrent import LockedDropout
from saccade.models.seq2seq import Seq2Seq
from saccade.models.standardized import Standardized
from saccade.models.words import logits
from saccade.nn import Attention

__all__ = ["AdaptiveAttention", "Options", "SentinelAttention"]


@dataclass(frozen=True, kw_only=True)
class Options(captioning.Options):
    """The sizes of the model, with or without a sentinel.

    >>> Options(sentinel=False).attention_dim
    128
    """

    attention_dim: int = 128
    """Hidden features of the score."""

    sentinel: bool = True
    """Attend to a visual sentinel beside the image: features of the LSTM's memory.

    --no-sentinel is spatial attention."""

    def __post_init__(self) -> None:
        """Reject invalid options by the names that a user types."""
        super().__post_init__()
        in_ranges(self, (("attention_dim", 1, 1 << 20),))


_DEFAULT = Options()


class SentinelAttention(Attention):
    r"""Additive attention to a memory and to a sentinel per query.

    .. math::
        z_i &= w^\top \tanh(W_v v_i + W_g h) \qquad z_s = w^\top \tanh(W_s s + W_g h) \\
        [\hat\alpha; \beta] &= \operatorname{softmax}([z; z_s]) \qquad
        \hat c = \beta s + \textstyle\sum_i \hat\alpha_i v_i

    for cells v, a query h and its sentinel s. One call reads the memory. The sentinel's weight needs only the
    log-sum-exp of the cells' scores beside it.

    Args:
        dim: features of queries, sentinels and cells.
        hidden_dim: hidden features of the score.

    Example:
        >>> attention = SentinelAttention(6, 4)
        >>> memory, query = attention.remember(torch.randn(2, 5, 6)), torch.randn(2, 3, 6)
        >>> output, aux = attention(query, query, memory=memory, aux=AuxRequest(weights=True))
        >>> output.shape, aux.weights.shape, torch.allclose(aux.weights.sum(-1), torch.ones(2, 3))
        (torch.Size([2, 3, 6]), torch.Size([2, 3, 6]), True)

    Source:
        Lu et al. 2017, Eq. 6 to 12.
    """

    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__(dim, hidden_dim=hidden_dim, score="additive")
        self.sentinel_projection = nn.Linear(dim, hidden_dim, bias=False)

    def forward(  # type: ignore[override]
        self, query: Tensor, sentinel: Tensor, *, memory: Memory, aux: AuxRequest | None = None
    ) -> Any:
        """Attend from each query to the memory and to its sentinel.

        Args:
            query: `(batch, queries, dim)`.
            sentinel: one per query, `(batch, queries, dim)`.
            memory: the result of `remember`.
            aux: a request for weights alone. The sentinel's weight is the last column, behind the cells.

        Returns:
            `(batch, queries, dim)`. With aux a pair of it and an `AuxOutput`.

        Raises:
            ArgumentError: if aux requests anything but weights.
        """
        if aux is not None and aux != AuxRequest(weights=aux.weights):
            raise ArgumentError(f"expected weights alone with a sentinel, got {aux}", "aux")
        weights, projected = aux is not None and aux.weights, self.query_projection(query)
        cells, statistics = memory.read(projected, aux=AuxRequest(lse=True, weights=weights))
        logit = self.score.get()(projected[..., None, :], self.sentinel_projection(sentinel)[..., None, :])
        share = torch.sigmoid(logit[..., 0].to(statistics.lse.dtype) - statistics.lse[..., None])
        output = torch.lerp(cells, sentinel.to(cells.dtype), share.to(cells.dtype))
        if aux is None:
            return output
        both = torch.cat([statistics.weights * (1 - share), share], -1) if weights else None
        return output, AuxOutput(weights=both)


class AdaptiveAttention(Seq2Seq[Visual, State]):
    r"""An LSTM over words, and attention to image cells and a sentinel.

    .. math::
        x_t &= [E y_t;\, g] \qquad h_t, m_t = \operatorname{LSTM}(x_t, h_{t-1}, m_{t-1}) \qquad
        s_t = \sigma(W_x x_t + W_h h_{t-1}) \odot \tanh(m_t) \\
        \hat c_t &= \beta_t s_t + (1 - \beta_t) \textstyle\sum_i \alpha_{ti} v_i \qquad
        p(y_{t+1}) = \operatorname{softmax}\big(W_p (\hat c_t + h_t) + b\big)

    for cells \(v_i = \operatorname{relu}(W_a a_i)\) and the mean \(g = \operatorname{relu}(W_b
    \operatorname{norm}(\tfrac{1}{n} \sum_i a_i))\), which is standardized over the batch in training. Weights
    \(\alpha\) and \(\beta\) are `SentinelAttention`'s. The context
    \(\hat c_t\) does not enter the next state: the LSTM runs over all words first, then all states attend at once. The
    query of the next word is the state after the current word. In Xu et al. 2015 it is the state before it.

    Args:
        encoder: a `saccade.models.image_encoder.ImageEncoder` or `FeatureEncoder`.
        target_size: size of the vocabulary. Token 0 is padding.
        options: the sizes.

    Example:
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> options = Options(widths="4,8", cell_dim=6, hidden_dim=5, embedding_dim=4)
        >>> model = AdaptiveAttention(ImageEncoder(3, options), 9, options)
        >>> model(Visual(torch.rand(2, 3, 32, 32)), torch.randint(4, 9, (2, 7))).shape
        torch.Size([2, 7, 9])

    Source:
        Lu et al. 2017, Eq. 5 to 16; differences are listed in docs/caption.md.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES

    def __init__(self, encoder: nn.Module, target_size: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        hidden, dim, cell_dim = options.hidden_dim, options.embedding_dim, options.cell_dim
        self.hidden_dim = hidden
        self.image_encoder, self.embedding = encoder, nn.Embedding(target_size, dim, padding_idx=0)
        self.cell_proj, self.mean_proj = nn.Linear(cell_dim, hidden), nn.Linear(cell_dim, dim)
        self.norm = Standardized(cell_dim)
        gates = 5 if options.sentinel else 4  # the sentinel's is the last
        self.input_proj, self.image_proj = nn.Linear(dim, gates * hidden), nn.Linear(dim, gates * hidden, bias=False)
        self.hidden_proj = nn.Linear(hidden, 4 * hidden)
        self.sentinel_proj = nn.Linear(hidden, hidden, bias=False) if options.sentinel else None
        kind = SentinelAttention if options.sentinel else Attention
        self.attention = kind(hidden, hidden_dim=options.attention_dim)
        self.words = nn.Linear(hidden, target_size)
        self.dropout = LockedDropout(options.dropout)

    @property
    def output(self) -> nn.Module:
        return self.words

    def encode(self, source: Visual) -> State:
        cells = self.image_encoder(source.images())
        mean = F.relu(self.mean_proj(self.norm(cells.mean()[:, None])[:, 0]))
        mask = None if cells.lengths is None else masks.Lengths(cells.lengths)
        memory = self.attention.remember(F.relu(self.cell_proj(cells.values)), mask=mask)
        nothing = mean.new_zeros(len(mean), 1, self.hidden_dim)
        return texts_of(State(nothing, nothing, memory, self.image_proj(mean)), source)

    def step(self, token: Tensor, state: State) -> tuple[Logits | Tensor, State]:
        features, state = self._decode(token[:, None], state)
        return logits(features[:, 0], self.output), state

    def decode(self, target: Tensor, state: State) -> Tensor:
        return self._decode(target, state)[0]

    def alignment(self, records: Sequence[tuple[str, AuxOutput]]) -> Tensor | None:
        r"""Return the weights of the cells, one row per word. Rows sum to \(1 - \beta\)."""
        [(_, aux)] = records
        return aux.weights if aux.weights is None or self.sentinel_proj is None else aux.weights[..., :-1]

    def _decode(self, target: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the features `(rows, length, hidden_dim)` of the next tokens."""
        (hidden, cell), memory = state.rows(), state.memory
        assert memory is not None
        assert state.image is not None
        size = hidden.shape[1]
        inputs = self.input_proj(self.dropout(self.embedding(target))) + picked(state.image, state)[:, None]
        advance, hiddens, remembered = lstm_of(self.hidden_proj), [hidden], list[Tensor]()
        for gates in inputs[..., : 4 * size].unbind(1):
            hidden, cell = advance(gates, hidden, cell)
            hiddens.append(hidden)
            remembered.append(cell)
        states = torch.stack(hiddens[1:], 1)
        query = states.reshape(len(memory.key), -1, size)  # outputs of an example lie side by side and read one memory
        if self.sentinel_proj is None:
            context = self.attention(query, memory=memory)
        else:
            gate = torch.sigmoid(inputs[..., 4 * size :] + self.sentinel_proj(torch.stack(hiddens[:-1], 1)))
            sentinel = gate * torch.tanh(torch.stack(remembered, 1))
            context = self.attention(query, sentinel.reshape(query.shape), memory=memory)
        return self.dropout(context.reshape(states.shape) + states), state.after(hidden, cell)
