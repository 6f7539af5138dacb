"""Embeddings, output layers and losses of tokens."""

from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn

from saccade.errors import ArgumentError
from saccade.kernels.cells import plain
from saccade.kernels.cross_entropy import linear_cross_entropies
from saccade.kernels.threads import serves
from saccade.kernels.topk import Logits, dense

__all__ = ["OutputLayer", "ProjectedWords", "embeddings", "logits", "logits_or_loss", "token_losses"]

OutputLayer: TypeAlias = tuple[Tensor, Tensor] | nn.Module
"""W `(vocabulary, dim)` and b `(vocabulary,)`, or a module that returns logits."""

_LARGEST = 64 << 20  # bytes of a table


@dataclass
class _Cache:
    """Number of words projected with some weights, and a table after many."""

    versions: tuple[tuple[int, int], ...]
    count: int = 0
    table: Tensor | None = None


class ProjectedWords:
    """Linear map of embedded words. Without gradients it becomes a table of all words.

    A table costs one product per word of the vocabulary, so it is made after equally many words. It saves a decoder a
    twelfth of its multiplications. A change of the weights discards the table. PyTorch counts most changes. For other
    changes, for example through `.data`, each call projects one word and compares it with the table.

    Keep one instance per map. It is not part of a model's state, and a copy of the model begins without a table.

    Example:
        >>> words, embedding, linear = ProjectedWords(), nn.Embedding(5, 3), nn.Linear(3, 2)
        >>> token = torch.tensor([4, 0])
        >>> with torch.no_grad():
        ...     projected = words.project(embedding, linear, token, embedding(token))
        >>> torch.equal(projected, linear(embedding(token)))
        True
    """

    def __init__(self) -> None:
        self._cache: _Cache | None = None

    def __reduce__(self) -> tuple[type["ProjectedWords"], tuple[()]]:
        return ProjectedWords, ()  # the weights of a copy have other addresses

    @property
    def table(self) -> Tensor | None:
        """All projections, `(words, features)`, or None before there is a table."""
        return None if self._cache is None else self._cache.table

    def project(self, embedding: nn.Embedding, linear: nn.Linear, token: Tensor, embedded: Tensor) -> Tensor:
        """Return `linear(embedded)`, from the table if there is one.

        Args:
            embedding: of the words.
            linear: the map.
            token: ids `(rows,)`.
            embedded: their embeddings, `(rows, embedding_dim)`.

        Returns:
            `(rows, features)`.
        """
        fusible = plain(linear) and linear.bias is not None and plain(embedding, nn.Embedding)
        if torch.is_grad_enabled() or not len(token) or not fusible:
            return linear(embedded)  # type: ignore[no-any-return]
        size = 4 * embedding.num_embeddings * linear.out_features
        parts = embedding.weight, linear.weight, linear.bias
        # PyTorch does not count the changes of inference tensors.
        if size > _LARGEST or not serves(*parts) or any(part.is_inference() for part in parts):
            return linear(embedded)  # type: ignore[no-any-return]
        versions = tuple((part.data_ptr(), part._version) for part in parts)
        cache = self._cache
        if cache is not None and cache.table is not None:
            same = torch.allclose(cache.table[token[0]], linear(embedded[0]), rtol=1e-4, atol=1e-5)
            cache = cache if same else None
        if cache is None or cache.versions != versions:
            cache = self._cache = _Cache(versions)
        if cache.table is None:
            if cache.count < embedding.num_embeddings:
                cache.count += len(token)
                return linear(embedded)  # type: ignore[no-any-return]
            cache.table = linear(embedding.weight)
        return cache.table[token]


def embeddings(source_size: int, target_size: int, dim: int, *, joint: bool) -> tuple[nn.Embedding, nn.Embedding]:
    """Return the embeddings of source and target, one module if they are joint.

    Args:
        source_size: size of the source vocabulary, with padding (id 0).
        target_size: size of the target vocabulary.
        dim: features of a token.
        joint: whether both sides share one vocabulary.

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
    """Embedding with weights small enough for an output matrix with logits near 0."""
    embedding = nn.Embedding(size, dim, padding_idx=0)
    with torch.no_grad():
        embedding.weight.normal_(0, dim**-0.5)[0] = 0
    return embedding


def logits(features: Tensor, output: OutputLayer) -> Logits | Tensor:
    """Return the logits of features, lazy for W and b or a plain linear layer.

    Args:
        features: `(..., dim)`.
        output: the layer.

    Returns:
        `Logits`, or a tensor `(..., vocabulary)`.

    Example:
        >>> logits(torch.ones(2, 3), nn.Sequential(nn.Linear(3, 5))).shape
        torch.Size([2, 5])
    """
    if isinstance(output, tuple):
        return Logits(features, *output)
    if plain(output) and output.bias is not None:
        return Logits(features, output.weight, output.bias)  # type: ignore[arg-type]
    return output(features)  # type: ignore[no-any-return]


def logits_or_loss(
    features: Tensor, output: OutputLayer, labels: Tensor | None = None, label_smoothing: float = 0.0
) -> Tensor:
    """Return the logits of every next token, or the loss of labels.

    With labels, the logits of all tokens are never in memory at once.

    Args:
        features: `(batch, length, dim)`.
        output: the output layer.
        labels: the true next tokens `(batch, length)`, 0 for padding.
        label_smoothing: as in `torch.nn.functional.cross_entropy`.

    Returns:
        `(batch, length, vocabulary)`. With `labels` their mean cross-entropy, a scalar.

    Example:
        >>> logits_or_loss(torch.ones(1, 2, 3), nn.Linear(3, 5)).shape
        torch.Size([1, 2, 5])
    """
    if labels is None:
        return dense(logits(features, output))
    return token_losses(features, output, labels, label_smoothing)[0]


def token_losses(
    features: Tensor, output: OutputLayer, labels: Tensor, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy of labels, and the detached one of each token.

    Args:
        features, output, labels, label_smoothing: as for `logits_or_loss`.

    Returns:
        A scalar, and `(batch, length)`, 0 for padding.

    Example:
        >>> mean, losses = token_losses(torch.ones(1, 2, 3), nn.Linear(3, 5), torch.tensor([[4, 0]]))
        >>> bool(losses[0, 0] == mean), float(losses[0, 1])
        (True, 0.0)
    """
    indices = (labels != 0).flatten().nonzero()[:, 0]
    tokens = labels.flatten()[indices]
    made = logits(features.flatten(0, 1).index_select(0, indices), output)
    if isinstance(made, Logits):
        mean, losses = linear_cross_entropies(made.features, made.weight, made.bias, tokens, label_smoothing)
    else:
        losses = nn.functional.cross_entropy(made, tokens, reduction="none", label_smoothing=label_smoothing)
        mean, losses = losses.mean(), losses.detach()
    return mean, losses.new_zeros(labels.numel()).index_copy(0, indices, losses).view(labels.shape)
