"""What every classifier of sentences is: words come in with their lengths, the logits of classes go out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from saccade import AuxOutput, masks
from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.models.checks import below_one
from saccade.models.padded import Padded
from saccade.models.recurrent import LockedDropout
from saccade.nn import AttentionPool

__all__ = ["Classifier", "Options", "Pool", "Pooled", "Words"]

_DIM = 100  # of word vectors if nothing is said
_UNKNOWN = 3  # the id of every word that is not known
_WIDEST, _MOST_QUERIES = 1_000_000, 10_000


@dataclass(frozen=True, kw_only=True)
class Options:
    """What every classifier of sentences has.

    >>> Options(word_dropout=0.3).dim
    100
    """

    embedding_dim: int | None = None
    """Features of the word vectors. Default: 100, or those of --vectors."""

    dropout: float = 0.5
    """Dropout of word vectors, the same for a whole text, and of the input of the classifier."""

    word_dropout: float = 0.1
    """Probability that a training word is replaced by the unknown word."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        if self.embedding_dim is not None:
            in_ranges(self, (("embedding_dim", 1, _WIDEST),))
        below_one(self, "dropout", "word_dropout")

    @property
    def dim(self) -> int:
        """Features of a word's vector."""
        return _DIM if self.embedding_dim is None else self.embedding_dim


@dataclass(frozen=True, kw_only=True)
class Pool:
    """How a sequence is pooled by learned queries.

    >>> Pool(queries=4).score
    'additive'
    """

    score: Literal["additive", "dot"] = "additive"
    """Score of positions for a learned query: an MLP (additive) or a dot product."""

    queries: int = 1
    """Learned queries that pool the text. Their outputs are concatenated."""

    def __post_init__(self) -> None:
        """Refuse what means nothing, naming the option as it is typed."""
        if self.score not in ("additive", "dot"):
            raise ArgumentError(f"--score: expected additive or dot, got {self.score}")
        in_ranges(self, (("queries", 1, _MOST_QUERIES),))


class Words(nn.Module):
    """Word vectors, of which training drops words and features.

    A dropped word is an unknown one, so that the vector of the unknown is learned too. A feature is dropped in all
    words of a text or in none.

    Args:
        size: number of words, from 0 (padding) on.
        options: dimensions and probabilities.

    Source:
        Iyyer et al. 2015, "Deep Unordered Composition Rivals Syntactic Methods for Text Classification", section 3.1
        (https://aclanthology.org/P15-1162), which leaves words out instead; Gal, Ghahramani 2016 (`LockedDropout`).

    Example:
        >>> Words(7, Options(embedding_dim=4))(torch.tensor([[4, 5, 0]])).shape
        torch.Size([1, 3, 4])
    """

    def __init__(self, size: int, options: Options) -> None:
        super().__init__()
        self.embedding = nn.Embedding(size, options.dim, padding_idx=0)
        with torch.no_grad():
            self.embedding.weight.normal_(0, 0.1)[0] = 0
        self.word_dropout, self.dropout = options.word_dropout, LockedDropout(options.dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the vectors `(batch, length, embedding_dim)` of words `(batch, length)`."""
        if self.training and self.word_dropout:
            dropped = torch.rand(tokens.shape, device=tokens.device) < self.word_dropout
            tokens = tokens.masked_fill(dropped & (tokens > 0), _UNKNOWN)
        found: Tensor = self.dropout(self.embedding(tokens))
        return found


class Classifier(nn.Module, ABC):
    r"""The shape of a classifier, which training, answers and pictures rely on and nothing else.

    .. math:: p(c \mid w_1 \ldots w_n) = \operatorname{softmax}_c\big(f(w_1 \ldots w_n)\big)

    Example:
        >>> from saccade.models.bag import Bag
        >>> model = Bag(11, 2).eval()
        >>> model(Padded(torch.tensor([[4, 5, 6]]), torch.tensor([3]))).softmax(-1).shape
        torch.Size([1, 2])
    """

    Options: ClassVar[Any]
    """The dataclass of its sizes; its docstrings are the help."""

    recipes: ClassVar[dict[str, dict[str, Any]]]
    """What suits each data set, by its name; "files" for texts of one's own."""

    words: Words

    @abstractmethod
    def forward(self, source: Padded) -> Tensor:
        """Return the logits of classes.

        Args:
            source: ids of words `(batch, length)`; what padding holds changes nothing.

        Returns:
            `(batch, classes)`.
        """

    def name_words(self, words: Sequence[str]) -> None:
        """Take note of how words are written, lower-cased, from id 4 on, before anything is learned: most models know
        ids alone.
        """
        return

    def pooled(self, records: Sequence[tuple[str, AuxOutput]], source: Padded) -> Tensor | None:
        """Return how much each learned query took of each word, `(batch, queries, length)`; None without attention.

        Args:
            records: of `saccade.look.record`, of a `forward` in evaluation mode.
            source: what was read.
        """
        found = [aux.weights for name, aux in records if name.endswith("pool")]
        return found[-1] if found else None

    def layers_attended(self, records: Sequence[tuple[str, AuxOutput]]) -> list[Tensor]:
        """Return what words attended to in each layer of self-attention, `(batch, heads, length, length)`, a row for
        each word that attends; none where there are no such layers.

        Args:
            records: as for `pooled`.
        """
        return []

    def levels(self, records: Sequence[tuple[str, AuxOutput]], source: Padded) -> tuple[Tensor, Tensor] | None:
        """Return the weight of each word in its sentence, and of its sentence in the text, the mean of all queries,
        `(batch, length)` each, where sentences are attended to; else None.

        Args:
            records: as for `pooled`.
            source: what was read.
        """
        return None

    def shares(self, tokens: Tensor, label: int) -> Tensor | None:
        """Return what each word added to the logit of a class over the mean of the others', `(length,)`, where logits
        are a sum over words; else None.

        Args:
            tokens: ids of words `(length,)`.
            label: the number of the class.
        """
        return None


class Pooled(Classifier):
    r"""A classifier whose features of positions are pooled by learned queries.

    .. math::
        o_n = \sum_j \operatorname{softmax}_j\big(\operatorname{score}(q_n, h_j)\big)\, h_j \qquad
        f = W [o_1; \ldots; o_N] + b

    A subclass says what the features \(h_j\) are.

    Args:
        size: number of words, from 0 (padding) on.
        classes: number of classes.
        dim: features of a position.
        options: of words.
        pool: how positions are pooled.
        hidden_dim: features of the score's MLP, or of the product; None for those of a position.

    Source:
        Yang et al. 2016, "Hierarchical Attention Networks for Document Classification", Eq. 5 to 7
        (https://aclanthology.org/N16-1174); Lin et al. 2017, "A Structured Self-attentive Sentence Embedding", Eq. 5
        to 7 (https://arxiv.org/abs/1703.03130), for several queries, which are vectors v_n there and offsets q_n within
        the tangent here; the penalty of its Eq. 8 is left out.

    Example:
        >>> from saccade.models.fixed import Fixed, Options
        >>> model = Fixed(11, 2, Options(embedding_dim=4))
        >>> model.features(Padded(torch.tensor([[4, 5, 6]]), torch.tensor([3]))).shape
        torch.Size([1, 3, 4])
    """

    def __init__(
        self, size: int, classes: int, dim: int, options: Options, pool: Pool, hidden_dim: int | None = None
    ) -> None:
        super().__init__()
        self.words = Words(size, options)
        self.pool = AttentionPool(dim, num_queries=pool.queries, hidden_dim=hidden_dim, score=pool.score)
        self.dropout = LockedDropout(options.dropout)
        self.output = nn.Linear(pool.queries * dim, classes)

    @abstractmethod
    def features(self, source: Padded) -> Tensor:
        """Return the features of positions.

        Args:
            source: as for `forward`.

        Returns:
            `(batch, length, dim)`.
        """

    def forward(self, source: Padded) -> Tensor:
        found = self.pool(self.features(source), mask=masks.Lengths(source.lengths))
        logits: Tensor = self.output(self.dropout(found.flatten(1)))
        return logits
