"""Base classes, options and word vectors of text classifiers."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import AuxOutput, masks
from saccade._definitions.checks import in_ranges
from saccade.errors import ArgumentError
from saccade.models.checks import below_one
from saccade.models.padded import Padded
from saccade.models.recurrent import LockedDropout
from saccade.models.word_prior import Coefficients, WordPrior
from saccade.nn import AttentionPool

__all__ = ["Classifier", "Options", "Pool", "Pooled", "Words", "at_least_float32", "contrast"]

_DIM = 100  # of word vectors by default
_UNKNOWN = 3  # id of the unknown word
_PRIOR_DROPOUT = 0.5  # share of training texts that the model must classify without the prior
_WIDEST, _MOST_QUERIES = 1_000_000, 10_000


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of every text classifier.

    >>> Options(word_dropout=0.3).dim
    100
    """

    embedding_dim: int | None = None
    """Features of the word vectors. Default: 100, or those of --vectors."""

    dropout: float = 0.5
    """Dropout of word vectors, with one mask per text, and of the classifier's input."""

    word_dropout: float = 0.1
    """Probability that a training word is replaced by the unknown word."""

    prior: Literal["none", "tfidf"] = "none"
    """Logits to add: none, or those of logistic regression on TF-IDF (tfidf).

    It is fitted before the first step and stays as it is."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        if self.prior not in ("none", "tfidf"):
            raise ArgumentError(f"--prior: expected none or tfidf, got {self.prior}")
        if self.embedding_dim is not None:
            in_ranges(self, (("embedding_dim", 1, _WIDEST),))
        below_one(self, "dropout", "word_dropout")

    @property
    def dim(self) -> int:
        """Features of a word vector."""
        return _DIM if self.embedding_dim is None else self.embedding_dim


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Pooling of a sequence by learned queries.

    >>> Pool(queries=4).score
    'additive'
    """

    score: Literal["additive", "dot"] = "additive"
    """Score of positions for a learned query: an MLP (additive) or a dot product."""

    queries: int = 1
    """Learned queries that pool the text. Their outputs are concatenated."""

    own_projections: bool = field(default=False, metadata={"before": False})
    """Learn an MLP for each query. Without this option queries share one."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        if self.score not in ("additive", "dot"):
            raise ArgumentError(f"--score: expected additive or dot, got {self.score}")
        in_ranges(self, (("queries", 1, _MOST_QUERIES),))
        if self.own_projections and (self.score != "additive" or self.queries == 1):
            got = f"{self.score} and {self.queries}"
            raise ArgumentError(
                f"--own-projections: expected only with --score additive and --queries above 1, got {got}"
            )

    def make_pool(self, dim: int, hidden_dim: int | None = None) -> AttentionPool:
        """Return the pooling of features `(batch, length, dim)`."""
        return AttentionPool(
            dim,
            num_queries=self.queries,
            hidden_dim=hidden_dim,
            own_projections=self.own_projections,
            score=self.score,
        )


class Words(nn.Module):
    """Word vectors with dropout of words and of features.

    The unknown word replaces a dropped word, so its vector is learned too. A feature is dropped in all words of a text
    or in none.

    Args:
        size: size of the vocabulary. Word 0 is padding.
        options: features, and probabilities of dropout.

    Source:
        Iyyer et al. 2015, "Deep Unordered Composition Rivals Syntactic Methods for Text Classification", section 3.1
        (https://aclanthology.org/P15-1162), for dropped words, which it leaves out of the text. Gal, Ghahramani 2016
        for dropped features (`LockedDropout`).

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
        vectors: Tensor = self.dropout(self.embedding(tokens))
        return vectors


class Classifier(nn.Module, ABC):
    r"""Interface of text classifiers for training, prediction and pictures.

    .. math:: p(c \mid w_1 \ldots w_n) = \operatorname{softmax}_c\big(f(w_1 \ldots w_n)\big)

    Example:
        >>> from saccade.models.bag import Bag
        >>> model = Bag(11, 2).eval()
        >>> model(Padded(torch.tensor([[4, 5, 6]]), torch.tensor([3]))).softmax(-1).shape
        torch.Size([1, 2])
    """

    Options: ClassVar[Any]
    """Dataclass of the options. The docstrings of its fields are the help texts."""

    recipes: ClassVar[dict[str, dict[str, Any]]]
    """Recipes by data set, with "files" for your own texts."""

    unexported: ClassVar[str] = ""
    """Reason why `saccade export` rejects the model, if any."""

    hard: bool = False
    """Whether each head of a word's self-attention takes the value of one word."""

    words: Words
    output: nn.Linear

    def __init__(self) -> None:
        super().__init__()
        self.prior: WordPrior | None = None

    @property
    def is_fitted(self) -> bool:
        """Whether the model is useful before its first step."""
        return self.prior is not None

    @abstractmethod
    def forward(self, source: Padded) -> Tensor:
        """Return the logits of classes.

        Args:
            source: word ids `(batch, length)`. Values in padding are ignored.

        Returns:
            `(batch, classes)`.
        """

    def cost(self, source: Padded, labels: Tensor, label_smoothing: float = 0.0) -> Tensor:
        """Return the training loss, the mean cross-entropy of the labels.

        Args:
            source: as for `forward`.
            labels: numbers of the classes, `(batch,)`.
            label_smoothing: as in `torch.nn.functional.cross_entropy`.
        """
        return F.cross_entropy(at_least_float32(self(source)), labels, label_smoothing=label_smoothing)

    def name_words(self, words: Sequence[str]) -> None:
        """Receive the lower-cased words of the vocabulary, from id 4 on, before training.

        Most models need ids alone and ignore them.
        """
        return

    def start_from(self, coefficients: Coefficients) -> None:
        """Add the logits of a logistic regression.

        Those of the model, which has a linear layer `output`, become 0.
        """
        self.prior = WordPrior(coefficients, _PRIOR_DROPOUT)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def with_prior(self, logits: Tensor, source: Padded) -> Tensor:
        """Return bounded logits of the model plus those of the regression, if any."""
        return logits if self.prior is None else self.prior.bounded(logits) + self.prior(source)

    @property
    def is_start(self) -> bool:
        """Whether the model is its fitted start alone: its network adds 0 to every logit."""
        return self.prior is not None and not any(bool(part.any()) for part in self.output.parameters())

    def pooled(self, records: Sequence[tuple[str, AuxOutput]], source: Padded) -> Tensor | None:
        """Return the weights of the pooling `(batch, queries, length)`, or None.

        Args:
            records: the result of `saccade.look.record` for a `forward` in evaluation mode.
            source: the texts of that `forward`.
        """
        weights = [aux.weights for name, aux in records if name.endswith("pool")]
        return weights[-1] if weights else None

    def layers_attended(self, records: Sequence[tuple[str, AuxOutput]]) -> list[Tensor]:
        """Return the weights of each self-attention layer, if the model has any.

        They have the shape `(batch, heads, length, length)`, one row per query word.

        Args:
            records: as for `pooled`.
        """
        return []

    def levels(self, records: Sequence[tuple[str, AuxOutput]], source: Padded) -> tuple[Tensor, Tensor] | None:
        """Return the weight of each word in its sentence, and of the sentence.

        Both are `(batch, length)`, the mean of all queries. None for models without attention to sentences.

        Args:
            records: as for `pooled`.
            source: the texts of that `forward`.
        """
        return None

    def shares(self, tokens: Tensor, label: int) -> Tensor | None:
        """Return the share of each word in a logit less the mean of the other logits.

        It is `(length,)` for models whose logits are sums over words, as those of a fitted start are, and None for
        other models.

        Args:
            tokens: word ids `(length,)`.
            label: number of the class.
        """
        return contrast(self.prior.contributions(tokens), label) if self.prior is not None and self.is_start else None


def contrast(logits: Tensor, label: int) -> Tensor:
    """Return a logit less the mean of the others, of logits `(..., classes)`.

    >>> contrast(torch.tensor([[3.0, 1.0, 2.0]]), 0)
    tensor([1.5000])
    """
    chosen = logits[..., label]
    return chosen - (logits.sum(-1) - chosen) / (logits.shape[-1] - 1)


def at_least_float32(logits: Tensor) -> Tensor:
    """Return logits in float32 or float64, for a loss.

    >>> at_least_float32(torch.zeros(2, dtype=torch.bfloat16)).dtype
    torch.float32
    """
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


class Pooled(Classifier):
    r"""Base class of classifiers with attention pooling by learned queries.

    .. math::
        o_n = \sum_j \operatorname{softmax}_j\big(\operatorname{score}(q_n, h_j)\big)\, h_j \qquad
        f = W [o_1; \ldots; o_N] + b

    A subclass computes the features \(h_j\) of the positions.

    Args:
        size: size of the vocabulary. Word 0 is padding.
        classes: number of classes.
        dim: features of a position.
        options: options of the word vectors.
        pool: options of the pooling.
        hidden_dim: features of the score's MLP or dot product. None: `dim`.

    Source:
        Yang et al. 2016, "Hierarchical Attention Networks for Document Classification", Eq. 5 to 7
        (https://aclanthology.org/N16-1174). Lin et al. 2017, "A Structured Self-attentive Sentence Embedding", Eq. 5 to
        7 (https://arxiv.org/abs/1703.03130), for several queries. These are vectors v_n there and offsets q_n inside
        the tanh here. The penalty of Eq. 8 there is missing here.

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
        self.pool = pool.make_pool(dim, hidden_dim)
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
        return self.classify(self.features(source), source)

    def classify(self, features: Tensor, source: Padded) -> Tensor:
        """Return the logits of classes, `(batch, classes)`.

        Args:
            features: of the positions, `(batch, length, dim)`.
            source: as for `forward`.
        """
        outputs = self.pool(features, mask=masks.Lengths(source.lengths))
        return self.with_prior(self.output(self.dropout(outputs.flatten(1))), source)
