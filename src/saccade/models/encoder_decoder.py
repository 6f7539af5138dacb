"""RNN encoder-decoder without attention (Cho et al. 2014).

"Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine Translation",
https://arxiv.org/abs/1406.1078. One vector holds the whole source. Otherwise the model equals
`saccade.models.rnnsearch`, so a comparison of both shows the effect of attention.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import torch
from torch import Tensor, nn

from saccade.kernels.topk import Logits
from saccade.models.padded import Padded
from saccade.models.recurrent import RECIPES, Decoder, Encoder, LockedDropout, Options
from saccade.models.renames import renamed
from saccade.models.seq2seq import Seq2Seq
from saccade.models.words import embeddings

__all__ = ["EncoderDecoder", "State"]

_DEFAULT = Options()


@dataclass(frozen=True)
class State:
    """Decoder state: hidden state and source vector, both `(rows, hidden_dim)`.

    Example:
        >>> model = EncoderDecoder(9, 7, Options(hidden_dim=4, embedding_dim=3))
        >>> state = model.encode(Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1])))
        >>> state.select(torch.tensor([[0, 0], [1, 1]]), None).hidden.shape
        torch.Size([4, 4])
    """

    hidden: Tensor
    summary: Tensor

    def select(self, rows: Tensor, examples: Tensor | None) -> "State":
        """Select and reorder rows, as `saccade.models.seq2seq.State.select` does."""
        chosen = rows.flatten()
        return State(self.hidden[chosen], self.summary[chosen])


class EncoderDecoder(Seq2Seq[Padded, State]):
    r"""Bidirectional GRU encoder and conditional GRU decoder with a fixed context.

    .. math::
        c = [\overrightarrow{h}_n; \overleftarrow{h}_1] \qquad s_0 = \tanh(W_s c) \qquad c_i = c

    One context enters every step of `saccade.models.recurrent.Decoder`. A source of any length must fit into its
    `hidden_dim` numbers.

    Args:
        source_size: size of the source vocabulary. Token 0 is padding.
        target_size: size of the target vocabulary.
        options: the sizes.
        joint: whether both sides share one vocabulary and one embedding.

    Example:
        >>> model = EncoderDecoder(11, 7, Options(hidden_dim=8, embedding_dim=4))
        >>> source = Padded(torch.randint(4, 11, (2, 5)), torch.tensor([5, 3]))
        >>> model(source, torch.randint(4, 7, (2, 6))).shape
        torch.Size([2, 6, 7])

    Source:
        Cho et al. 2014, section 2.2. The bidirectional encoder is that of Bahdanau, Cho, Bengio 2015, section 3.2.
        docs/models.md lists further differences.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES

    def __init__(self, source_size: int, target_size: int, options: Options = _DEFAULT, joint: bool = False) -> None:
        super().__init__()
        hidden, dim = options.hidden_dim, options.embedding_dim
        self.source_embedding, target = embeddings(source_size, target_size, dim, joint=joint)
        self.encoder = Encoder(dim, hidden)
        self.bridge = nn.Linear(hidden, hidden)
        self.decoder = Decoder(target, hidden, hidden, options.dropout)
        self.dropout = LockedDropout(options.dropout)
        renamed(self, {"writer": "decoder"})

    @property
    def output(self) -> tuple[Tensor, Tensor]:
        return self.decoder.embedding.weight, self.decoder.bias

    def encode(self, source: Padded) -> State:
        annotations = self.encoder(self.dropout(self.source_embedding(source.values)), source.lengths)
        ahead, back = annotations.chunk(2, -1)
        rows = torch.arange(len(annotations), device=annotations.device)
        summary = self.dropout(torch.cat([ahead[rows, source.lengths - 1], back[:, 0]], -1))
        return State(torch.tanh(self.bridge(summary)), summary)

    def step(self, token: Tensor, state: State) -> tuple[Logits, State]:
        logits, hidden = self.decoder.step(token, state.hidden, lambda query: state.summary)
        return logits, State(hidden, state.summary)

    def decode(self, target: Tensor, state: State) -> Tensor:
        features: Tensor = self.decoder(target, state.hidden, lambda query: state.summary)
        return features
