"""A bidirectional GRU with attention pooling (Zhou et al. 2016; Yang et al. 2016).

"Attention-Based Bidirectional Long Short-Term Memory Networks for Relation Classification",
https://aclanthology.org/P16-2034.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from torch import Tensor

from saccade.models import classifier
from saccade.models.checks import even
from saccade.models.classifier import Pool, Pooled
from saccade.models.padded import Padded
from saccade.models.recurrent import Encoder

__all__ = ["Options", "RNNAttention"]


@dataclass(frozen=True, kw_only=True)
class Options(classifier.Options, Pool):
    """The sizes of a recurrent classifier.

    >>> Options(hidden_dim=64).score
    'additive'
    """

    hidden_dim: int = 128
    """Units of both directions together. It must be even."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        classifier.Options.__post_init__(self)
        Pool.__post_init__(self)
        even(self, "hidden_dim")


_DEFAULT = Options()


class RNNAttention(Pooled):
    r"""Classifier by attention pooling over the states of a bidirectional GRU.

    .. math:: h_j = [\overrightarrow{\operatorname{GRU}}(E w_j); \overleftarrow{\operatorname{GRU}}(E w_j)]

    The pooled features are \(\sum_j \operatorname{softmax}_j(v^\top \tanh(W h_j + q))\, h_j\). Yang et al. use a GRU
    and this score. Zhou et al. use an LSTM, add its directions, score by \(w^\top \tanh(h_j)\) and apply tanh to the
    pooled features (Eq. 8 to 12).

    Args:
        size: size of the vocabulary, with padding (id 0).
        classes: number of classes.
        options: the sizes.

    Example:
        >>> import torch
        >>> model = RNNAttention(11, 3, Options(embedding_dim=4, hidden_dim=6))
        >>> model(Padded(torch.tensor([[4, 5, 6], [7, 0, 0]]), torch.tensor([3, 1]))).shape
        torch.Size([2, 3])

    Source:
        Zhou et al. 2016, section 3. Yang et al. 2016, Eq. 1 to 7 (https://aclanthology.org/N16-1174).
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "reviews": {"hidden_dim": 32, "learning_rate": 1e-2},
        "files": {},
    }

    def __init__(self, size: int, classes: int, options: Options = _DEFAULT) -> None:
        super().__init__(size, classes, options.hidden_dim, options, options)
        self.encoder = Encoder(options.dim, options.hidden_dim)

    def features(self, source: Padded) -> Tensor:
        states: Tensor = self.encoder(self.words(source.values), source.lengths)
        return states
