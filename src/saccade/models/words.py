"""Projections of words, taken from a table once that pays: a decoder projects the same words again and again."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from saccade.kernels.team import serves
from saccade.models.unrolled import plain

__all__ = ["projected"]

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
