"""A label for each word, by layers of self-attention (Yan et al. 2019).

"TENER: Adapting Transformer Encoder for Named Entity Recognition", https://arxiv.org/abs/1911.04474.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from torch import Tensor, nn

from saccade import masks
from saccade.models import classifier, layers
from saccade.models.classifier import Words
from saccade.models.layers import add_positions, apply_layers, layers_of
from saccade.models.padded import Padded

__all__ = ["Options", "WordTagger"]


@dataclass(frozen=True, kw_only=True)
class Options(layers.Options, classifier.Options):
    """The sizes of a tagger.

    >>> Options(layers=1).heads
    4
    """

    def __post_init__(self) -> None:
        """Reject invalid options."""
        layers.Options.__post_init__(self)
        classifier.Options.__post_init__(self)


class WordTagger(nn.Module):
    r"""Tagger by layers of self-attention.

    .. math:: p(c_t \mid w) = \operatorname{softmax}(W h_t + b), \qquad h = \operatorname{Encoder}(P E w)

    P projects word vectors to the layers' width. The layers are those of `saccade.models.layers`.

    Args:
        size: size of the vocabulary. Word 0 is padding.
        classes: number of labels.
        options: the sizes.

    Example:
        >>> import torch
        >>> model = WordTagger(11, 3, Options(embedding_dim=4, hidden_dim=8, heads=2, feedforward_dim=16))
        >>> model(Padded(torch.tensor([[4, 5, 6], [7, 0, 0]]), torch.tensor([3, 1]))).shape
        torch.Size([4, 3])

    Source:
        Yan et al. 2019, section 3. docs/tag-words.md lists the differences.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "names": {"hidden_dim": 64, "layers": 1, "feedforward_dim": 128, "positions": "rotary"},
        "files": {"hidden_dim": 128, "layers": 2, "feedforward_dim": 256, "positions": "rotary", "dropout": 0.3},
    }

    def __init__(self, size: int, classes: int, options: Options) -> None:
        super().__init__()
        self.options, dim = options, options.hidden_dim
        self.words, self.projection = Words(size, options), nn.Linear(options.dim, dim)
        self.layers = layers_of(options, attends=False)
        self.norm = nn.LayerNorm(dim) if options.norm == "pre" else nn.Identity()
        self.output = nn.Linear(dim, classes)

    def forward(self, source: Padded) -> Tensor:
        """Return logits `(words, classes)` of all words, one text after another."""
        x = add_positions(self.projection(self.words(source.values)), 0, self.options)
        x = self.norm(apply_layers(self.layers, x, masks.Lengths(source.lengths[:, None]), self.options))
        logits: Tensor = self.output(x[source.within])
        return logits
