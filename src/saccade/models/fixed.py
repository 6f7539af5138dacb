"""Attention pooling of word vectors by learned queries (Yang et al. 2016).

"Hierarchical Attention Networks for Document Classification", https://aclanthology.org/N16-1174.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from torch import Tensor

from saccade._definitions.checks import in_ranges
from saccade.models import classifier
from saccade.models.classifier import Pool, Pooled
from saccade.models.padded import Padded

__all__ = ["Fixed", "Options"]


@dataclass(frozen=True, kw_only=True)
class Options(classifier.Options, Pool):
    """The sizes of a classifier with learned, fixed queries.

    >>> Options(score="dot").queries
    1
    """

    hidden_dim: int | None = None
    """Features of the projection of words before the score.

    Default: no projection for dot, the features of a word vector for additive."""

    def __post_init__(self) -> None:
        """Reject invalid options by the names that a user types."""
        classifier.Options.__post_init__(self)
        Pool.__post_init__(self)
        if self.hidden_dim is not None:
            in_ranges(self, (("hidden_dim", 1, 1_000_000),))


_DEFAULT = Options()


class Fixed(Pooled):
    r"""Attention pooling of word vectors by fixed queries, without word order.

    .. math::
        \text{additive: } \operatorname{score}(q, h) &= v^\top \tanh(W h + q) \qquad
        \text{dot: } \operatorname{score}(q, h) = q^\top h \\
        h_j &= E w_j

    The queries are learned, so a word has one score in all sentences. The paper's word attention has recurrent features
    h and compares \(\tanh(W h_j + b)\) with a learned vector. Here this vector is v, and b is the query.

    Args:
        size: size of the vocabulary. Word 0 is padding.
        classes: number of classes.
        options: the sizes.

    Example:
        >>> import torch
        >>> model = Fixed(11, 3, Options(embedding_dim=4, queries=2))
        >>> model(Padded(torch.tensor([[4, 5, 6], [7, 0, 0]]), torch.tensor([3, 1]))).shape
        torch.Size([2, 3])

    Source:
        Yang et al. 2016, Eq. 5 to 7. Lin et al. 2017, Eq. 5 to 7, for several queries, as in `Pooled`.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "reviews": {"learning_rate": 1e-2},
        "files": {},
    }

    def __init__(self, size: int, classes: int, options: Options = _DEFAULT) -> None:
        super().__init__(size, classes, options.dim, options, options, options.hidden_dim)

    def features(self, source: Padded) -> Tensor:
        vectors: Tensor = self.words(source.values)
        return vectors
