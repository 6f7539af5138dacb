"""Words on their way into a model and out of it: embeddings, projections of them by a table, and predictions."""

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
"""What makes logits of features: W `(vocabulary, dim)` and b `(vocabulary,)`, or a module."""

_LARGEST = 64 << 20  # bytes of a table


@dataclass
class _Known:
    """How many words were asked for since the numbers last changed, and all projections if that were enough."""

    numbers: tuple[tuple[int, int], ...]
    asked: int = 0
    table: Tensor | None = None


class ProjectedWords:
    """A linear map of embedded words, by a table of all words where nothing is learned and many were asked for already.

    The table takes one product for each word of the vocabulary, so it is made when as many have been asked for; a
    twelfth of what a decoder multiplies is then looked up. It is given up when the numbers change: PyTorch counts most
    changes, and for those that it does not (through `.data`) one word of each call is projected and compared.

    Who maps words again and again keeps one of these for each map; it is no part of a model's state, and a copy of the
    model begins without a table.

    Example:
        >>> words, embedding, linear = ProjectedWords(), nn.Embedding(5, 3), nn.Linear(3, 2)
        >>> token = torch.tensor([4, 0])
        >>> with torch.no_grad():
        ...     found = words.project(embedding, linear, token, embedding(token))
        >>> torch.equal(found, linear(embedding(token)))
        True
    """

    def __init__(self) -> None:
        self._known: _Known | None = None

    def __reduce__(self) -> tuple[type["ProjectedWords"], tuple[()]]:
        return ProjectedWords, ()  # the numbers of a copy lie elsewhere: no table is of them

    @property
    def table(self) -> Tensor | None:
        """All projections, `(words, features)`, if they are known."""
        return None if self._known is None else self._known.table

    def project(self, embedding: nn.Embedding, linear: nn.Linear, token: Tensor, embedded: Tensor) -> Tensor:
        """Return `linear(embedded)`, from the table if there is one.

        Args:
            embedding: of the words.
            linear: what projects them.
            token: ids `(rows,)`.
            embedded: their embeddings, `(rows, embedding_dim)`, as the embedding has them.

        Returns:
            `(rows, features)`.
        """
        fusible = plain(linear) and linear.bias is not None and plain(embedding, nn.Embedding)
        if torch.is_grad_enabled() or not len(token) or not fusible:
            return linear(embedded)  # type: ignore[no-any-return]
        size = 4 * embedding.num_embeddings * linear.out_features
        parts = embedding.weight, linear.weight, linear.bias
        # Nobody counts the changes of inference tensors.
        if size > _LARGEST or not serves(*parts) or any(part.is_inference() for part in parts):
            return linear(embedded)  # type: ignore[no-any-return]
        numbers = tuple((part.data_ptr(), part._version) for part in parts)
        known = self._known
        if known is not None and known.table is not None:
            same = torch.allclose(known.table[token[0]], linear(embedded[0]), rtol=1e-4, atol=1e-5)
            known = known if same else None
        if known is None or known.numbers != numbers:
            known = self._known = _Known(numbers)
        if known.table is None:
            if known.asked < embedding.num_embeddings:
                known.asked += len(token)
                return linear(embedded)  # type: ignore[no-any-return]
            known.table = linear(embedding.weight)
        return known.table[token]


def embeddings(source_size: int, target_size: int, dim: int, *, joint: bool) -> tuple[nn.Embedding, nn.Embedding]:
    """Return the embeddings of both sides: one and the same where both sides have one vocabulary.

    Args:
        source_size: size of the source vocabulary, with padding (id 0).
        target_size: size of the target vocabulary.
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


def logits(features: Tensor, output: OutputLayer) -> Logits | Tensor:
    """Return the logits of features: not computed yet if the layer's weights may be used without a call of it.

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
    features: Tensor, output: OutputLayer, wanted: Tensor | None = None, label_smoothing: float = 0.0
) -> Tensor:
    """Return the logits of every next token, or what the true ones cost; then the logits are never all in memory.

    Args:
        features: `(batch, length, dim)`.
        output: the output layer.
        wanted: the true next tokens `(batch, length)`, 0 where there is none.
        label_smoothing: as in `torch.nn.functional.cross_entropy`.

    Returns:
        `(batch, length, vocabulary)`; with `wanted` its mean cross-entropy, a number.

    Example:
        >>> logits_or_loss(torch.ones(1, 2, 3), nn.Linear(3, 5)).shape
        torch.Size([1, 2, 5])
    """
    if wanted is None:
        return dense(logits(features, output))
    return token_losses(features, output, wanted, label_smoothing)[0]


def token_losses(
    features: Tensor, output: OutputLayer, wanted: Tensor, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy of the true next tokens, and that of each token, without a gradient.

    Args:
        features, output, wanted, label_smoothing: as for `logits_or_loss`.

    Returns:
        A number, and `(batch, length)`, 0 where nothing is wanted.

    Example:
        >>> mean, losses = token_losses(torch.ones(1, 2, 3), nn.Linear(3, 5), torch.tensor([[4, 0]]))
        >>> bool(losses[0, 0] == mean), float(losses[0, 1])
        (True, 0.0)
    """
    places = (wanted != 0).flatten().nonzero()[:, 0]
    tokens = wanted.flatten()[places]
    made = logits(features.flatten(0, 1).index_select(0, places), output)
    if isinstance(made, Logits):
        mean, losses = linear_cross_entropies(made.features, made.weight, made.bias, tokens, label_smoothing)
    else:
        losses = nn.functional.cross_entropy(made, tokens, reduction="none", label_smoothing=label_smoothing)
        mean, losses = losses.mean(), losses.detach()
    return mean, losses.new_zeros(wanted.numel()).index_copy(0, places, losses).view(wanted.shape)
