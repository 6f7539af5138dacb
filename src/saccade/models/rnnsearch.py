"""RNNsearch: GRU encoder-decoder with additive attention (Bahdanau et al. 2015).

Bahdanau, Cho, Bengio, "Neural Machine Translation by Jointly Learning to Align and Translate",
https://arxiv.org/abs/1409.0473.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

import torch
from torch import Tensor, nn

from saccade import masks
from saccade.errors import ArgumentError
from saccade.kernels.topk import Logits
from saccade.memory import Memory
from saccade.models import hard, recurrent
from saccade.models.padded import Padded
from saccade.models.recurrent import RECIPES, Decoder, Encoder, LockedDropout
from saccade.models.reinforce import Reinforce, Samples
from saccade.models.renames import renamed
from saccade.models.words import embeddings
from saccade.nn import Attention

__all__ = ["Options", "RNNSearch", "State"]


@dataclass(frozen=True, kw_only=True)
class Options(recurrent.Options, hard.TextOptions):
    """The sizes of RNNsearch, and its read.

    >>> Options(hidden_dim=64).read
    'soft'
    """

    query: Literal["after", "before"] = field(default="after", metadata={"before": "after"})
    """Decoder state that reads the source: after the last token is read, or
    before it (the paper, equation 6)."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        recurrent.Options.__post_init__(self)
        hard.TextOptions.__post_init__(self)
        if self.query not in ("after", "before"):
            raise ArgumentError(f"--query: expected after or before, got {self.query}")


_DEFAULT = Options()


@dataclass(frozen=True)
class State:
    """State of the decoder.

    Args:
        hidden: of every partial output, `(examples, beam, hidden_dim)`.
        memory: the prepared keys of each example, shared by its outputs.

    Example:
        >>> model = RNNSearch(9, 7, Options(hidden_dim=4, embedding_dim=3))
        >>> state = model.encode(Padded(torch.tensor([[4, 5], [6, 0]]), torch.tensor([2, 1])))
        >>> state.select(torch.tensor([[0, 0], [1, 1]]), None).hidden.shape
        torch.Size([2, 2, 4])
    """

    hidden: Tensor
    memory: Memory

    def select(self, rows: Tensor, examples: Tensor | None) -> "State":
        """Return the state of rows `(examples, beam)`, of all examples or some."""
        memory = self.memory if examples is None else self.memory.select(examples)
        return State(self.hidden.flatten(0, 1)[rows], memory)


class RNNSearch(hard.Reader[Padded, State]):
    r"""Bidirectional GRU encoder, and conditional GRU decoder with additive attention.

    .. math::
        h_j &= [\overrightarrow{h}_j; \overleftarrow{h}_j] \qquad
        s_0 = \tanh\big(W_s \tfrac{1}{n} \textstyle\sum_j h_j\big) \\
        c_i &= \sum_j \operatorname{softmax}_j\big(v_a^\top \tanh(W_a s'_i + U_a h_j)\big)\, h_j

    `saccade.models.recurrent.Decoder` computes the state \(s'_i\), and the output from \(c_i\). With `query="before"`
    the query is the paper's \(s_{i-1}\). The keys \(U_a h_j\) are
    computed once per sentence.

    Args:
        source_size: size of the source vocabulary, with padding (id 0).
        target_size: size of the target vocabulary.
        options: the sizes.
        joint: whether both sides share one vocabulary and its embedding.

    Example:
        >>> model = RNNSearch(11, 7, Options(hidden_dim=8, embedding_dim=4))
        >>> source = Padded(torch.randint(4, 11, (2, 5)), torch.tensor([5, 3]))
        >>> model(source, torch.randint(4, 7, (2, 6))).shape
        torch.Size([2, 6, 7])

    Source:
        Bahdanau, Cho, Bengio 2015, Eq. 5, 6 and appendix A. docs/models.md lists the differences.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = RECIPES
    attention: Attention

    def __init__(self, source_size: int, target_size: int, options: Options = _DEFAULT, joint: bool = False) -> None:
        super().__init__()
        hidden, dim = options.hidden_dim, options.embedding_dim
        self.source_embedding, target = embeddings(source_size, target_size, dim, joint=joint)
        self.encoder = Encoder(dim, hidden)
        self.bridge = nn.Linear(hidden, hidden)  # W_s of s_0, appendix A.2.2
        # The alignment model a of section 3.1 and appendix A.1.2: query_projection is W_a, key_projection is U_a, and
        # the vector of the score is v_a.
        self.attention = Attention(
            hidden, hidden, hidden_dim=hidden, score="additive", **hard.attention_options(options)
        )
        self.reinforce = Reinforce(options, hidden) if options.read == "reinforce" else None
        self.decoder = Decoder(target, hidden, hidden, options.dropout, options.query)
        self.dropout = LockedDropout(options.dropout)
        renamed(self, {"writer": "decoder"})

    @property
    def output(self) -> tuple[Tensor, Tensor]:
        return self.decoder.embedding.weight, self.decoder.bias

    def encode(self, source: Padded) -> State:
        embedded = self.dropout(self.source_embedding(source.values))
        annotations = self.dropout(self.encoder(embedded, source.lengths))  # h_j of section 3.2
        mean = (annotations * source.within[..., None]).sum(1) / source.lengths[:, None]
        memory = self.attention.remember(annotations, mask=masks.Lengths(source.lengths))  # U_a h_j, appendix A.1.2
        # s_0 = tanh(W_s ·) of appendix A.2.2, where the paper has the first state of the backward direction.
        return State(torch.tanh(self.bridge(mean))[:, None], memory)

    def step(self, token: Tensor, state: State) -> tuple[Logits, State]:
        hidden = state.hidden.flatten(0, 1)
        logits, hidden = self.decoder.step(token, hidden, self._reader(state))
        return logits, State(hidden.view(state.hidden.shape), state.memory)

    def decode(self, target: Tensor, state: State, samples: Samples | None = None) -> Tensor:
        features: Tensor = self.decoder(target, state.hidden.flatten(0, 1), self._reader(state, samples))
        return features

    def _reader(self, state: State, samples: Samples | None = None) -> recurrent.Read:
        """Return the function that reads contexts c `(rows, hidden_dim)`."""

        def read(query: Tensor) -> Tensor:
            # e_ij = v_a · tanh(W_a s + U_a h_j), appendix A.1.2; α_ij, Eq. 6; c_i = Σ_j α_ij h_j, Eq. 5
            return hard.attended(self.attention, query[:, None], state.memory, samples)[:, 0]

        return read
