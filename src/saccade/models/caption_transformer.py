"""A Transformer with an image encoder: each word attends to the whole image.

Vaswani et al. 2017, "Attention Is All You Need", https://arxiv.org/abs/1706.03762, with an image in the source's place
as in Cornia et al. 2020, "Meshed-Memory Transformer for Image Captioning", https://arxiv.org/abs/1912.08226.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from torch import nn

from saccade import masks
from saccade.models import image_encoder, layers
from saccade.models.captioning import RECIPES, texts_of
from saccade.models.image_encoder import Visual
from saccade.models.transformer import State, Transformer

__all__ = ["CaptionTransformer", "Options"]


@dataclass(frozen=True, kw_only=True)
class Options(image_encoder.Options, layers.Options):
    """The sizes of the image encoder and of the Transformer.

    >>> Options(layers=2).hidden_dim
    128
    """

    hidden_dim: int = 128
    """Features of each position, a multiple of the heads."""

    layers: int = 2
    """Layers of the encoder, and of the decoder."""

    feedforward_dim: int = 512
    """Hidden features of the feed-forward networks."""

    positions: Literal["sinusoidal", "none"] = "sinusoidal"
    """Position encoding of words: sinusoidal or none. Cells always have one."""

    dropout: float = 0.1
    """Dropout of cells, embeddings and the output of each sublayer."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        image_encoder.Options.__post_init__(self)
        layers.Options.__post_init__(self)


_DEFAULT = Options()


class CaptionTransformer(Transformer):
    r"""`saccade.models.transformer.Transformer` with image cells as its source.

    .. math:: x_i = W a_i + b

    for cells a, which contain a position code. The inputs x replace the word embeddings of the source.

    Args:
        encoder: a `saccade.models.image_encoder.ImageEncoder` or `FeatureEncoder`.
        target_size: size of the vocabulary. Token 0 is padding.
        options: the sizes.

    Example:
        >>> import torch
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> options = Options(widths="4,8", cell_dim=6, hidden_dim=8, heads=2, layers=1, feedforward_dim=16)
        >>> model = CaptionTransformer(ImageEncoder(3, options), 9, options)
        >>> model(Visual(torch.rand(2, 3, 32, 32)), torch.randint(4, 9, (2, 7))).shape
        torch.Size([2, 7, 9])

    Source:
        Vaswani et al. 2017, section 3; differences are listed in docs/caption.md.
    """

    Options: TypeAlias = Options
    recipes: ClassVar[dict[str, dict[str, Any]]] = {
        "scenes": {**RECIPES["scenes"], "learning_rate": 1e-3, "dropout": 0.0},
        "scenes-questions": {**RECIPES["scenes"], "learning_rate": 1e-3, "dropout": 0.0},
        "files": {**RECIPES["files"], "hidden_dim": 256, "learning_rate": 5e-4},
    }

    def __init__(self, encoder: nn.Module, target_size: int, options: Options = _DEFAULT) -> None:
        super().__init__(1, target_size, options)
        del self.source_embedding  # the source has no tokens
        self.image_encoder, self.cell_proj = encoder, nn.Linear(options.cell_dim, options.hidden_dim)

    def encode(self, source: Visual) -> State:
        cells = self.image_encoder(source.images())
        within = None if cells.lengths is None else masks.Lengths(cells.lengths[:, None])
        return texts_of(self.begin(self.cell_proj(cells.values), within), source)
