"""Alignment of image regions and words (Karpathy, Fei-Fei 2015).

"Deep Visual-Semantic Alignments for Generating Image Descriptions", section 3.1, https://arxiv.org/abs/1412.2306.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade import masks
from saccade._definitions.checks import in_ranges
from saccade.auxiliary import AuxRequest
from saccade.errors import ShapeError
from saccade.models import image_encoder
from saccade.models.captioning import rnn_states
from saccade.models.image_encoder import Cells, Visual
from saccade.models.padded import Padded
from saccade.models.recurrent import at_positions, reversed_positions
from saccade.nn import Attention
from saccade.normalizers import Identity
from saccade.reads import Argmax

__all__ = ["Alignment", "Options", "RegionWords", "ranking_loss", "smoothed"]


@dataclass(frozen=True, kw_only=True)
class Options(image_encoder.Options):
    """The sizes of the image encoder and of the common space.

    >>> Options(hidden_dim=64).embedding_dim
    128
    """

    hidden_dim: int = 256
    """Features of a region and of a word."""

    embedding_dim: int = 128
    """Features of the word embeddings."""

    def __post_init__(self) -> None:
        """Reject invalid options."""
        super().__post_init__()
        in_ranges(self, (("hidden_dim", 1, 1 << 16), ("embedding_dim", 1, 1 << 16)))


class Alignment(NamedTuple):
    """The regions that the words of a sentence take in its own image.

    >>> Alignment(torch.tensor([2.0]), torch.tensor([[3, 1]]), torch.zeros(1, 2, 5)).regions.tolist()
    [[3, 1]]
    """

    scores: Tensor
    """Score of each sentence with its image, `(batch,)`."""
    regions: Tensor
    """Index of the region of each word, int64 `(batch, length)`.

    It is −1 in padding, and for a word whose products are all 0."""
    products: Tensor
    """Products of words and regions, `(batch, length, n)`."""
    shape: tuple[int, int] | None = None
    """Rows and columns of a map of regions, in row-major order."""


_DEFAULT = Options()


class RegionWords(nn.Module):
    r"""Regions and words in one space, each word with its best region.

    .. math::
        v_i &= W_m a_i + b_m \qquad e_t = f(W_e x_t + b_e) \\
        h^f_t &= f(e_t + W_f h^f_{t-1} + b_f) \qquad h^b_t = f(e_t + W_b h^b_{t+1} + b_b) \\
        s_t &= f(W_d (h^f_t + h^b_t) + b_d) \qquad S_{kl} = \sum_{t \in l} \max_{i \in k} v_i^\top s_t

    for the cells or regions a of image k, the embedded words x of sentence l, and f = relu. The largest product is hard
    attention: `saccade.nn.Attention` with `reads.Argmax` reads the region of a word, and its gradient is that of the
    maximum.

    Args:
        encoder: a `saccade.models.image_encoder.ImageEncoder` or `FeatureEncoder`.
        size: size of the vocabulary. Token 0 is padding.
        options: the sizes.

    Example:
        >>> from saccade.models.image_encoder import ImageEncoder
        >>> options = Options(widths="4,8", cell_dim=6, hidden_dim=5, embedding_dim=4)
        >>> model = RegionWords(ImageEncoder(3, options), 9, options)
        >>> sentences = Padded(torch.tensor([[4, 5, 6], [7, 8, 0]]), torch.tensor([3, 2]))
        >>> model(Visual(torch.rand(2, 3, 32, 32)), sentences).shape
        torch.Size([2, 2])

    Source:
        Karpathy, Fei-Fei 2015, Eq. 1 to 6 and 8. There regions are 19 boxes of a detector and the whole image, and
        word embeddings are fixed.
    """

    Options: TypeAlias = Options

    def __init__(self, encoder: nn.Module, size: int, options: Options = _DEFAULT) -> None:
        super().__init__()
        hidden, dim = options.hidden_dim, options.embedding_dim
        self.image_encoder, self.region = encoder, nn.Linear(options.cell_dim, hidden)
        self.embedding, self.word = nn.Embedding(size, dim, padding_idx=0), nn.Linear(dim, hidden)
        self.forwards, self.backwards = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        for direction in (self.forwards, self.backwards):  # with other weights rectified units vanish or explode
            nn.init.orthogonal_(direction.weight)
        self.output = nn.Linear(hidden, hidden)
        self.attention = Attention(hidden, score="dot", normalizer=Identity(), read=Argmax())
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, visual: Visual, sentences: Padded) -> Tensor:
        """Return the score of every image with every sentence, `(images, sentences)`.

        Args:
            visual: images or features.
            sentences: token ids. Padding may hold anything.
        """
        return self.scores(self.regions(visual), self.words(sentences), sentences.within)

    def regions(self, visual: Visual) -> Cells:
        """Return the regions of images, `(images, n, hidden_dim)`."""
        cells = self.image_encoder(visual.images())
        return Cells(self.region(cells.values), cells.lengths, cells.shape)  # Eq. 1

    def words(self, sentences: Padded) -> Tensor:
        """Return the words of sentences, `(sentences, length, hidden_dim)`."""
        tokens = torch.where(sentences.within, sentences.values, 0)
        embedded = self.dropout(self.embedding(tokens))  # Eq. 2
        inputs = F.relu(self.word(embedded))  # Eq. 3
        # Sentences are reversed within their lengths, so that padding comes last for both directions.
        order = reversed_positions(sentences.lengths, tokens.shape[1])
        zeros = torch.zeros_like(inputs[:, 0])
        ahead, _ = rnn_states(self.forwards, inputs, zeros, F.relu)  # Eq. 4
        back, _ = rnn_states(self.backwards, at_positions(inputs, order), zeros, F.relu)  # Eq. 5
        back = at_positions(back, order)
        return F.relu(self.output(self.dropout(ahead + back)))  # Eq. 6

    def scores(self, regions: Cells, words: Tensor, within: Tensor) -> Tensor:
        """Return the scores of images with sentences, `(images, sentences)`.

        Args:
            regions: of the images.
            words: `(sentences, length, hidden_dim)`.
            within: mask of the words that are not padding, `(sentences, length)`.
        """
        products, _ = self._best(regions, words[within])  # all words in a row, to be read from every image
        sentence = within.nonzero()[:, 0]
        return products.new_zeros(len(products), len(words)).index_add(1, sentence, products)  # Eq. 8

    def align(self, visual: Visual, sentences: Padded) -> Alignment:
        """Return the regions that the words of each sentence take in its image.

        Args:
            visual: images or features, one for each sentence.
            sentences: token ids. Padding may hold anything.

        Raises:
            ShapeError: if there are not as many images as sentences.
        """
        regions, words = self.regions(visual).select(visual.about), self.words(sentences)
        if len(regions.values) != len(words):
            raise ShapeError(f"visual: expected an image for each of {len(words)} sentences, got {len(regions.values)}")
        best, index = self._best(regions, words)
        score = torch.where(sentences.within, best, 0.0).sum(1)
        return Alignment(score, index.masked_fill(~sentences.within, -1), words @ regions.values.mT, regions.shape)

    def _best(self, regions: Cells, words: Tensor) -> tuple[Tensor, Tensor]:
        """Largest product of each word, and the index of its region, `(images, words)`."""
        mask = None if regions.lengths is None else masks.Lengths(regions.lengths)
        taken, aux = self.attention(words, regions.values, mask=mask, aux=AuxRequest(index=True))
        return (words * taken).sum(-1), aux.index


def ranking_loss(scores: Tensor, margin: float = 1.0) -> Tensor:
    r"""Return the max-margin loss that ranks each pair above all others.

    .. math::
        C = \sum_k \sum_{l \neq k} \big[ \max(0, S_{kl} - S_{kk} + m) + \max(0, S_{lk} - S_{kk} + m) \big]

    Args:
        scores: S of images and sentences, `(n, n)`. Image k and sentence k belong together.
        margin: m.

    Raises:
        ShapeError: if there are not as many images as sentences.

    Source:
        Karpathy, Fei-Fei 2015, Eq. 9, with m = 1. Its terms with l = k are constant.

    Example:
        >>> ranking_loss(torch.tensor([[2.0, 1.5], [0.0, 3.0]]))
        tensor(0.5000)
    """
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1]:
        raise ShapeError(f"scores: expected as many images as sentences, (n, n), got {tuple(scores.shape)}")
    paired = scores.diagonal()
    sentences, images = (F.relu(scores - paired[:, None] + margin), F.relu(scores - paired + margin))
    others = ~torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    return ((sentences + images) * others).sum()


def smoothed(products: Tensor, strength: float) -> Tensor:
    r"""Return the regions of words, with a reward if neighbours share one.

    .. math:: \max_{a} \sum_{t=1}^{n} v_{a_t}^\top s_t + \beta \sum_{t=1}^{n-1} [a_t = a_{t+1}]

    by dynamic programming over the words.

    Args:
        products: of words and regions, `(length, n)`, without padding.
        strength: β, at least 0. At 0 each word takes its best region.

    Returns:
        Index of the region of each word, `(length,)`.

    Source:
        Karpathy, Fei-Fei 2015, Eq. 10 to 12.

    Example:
        >>> products = torch.tensor([[3.0, 0.0], [1.0, 1.5], [3.0, 0.0]])
        >>> smoothed(products, 0.0).tolist(), smoothed(products, 1.0).tolist()
        ([0, 1, 0], [0, 0, 0])
    """
    score, before = products[0], list[Tensor]()
    stay = torch.arange(products.shape[1], device=products.device)
    for word in products[1:]:
        best, index = score.max(0)
        kept = score + strength >= best
        before.append(torch.where(kept, stay, index))
        score = word + torch.where(kept, score + strength, best)
    path = [score.argmax()]
    for previous in reversed(before):
        path.append(previous[path[-1]])
    return torch.stack(path[::-1])
