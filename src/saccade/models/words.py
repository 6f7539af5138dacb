"""Words on their way into a model and out of it: embeddings, projections of them by a table, and predictions."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from saccade.errors import ArgumentError
from saccade.kernels.cross_entropy import linear_cross_entropy
from saccade.kernels.threads import serves
from saccade.models.cells import plain

__all__ = ["embeddings", "predicted", "projected"]

_LARGEST = 64 << 20  # bytes of a table


@dataclass
class _Words:
    """How many words a map was asked for since its numbers last changed, and all projections if that were enough."""

    numbers: tuple[tuple[int, int], ...]
    asked: int = 0
    table: Tensor | None = None


_known: WeakKeyDictionary[nn.Linear, _Words] = WeakKeyDictionary()


def projected(embedding: nn.Embedding, linear: nn.Linear, token: Tensor, embedded: Tensor) -> Tensor:
    """Return `linear(embedded)`, by a table of all words where nothing is learned and many were asked for already.

    The table takes one product for each word of the vocabulary, so it is made when as many have been asked for; a
    twelfth of what a decoder multiplies is then looked up. It is given up when the numbers change: PyTorch counts most
    changes, and for those that it does not (through `.data`) one word of each call is projected and compared.

    Args:
        embedding: of the words.
        linear: what projects them.
        token: ids `(rows,)`.
        embedded: their embeddings, `(rows, embedding_dim)`, as the embedding has them.

    Example:
        >>> embedding, linear, token = nn.Embedding(5, 3), nn.Linear(3, 2), torch.tensor([4, 0])
        >>> with torch.no_grad():
        ...     found = projected(embedding, linear, token, embedding(token))
        >>> torch.equal(found, linear(embedding(token)))
        True
    """
    size = 4 * embedding.num_embeddings * linear.out_features
    parts = embedding.weight, linear.weight, linear.bias
    if torch.is_grad_enabled() or size > _LARGEST or not len(token) or not plain(linear) or not serves(*parts):
        found: Tensor = linear(embedded)
        return found
    if any(part.is_inference() for part in parts):  # whose changes nobody counts
        return linear(embedded)  # type: ignore[no-any-return]
    numbers = tuple((part.data_ptr(), part._version) for part in parts)
    words = _known.get(linear)
    if words is not None and words.table is not None:
        same = torch.allclose(words.table[token[0]], linear(embedded[0]), rtol=1e-4, atol=1e-5)
        words = words if same else None
    if words is None or words.numbers != numbers:
        words = _known[linear] = _Words(numbers)
    if words.table is None:
        if words.asked < embedding.num_embeddings:
            words.asked += len(token)
            return linear(embedded)  # type: ignore[no-any-return]
        words.table = linear(embedding.weight)
    return words.table[token]


def embeddings(source_size: int, target_size: int, dim: int, *, joint: bool) -> tuple[nn.Embedding, nn.Embedding]:
    """Return the embeddings of both sides: one and the same where both sides have one vocabulary.

    Args:
        source_size: number of source tokens, from 0 (padding) on.
        target_size: number of target tokens.
        dim: features of each.
        joint: whether a token id means the same on both sides.

    Raises:
        ArgumentError: joint vocabularies of two sizes.

    Example:
        >>> source, target = embeddings(7, 7, 4, joint=True)
        >>> source is target
        True
    """
    target = _embedding(target_size, dim)
    if not joint:
        return _embedding(source_size, dim), target
    if source_size != target_size:
        raise ArgumentError(f"joint: expected two vocabularies of one size, got {source_size} and {target_size}")
    return target, target


def _embedding(size: int, dim: int) -> nn.Embedding:
    """Small enough that it serves as the output matrix too: its logits begin near zero."""
    embedding = nn.Embedding(size, dim, padding_idx=0)
    with torch.no_grad():
        embedding.weight.normal_(0, dim**-0.5)[0] = 0
    return embedding


def predicted(
    features: Tensor, weight: Tensor, bias: Tensor, wanted: Tensor | None = None, label_smoothing: float = 0.0
) -> Tensor:
    """Return the logits of every next token, or what the true ones cost; then the logits are never all in memory.

    Args:
        features: `(batch, length, dim)`.
        weight: of the output layer, `(vocabulary, dim)`.
        bias: `(vocabulary,)`.
        wanted: the true next tokens `(batch, length)`, 0 where there is none.
        label_smoothing: as in `torch.nn.functional.cross_entropy`.

    Returns:
        `(batch, length, vocabulary)`; with `wanted` its mean cross-entropy, a number.

    Example:
        >>> predicted(torch.ones(1, 2, 3), torch.ones(5, 3), torch.zeros(5)).shape
        torch.Size([1, 2, 5])
    """
    if wanted is None:
        return nn.functional.linear(features, weight, bias)
    places = (wanted != 0).flatten().nonzero()[:, 0]
    rows, tokens = features.flatten(0, 1).index_select(0, places), wanted.flatten()[places]
    return linear_cross_entropy(rows, weight, bias, tokens, label_smoothing)
